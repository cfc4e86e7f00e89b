"""The wall around other people's processes: bubblewrap, with no network and almost nothing to write to.

The whole file system is there to read, except what a person keeps private (the home folder, the temporary
folders, the sockets under /run) and what the caller hides. Processes get their own PID namespace, so that
ending the outermost one ends everything that was ever started in it, and their own network namespace, in
which only the loopback exists.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agentmig.errors import AgentmigError

Mode = Literal["bubblewrap", "none"]

_PRIVATE = ("/tmp", "/var/tmp", "/run")
_INSTALL = "install it with `apt-get install bubblewrap socat`"


class IsolationError(AgentmigError):
    """Processes can't be isolated here; says what is missing, how to get it, and how to go on without."""


@dataclass(frozen=True)
class Isolation:
    """How processes are kept apart from the machine.

    Attributes:
        mode: `bubblewrap`, or `none`: processes run as the person who started agentmig.
        home: the folder that is empty inside.
    """

    mode: Mode
    home: Path = field(default_factory=Path.home)

    def wrap(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        writable: Sequence[Path],
        hidden: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        devices: Sequence[Path] = (),
        network: bool = False,
    ) -> list[str]:
        """The command line that runs `argv` behind the wall; start it with any environment.

        Of two paths that lie in one another the inner one counts. The environment inside is exactly `env`: it
        is handed over by `env -i` and not by bubblewrap's own options, because bubblewrap stays as process 1
        of the sandbox, where its first environment and its command line can be read in /proc/1. Should the
        thread that started the command end, the command is killed.

        Args:
            argv: the command; in mode `none` it comes back unchanged, and the caller passes `env` and `cwd`
                itself.
            cwd: working directory; must lie in something that can be seen inside.
            env: the whole environment.
            writable: files and folders that may be written; all else is read-only.
            hidden: files and folders that can't be read inside.
            readable: what lies in the home folder or a temporary folder and must be seen inside all the same,
                such as an environment (`interpreter_folders`).
            devices: device files (or folders of them) that may be used, such as those of an accelerator.
            network: True leaves the network of the machine in place.

        Raises:
            IsolationError: a path that was named does not exist.
        """
        if self.mode == "none":
            return list(argv)
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc"]
        options += [word for device in devices for word in ("--dev-bind", str(device), str(device))]
        names = [Path("/etc/resolv.conf").resolve()] if network and Path("/etc/resolv.conf").exists() else []
        options += self._mounts(writable, hidden, [*names, *readable])
        options += ["--unshare-all", *(["--share-net"] if network else ["--hostname", "localhost"])]
        options += ["--die-with-parent", "--new-session", "--chdir", str(cwd)]
        settings = [f"{name}={value}" for name, value in env.items()]
        return [_program("env"), "-i", *settings, _program("bwrap"), *options, "--", *argv]

    def _mounts(
        self, writable: Sequence[Path], hidden: Sequence[Path], readable: Sequence[Path]
    ) -> list[str]:
        """Mount options, outer paths first, so that what lies deeper is put on top of what holds it."""
        mounts: list[tuple[int, int, list[str]]] = []
        private = {Path(path).resolve() for path in _PRIVATE} | {self.home.resolve()} - {Path("/")}
        for path in sorted(private):
            if path.is_dir():
                mounts.append((len(path.parts), 0, ["--tmpfs", str(path)]))
        for rank, option, paths in ((1, "--ro-bind", readable), (2, "--bind", writable)):
            for path in paths:
                # The name itself is bound as well as what it points to, since programs use either.
                for name in dict.fromkeys((path.absolute(), _existing(path))):
                    if not name.is_symlink():
                        mounts.append((len(name.parts), rank, [option, str(name), str(name)]))
        for path in hidden:
            place = _existing(path)
            mask = ["--tmpfs", str(place)] if place.is_dir() else ["--ro-bind", "/dev/null", str(place)]
            mounts.append((len(place.parts), 3, mask))
        return [word for _, _, words in sorted(mounts, key=lambda mount: mount[:2]) for word in words]


def choose_isolation(allow_none: bool) -> Isolation:
    """The isolation that works on this machine, found by running something in it.

    Args:
        allow_none: the person agreed (`--no-isolation`) to go on without where bubblewrap doesn't work.

    Raises:
        IsolationError: it doesn't work, and the person did not agree.
    """
    problem = _problem()
    if problem is None:
        return Isolation("bubblewrap")
    if allow_none:
        return Isolation("none")
    raise IsolationError(
        f"the agent and the training runs can't be isolated on this machine: {problem}. To go on without "
        "isolation, where whatever the agent starts has your own rights, files and network, add "
        "--no-isolation"
    )


def interpreter_folders(python: Path) -> list[Path]:
    """The folders that a Python interpreter needs at run time: its environment, and the installation that it
    came from.

    Args:
        python: path of the interpreter, such as `.venv/bin/python`.
    """
    named = python.absolute()
    folders = [named.parent.parent, named.resolve().parent.parent]
    system = {Path("/"), Path("/usr"), Path("/usr/local")}
    return [folder for folder in dict.fromkeys(folders) if folder not in system]


def _problem() -> str | None:
    missing = [name for name in ("bwrap", "socat") if shutil.which(name) is None]
    if missing:
        names = " and ".join("bubblewrap (bwrap)" if name == "bwrap" else name for name in missing)
        return f"{names} {'is' if len(missing) == 1 else 'are'} not installed ({_INSTALL})"
    trial = Isolation("bubblewrap").wrap(["true"], cwd=Path("/"), env={"PATH": "/usr/bin:/bin"}, writable=[])
    done = subprocess.run(trial, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return (
        f"bubblewrap is installed but was refused ({done.stderr.strip() or f'exit code {done.returncode}'}); "
        "in a container it needs unprivileged user namespaces, which the container's host must allow"
    )


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise IsolationError(f"{name} is not installed; {_INSTALL}, or add --no-isolation")
    return path


def _existing(path: Path) -> Path:
    if not path.exists():
        raise IsolationError(
            f"{path} was to be shown to an isolated process, but it does not exist; create it first"
        )
    return path.resolve()
