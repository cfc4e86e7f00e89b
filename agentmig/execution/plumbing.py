"""git's commands, run with nothing of the person's configuration: no hook, filter, prompt or replaced object."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentmig.errors import AgentmigError

# Files beyond the threshold are streamed and not taken into memory.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.bigFileThreshold": "16m",
    "maintenance.auto": "false",
    "protocol.file.allow": "always",
}
_KEPT = {"PATH", "LANG", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR"}
_KEPT |= {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
_LONGEST_COMMAND = 300


class RepositoryError(AgentmigError):
    """The project's repository can't be used as it is."""


def environment() -> dict[str, str]:
    """The environment of every git command: no user's or system's configuration or attributes, no prompts."""
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        "HOME": "/nonexistent",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def command(git_dir: Path | None, *arguments: str) -> list[str]:
    """The command line of a git command."""
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    return ["git", *settings, *(["--git-dir", str(git_dir)] if git_dir else []), *arguments]


def git_bytes(
    git_dir: Path | None,
    *arguments: str,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """What a git command prints.

    Args:
        git_dir: the repository, or None where the command needs none.
        arguments: the command and its own arguments.
        stdin: its standard input.
        cwd: where it runs.
        env: variables on top of `environment`.

    Raises:
        RepositoryError: it failed, or git is not installed.
    """
    argv = command(git_dir, *arguments)
    try:
        done = subprocess.run(
            argv, input=stdin, cwd=cwd, env={**environment(), **(env or {})}, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        if cwd is not None and not cwd.is_dir():
            raise RepositoryError(f"{cwd}: there is no such folder") from error
        raise RepositoryError("git is not installed, or not on PATH") from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise RepositoryError(without_credentials(f"git failed: {_told(arguments)}: {shown(said)}"))
    return done.stdout


def git(
    git_dir: Path | None,
    *arguments: str,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """As `git_bytes`, as text without the last newline; bytes that aren't UTF-8 survive as in file names."""
    return os.fsdecode(git_bytes(git_dir, *arguments, stdin=stdin, cwd=cwd, env=env)).removesuffix("\n")


def items(output: str) -> list[str]:
    """The parts of what a command with `-z` prints."""
    return output.split("\0")[:-1] if output else []


def lines(paths: Sequence[str]) -> bytes:
    """Paths as a command with `-z` and `--stdin` reads them."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def shown(text: str | bytes) -> str:
    """Text of a stranger's repository as it can be printed."""
    return (os.fsencode(text) if isinstance(text, str) else text).decode(errors="replace")


def without_credentials(text: str) -> str:
    """A text without what its URLs say of a person."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


def _told(arguments: Sequence[str]) -> str:
    text = shown(" ".join(arguments))
    return text if len(text) <= _LONGEST_COMMAND else text[: _LONGEST_COMMAND - 1] + "…"
