"""The wall around the agent and the training runs, tried from inside: what it must let through and what not."""

import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

from agentmig.doctor.checks import Check
from agentmig.doctor.child import Ended, run
from agentmig.doctor.install import as_root, install
from agentmig.doctor.results import Finding, Result, broken, missing, ok, softened
from agentmig.execution.isolation import Isolation, IsolationError

_TIMEOUT_S = 20.0
_WITHOUT = (
    "with --no-isolation the agent and all runs have your own rights: your files, your keys, your network"
)
_AGREED = 'the setting isolation = "optional" agrees to go on without'
_SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "15000"),
}
"""Kernel settings that forbid bubblewrap to anybody but root: the value that forbids, and one that allows."""

_INSIDE = """\
echo began
grep -q . "$1" 2>/dev/null && echo read
socat -u OPEN:/dev/null "TCP:127.0.0.1:$2" 2>/dev/null && echo "reached a port of this machine"
tail -n +3 /proc/net/dev | cut -d: -f1 | grep -v -w lo | sed 's/^ */reached /'
socat -u OPEN:/dev/null "UNIX-CONNECT:$3" && echo forwarded
echo ended
"""
_PROGRAMS = {"bwrap": "bubblewrap", "socat": "socat"}


def check(optional: bool) -> Check:
    """Whether isolation works here.

    Args:
        optional: the settings allow to go on without.
    """

    async def look() -> list[Result]:
        return [
            (softened(finding, _AGREED) if optional else finding).named(name, "isolation")
            for name, finding in (await try_wall()).items()
        ]

    return Check("bubblewrap", "isolation", look)


async def try_wall() -> dict[str, Finding]:
    """Run something behind the wall, with a file that is hidden, a port to knock at, and a socket bound in."""
    lacking = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if lacking:
        return {"bubblewrap": _not_here(lacking)}
    with (
        tempfile.TemporaryDirectory(prefix="agentmig-doctor-") as name,
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as way,
    ):
        folder = Path(name).resolve()
        secret, door = folder / "secret", folder / "door"
        secret.write_text("a line that nobody inside may read")
        way.bind(str(door))
        way.listen()
        words = [str(secret), str(port.getsockname()[1]), str(door)]
        try:
            argv = Isolation("bubblewrap").wrap(
                ["/bin/sh", "-c", _INSIDE, "sh", *words],
                cwd=folder,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                writable=[],
                readable=[folder],
                hidden=[secret],
            )
            done = await run(argv, timeout_s=_TIMEOUT_S)
        except (OSError, IsolationError) as error:
            return {"bubblewrap": broken(f"can't be started: {error}; {_WITHOUT}", install(["bubblewrap"]))}
    return judge_wall(done)


def judge_wall(done: Ended) -> dict[str, Finding]:
    """What the lines that were printed inside mean."""
    lines = [line.strip() for line in done.output.splitlines()]
    if "began" not in lines:
        seen = f"bubblewrap is installed but does not work here ({done.how}); {_WITHOUT}"
        return {"bubblewrap": broken(seen, _permission())}
    if "ended" not in lines:
        return {"bubblewrap": broken(f"stopped in the middle ({done.how}); {_WITHOUT}", _permission())}
    reached = [line.removeprefix("reached ") for line in lines if line.startswith("reached ")]
    return {
        "bubblewrap": ok("runs a program behind its wall"),
        "hidden files": broken("a hidden file can be read inside", install(["bubblewrap"]))
        if "read" in lines
        else ok("can't be read inside"),
        "network": broken(f"reached from inside: {', '.join(reached)}", install(["bubblewrap"]))
        if reached
        else ok("absent inside"),
        "socat": ok("carries the agent's words through the wall")
        if "forwarded" in lines
        else broken(f"can't reach a socket that is bound in: {done.last_line}", install(["socat"])),
    }


def _not_here(lacking: list[str]) -> Finding:
    if sys.platform != "linux":
        return missing(
            f"bubblewrap exists for Linux alone; {_WITHOUT}", "use a Linux machine, or --no-isolation"
        )
    are = "is" if len(lacking) == 1 else "are"
    return missing(f"{' and '.join(lacking)} {are} not installed; {_WITHOUT}", install(lacking))


def _permission() -> str:
    for name, (forbids, allows) in _SWITCHES.items():
        file = Path("/proc/sys") / name
        if file.exists() and file.read_text().strip() == forbids:
            return as_root(f"sysctl -w {name.replace('/', '.')}={allows}")
    return (
        "allow unprivileged user namespaces where this container is started (docker: --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined --security-opt systempaths=unconfined), or add --no-isolation"
    )
