"""What torch_xla's own debug output says of compilations and executions: why, and at which line of the program.

`PT_XLA_DEBUG_LEVEL=2` writes a block for each (torch_xla/csrc/debug_util.cpp). A process may be killed while it writes, and
several write into one file, so a block that can't be read is left out.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentmig.execution.runner import COMPILER_LOG

_MOST_BYTES = 64 << 20
_BLOCK = re.compile(
    r"^(Compilation|Execution) Analysis: \1 Cause\n(?P<body>(?:\1 Analysis: .*\n)*)", re.MULTILINE
)
_FRAME = re.compile(r"^(?P<function>.+) \((?P<file>.+):(?P<line>\d+)\)$")
_NOT_THE_PROGRAM = ("/site-packages/", "/dist-packages/", "/agentmig/probe/", "/lib/python3")
_CODE = "/code/"
"""A run's folder holds the program's files in a folder of this name."""


@dataclass(frozen=True)
class Place:
    """Where the program made the compiler, or the device, work.

    Attributes:
        kind: a graph was compiled, or executed.
        cause: torch_xla's own words.
        line: file and line of the program, relative to it; empty where no frame is its own.
    """

    kind: Literal["compilation", "execution"]
    cause: str
    line: str

    @property
    def is_access(self) -> bool:
        """Whether a value was read in the middle of a step."""
        return "access tensor value" in self.cause

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.line or 'outside of the program'} ({self.cause})"


def places(text: str) -> Counter[Place]:
    """How often each place made the compiler or the device work.

    Args:
        text: the debug output of all ranks.
    """
    found: Counter[Place] = Counter()
    for block in _BLOCK.finditer(text):
        kind: Literal["compilation", "execution"] = (
            "compilation" if block[1] == "Compilation" else "execution"
        )
        lines = [line.partition(": ")[2].strip() for line in block["body"].splitlines()]
        cause = lines[0] if lines else ""
        start = next((n for n, line in enumerate(lines) if line.startswith("Python Frame")), len(lines))
        frames = [frame for line in lines[start + 1 :] if (frame := _FRAME.match(line))]
        own = next((f for f in frames if not any(part in f["file"] for part in _NOT_THE_PROGRAM)), None)
        place = f"{own['file'].rpartition(_CODE)[2]}:{own['line']}" if own else ""
        found[Place(kind, cause, place)] += 1
    return found


def read_places(folder: Path) -> Counter[Place]:
    """The places of a run; empty where it was not asked for, or its log is too large to be read."""
    file = folder / COMPILER_LOG
    if not file.exists() or file.stat().st_size > _MOST_BYTES:
        return Counter()
    return places(file.read_text(encoding="utf-8", errors="replace"))


def most(found: Counter[Place], kind: str, access: bool | None = None) -> list[tuple[Place, int]]:
    """The program's own places of a kind, the most frequent first.

    Args:
        found: all places.
        kind: `compilation` or `execution`.
        access: only those that read a value (True), or only the others (False).
    """
    wanted = [
        (place, count)
        for place, count in found.most_common()
        if place.kind == kind and place.line and (access is None or place.is_access is access)
    ]
    return wanted[:5]
