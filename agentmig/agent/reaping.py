"""Seeing to it that nothing the CLI ever started is left."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from agentmig.execution.processes import end_tree, tree

MARK = "AGENTMIG_STRETCH"
"""An environment variable with a value of its own for each start of the CLI; whatever it starts inherits
it."""

_LOOKS = 25
_PAUSE_S = 0.002
_SCAFFOLD = {"bwrap", "socat", "claude"}


@dataclass(frozen=True)
class Stretch:
    """One start of the CLI: how its processes are found.

    Attributes:
        mark: value of `MARK`.
        pid_file: where the launcher writes the pid of the outermost process.
    """

    mark: str
    pid_file: Path

    def members(self) -> list[psutil.Process]:
        """All processes of the stretch that are alive, also those that left their parents and sessions."""
        found = {process.pid: process for process in psutil.process_iter() if self._is_marked(process.pid)}
        if self.pid_file.exists():
            found |= {process.pid: process for process in tree(int(self.pid_file.read_text()))}
        return [process for pid, process in found.items() if pid != os.getpid()]

    def reap(self) -> None:
        """End every process of the stretch."""
        while members := self.members():
            for process in members:
                end_tree(process.pid)

    def _is_marked(self, pid: int) -> bool:
        place = Path(f"/proc/{pid}")
        for _ in range(_LOOKS):
            try:
                environ = (place / "environ").read_bytes()
                (place / "exe").readlink()
            except OSError:
                return False  # gone meanwhile, another user's, or the kernel's
            if environ:
                return f"{MARK}={self.mark}\0".encode() in environ
            time.sleep(_PAUSE_S)  # empty while it is being replaced by another program: look again
        return False


def agents_own(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that the agent started: without the CLI itself and what isolates it."""
    own = []
    for process in processes:
        try:
            if process.name() not in _SCAFFOLD and process.status() != psutil.STATUS_ZOMBIE:
                own.append(process)
        except psutil.NoSuchProcess:
            continue
    return own
