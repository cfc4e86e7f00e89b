"""Seeing to it that nothing the CLI ever started is left."""

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from agentmig.execution.processes import end_tree, marked, tree

_SCAFFOLD = {"bwrap", "socat", "claude"}


@dataclass(frozen=True)
class Stretch:
    """One start of the CLI: how its processes are found.

    Attributes:
        mark: value of `MARK` in its environment.
        pid_file: where the launcher writes the pid of the outermost process.
    """

    mark: str
    pid_file: Path

    def members(self) -> list[psutil.Process]:
        """All processes of the stretch that are alive, also those that left their parents and sessions."""
        found = {process.pid: process for process in marked(self.mark)}
        if self.pid_file.exists():
            found |= {process.pid: process for process in tree(int(self.pid_file.read_text()))}
        return [process for pid, process in found.items() if pid != os.getpid()]

    def reap(self) -> None:
        """End every process of the stretch."""
        while members := self.members():
            for process in members:
                end_tree(process.pid)


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
