"""Claude Code: its program, the key it speaks with, and the way to the service. No tokens are spent."""

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import requires, version
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from agentmig.agent.launch import bundled_cli
from agentmig.agent.service import AgentError, service_from
from agentmig.doctor.checks import Check
from agentmig.doctor.child import run, shortened
from agentmig.doctor.results import Finding, broken, missing, ok, warn

_SDK = "claude-agent-sdk"
_CLI_TIMEOUT_S = 30.0
_REACH_TIMEOUT_S = 5.0
_LOGINS = ("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_WITHOUT = "--play and `agentmig verify` work without"


def checks() -> list[Check]:
    """What a live session of Claude Code needs."""

    async def program() -> Finding:
        return await examine_cli(bundled_cli())

    async def sdk() -> Finding:
        return judge_sdk(version(_SDK), requires("agentmig") or [])

    async def key() -> Finding:
        return judge_key(os.environ, Path(os.environ.get("HOME", "/")) / ".claude" / ".credentials.json")

    async def service() -> Finding:
        return await reach({**os.environ, "ANTHROPIC_API_KEY": "none is needed to knock"})

    named = {"Claude Code": program, _SDK: sdk, "API key": key, "model service": service}
    return [Check(name, "agent", look) for name, look in named.items()]


async def examine_cli(cli: Path) -> Finding:
    """Start the bundled CLI for its version."""
    again = f"{sys.executable} -m pip install --force-reinstall --no-deps {_SDK}=={version(_SDK)}"
    if not os.access(cli, os.X_OK):
        return broken(f"{cli} can't be executed", f"chmod +x {cli}")
    with tempfile.TemporaryDirectory(prefix="agentmig-doctor-") as home:
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "CLAUDE_CONFIG_DIR": home,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        try:
            done = await run([str(cli), "--version"], timeout_s=_CLI_TIMEOUT_S, env=env)
        except OSError as error:
            return broken(
                f"{cli} can't be started: {error.strerror} (damaged, or for another machine)", again
            )
    found = re.match(r"\d+\.\d+\.\d+", done.output.strip())
    if not done.ok or not found:
        return broken(f"{cli} --version: {done.how}", again)
    return ok(f"{found.group()} starts, from {cli}")


def judge_sdk(installed: str, requirements: list[str]) -> Finding:
    """Compare the installed SDK with the one that agentmig was made with.

    Args:
        installed: its version.
        requirements: requirement lines of agentmig.
    """
    pinned = next((line.split("==")[1] for line in requirements if line.startswith(f"{_SDK}==")), installed)
    if installed == pinned:
        return ok(installed)
    return warn(
        f"{installed} is installed; agentmig was made with {pinned}",
        f"{sys.executable} -m pip install {_SDK}=={pinned}",
    )


def judge_key(environ: Mapping[str, str], login: Path) -> Finding:
    """Whether there is a key that could work; its value is never shown.

    Args:
        environ: environment variables.
        login: the file in which Claude Code keeps a person's login.
    """
    step = f"export ANTHROPIC_API_KEY=…  (for `agentmig run`; {_WITHOUT})"
    try:
        key = service_from(environ).api_key
    except AgentError:
        others = [name for name in _LOGINS if environ.get(name)]
        others += ["a login of Claude Code"] if os.access(login, os.R_OK) else []
        instead = f" ({' and '.join(others)} can't be used: a run has no access to them)" if others else ""
        return missing(f"ANTHROPIC_API_KEY is not set{instead}", step)
    if key != key.strip() or not key.isascii() or not key.isprintable():
        return broken("ANTHROPIC_API_KEY holds white space around it, or signs that no key has", step)
    return ok("ANTHROPIC_API_KEY is set (not tried: that would cost tokens)")


async def reach(environ: Mapping[str, str]) -> Finding:
    """Knock at the model's service; any answer of a server below 500 means that it is there."""
    base = service_from(environ).base_url
    proxies = [name for p in _PROXIES for name in (p, p.lower()) if environ.get(name)]
    through = f" through the proxy of {', '.join(proxies)}" if proxies else ""
    name = "ANTHROPIC_BASE_URL" if environ.get("ANTHROPIC_BASE_URL") else "the default"
    try:
        host = urlsplit(base).netloc.rpartition("@")[2] or base
        async with httpx2.AsyncClient(timeout=_REACH_TIMEOUT_S, trust_env=True) as client:
            status = (await client.head(base)).status_code
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL, ValueError) as error:
        return broken(
            f"{name} or a proxy variable is no address: {shortened(str(error))}",
            f"correct {' or '.join(['ANTHROPIC_BASE_URL', *proxies])}",
        )
    except httpx2.TransportError as error:
        why = shortened(str(error)) or type(error).__name__
        return broken(
            f"{host} can't be reached{through}: {why}",
            _way(isinstance(error, httpx2.ProxyError) or bool(proxies), why),
        )
    if status == 407:
        return broken(f"the proxy of {', '.join(proxies)} wants a login", _way(True, ""))
    if status >= 500:
        return warn(f"{host} answers{through}, with an error of its own (HTTP {status}); it may pass")
    return ok(f"{host} answers{through} (HTTP {status})")


def _way(proxy: bool, why: str) -> str:
    if "CERTIFICATE" in why.upper():
        return "name your organisation's certificates: export SSL_CERT_FILE=/path/to/ca.pem"
    if proxy:
        return "correct the proxy in HTTPS_PROXY, or unset it"
    return f"connect this machine to the network, or name a proxy: export HTTPS_PROXY=http://…  ({_WITHOUT})"
