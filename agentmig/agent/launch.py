"""Starting Claude Code: the launcher that the SDK calls in the CLI's place.

The SDK merges its settings over the environment of this process. The launcher throws that away and starts the
CLI with exactly the environment below, behind the wall where there is one.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import claude_agent_sdk

from agentmig.agent.gateway import PORT_INSIDE, Gateway
from agentmig.agent.reaping import Stretch
from agentmig.agent.service import AgentError
from agentmig.execution.isolation import Isolation
from agentmig.execution.processes import MARK

_BEHIND_THE_WALL = """\
socat TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:{socket} &
until socat -u OPEN:/dev/null TCP:127.0.0.1:{port} 2>/dev/null; do sleep 0.02; done
exec "$@"
"""


@dataclass(frozen=True)
class Places:
    """Where the CLI works and keeps its things.

    Attributes:
        worktree: its working directory.
        git_dir: the repository that the worktree belongs to (the common directory of git); None for no git.
        folder: private to the session: configuration, home, launcher, and temporary files where /tmp is not
            private.
        readable: what else must be seen behind the wall, though it lies in a home or temporary folder.
        hidden: what must not be seen, such as other parts of the run.
    """

    worktree: Path
    git_dir: Path | None
    folder: Path
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @property
    def config_dir(self) -> Path:
        """The CLI's private configuration folder; a session is resumed by id, worktree and this."""
        return self.folder / "claude"


def write_launcher(
    places: Places, isolation: Isolation, gateway: Gateway, stretch: Stretch, extra: Mapping[str, str]
) -> Path:
    """Write the launcher of one stretch; returns its path, for `ClaudeAgentOptions.cli_path`."""
    home, scratch = places.folder / "home", places.folder / "tmp"
    for folder in (places.config_dir, home, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    # Behind the wall /tmp is private and short: the CLI puts sockets there, whose paths must not be long.
    temporary = "/tmp" if isolation.mode == "bubblewrap" else str(scratch)
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": temporary,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        **_CLAUDE,
        "ANTHROPIC_BASE_URL": gateway.base_url,
        "ANTHROPIC_API_KEY": gateway.token,
        "CLAUDE_CONFIG_DIR": str(places.config_dir),
        "CLAUDE_CODE_TMPDIR": temporary,
        "CLAUDE_AGENT_SDK_VERSION": claude_agent_sdk.__version__,
        **_GIT,
        **extra,
        MARK: stretch.mark,
    }
    cli = bundled_cli()
    inner = [str(cli)]
    readable = [cli.parent, *places.readable]
    if gateway.socket is not None:
        script = _BEHIND_THE_WALL.format(port=PORT_INSIDE, socket=shlex.quote(str(gateway.socket)))
        inner = ["/bin/sh", "-c", script, "agentmig", str(cli)]
        readable.append(gateway.socket)
    writable = [places.worktree, places.folder]
    if places.git_dir is not None:
        writable.append(places.git_dir)
        # Commits need the repository, but its hooks and settings would run with the rights of whoever uses it
        # next.
        (places.git_dir / "hooks").mkdir(exist_ok=True)
        readable += [places.git_dir / "hooks", places.git_dir / "config"]
    command = isolation.wrap(
        inner, cwd=places.worktree, env=env, writable=writable, hidden=places.hidden, readable=readable
    )
    if isolation.mode == "none":
        command = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), *command]
    launcher = places.folder / "launch.sh"
    # A session of its own keeps Ctrl-C for agentmig, which then ends the CLI in order.
    text = (
        f'#!/bin/sh\necho $$ > {shlex.quote(str(stretch.pid_file))}\nexec setsid {shlex.join(command)} "$@"\n'
    )
    launcher.write_text(text)
    launcher.chmod(0o700)
    return launcher


def bundled_cli() -> Path:
    """The Claude Code CLI that the SDK's wheel brings along.

    Raises:
        AgentError: the installed wheel has none.
    """
    cli = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    if not cli.is_file():
        raise AgentError(
            f"claude-agent-sdk {claude_agent_sdk.__version__} is installed without Claude Code ({cli} is "
            "missing); reinstall it from the wheel for this platform (Linux on x86-64 or ARM64, macOS)"
        )
    return cli


_CLAUDE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    "MCP_TOOL_TIMEOUT": str(
        7 * 24 * 3600 * 1000
    ),  # milliseconds; how long a tool may take is the toolbox's business
}
_GIT = {
    "GIT_AUTHOR_NAME": "Claude Code",
    "GIT_AUTHOR_EMAIL": "agent@agentmig.invalid",
    "GIT_COMMITTER_NAME": "Claude Code",
    "GIT_COMMITTER_EMAIL": "agent@agentmig.invalid",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
