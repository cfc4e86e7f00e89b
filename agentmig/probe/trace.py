"""The trace of one rank: strict JSON, one line an event, on disk at once.

A process owns a rank's trace once it has written the rank's handshake. The first process that imports torch takes it;
another (a spawned rank, the second program of a shell script) takes it over when it trains, and what it had to say
until then waits. So neither a DataLoader's worker nor a program that only evaluates leaves a line.
"""

import json
import math
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from . import handshake

_WAITING_LINES = 1000
_ERRORS_AT_ONE_PLACE = 5


def plain(value: Any) -> Any:
    """The value as strict JSON can hold it: NaN and infinities become the strings "nan", "inf" and "-inf"."""
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


class Trace:
    """Writes `handshake-<rank>.json` and `trace-<rank>.jsonl` in a folder."""

    def __init__(self, out: Path, who: handshake.Identity, torch_version: str, plan_sha256: str) -> None:
        self.out = out
        self.who = who
        self.owner = False
        self.xla_version: str | None = None
        self._torch_version = torch_version
        self._plan_sha256 = plan_sha256
        self._file: TextIO | None = None
        self._waiting: list[str] = []
        self._said: set[tuple[str, str]] = set()
        self._errors: dict[str, int] = {}

    @property
    def handshake_path(self) -> Path:
        """Where this rank's handshake lies."""
        return self.out / f"handshake-{self.who.rank}.json"

    def _greet(self) -> None:
        content = handshake.record(self.who, self._torch_version, self.xla_version, self._plan_sha256)
        handshake.write(self.out, content)

    def own(self, who: handshake.Identity) -> None:
        """Become the process that stands for a rank; writes the handshake and all lines that waited."""
        if self.owner:
            return
        self.who = who
        self._greet()
        self.owner = True
        path = self.out / f"trace-{who.rank}.jsonl"
        trained_before = path.exists() and '"kind": "step"' in path.read_text(encoding="utf-8")
        self._file = path.open("a" if trained_before else "w", encoding="utf-8")
        for line in self._waiting:
            self._file.write(line)
        self._file.flush()
        self._waiting = []
        if trained_before:
            self.note("another_process", f"a second process trains as rank {who.rank}: its steps follow")

    def xla_imported(self, version: str) -> None:
        """Complete the handshake: the process uses torch_xla."""
        self.xla_version = version
        if self.owner:
            self._greet()

    def write(self, kind: str, **fields: Any) -> None:
        """Add one line; it is on disk when this returns, if the process owns the trace."""
        line = json.dumps(plain({"kind": kind, **fields}), allow_nan=False) + "\n"
        if self._file is not None:
            self._file.write(line)
            self._file.flush()
        elif len(self._waiting) < _WAITING_LINES:
            self._waiting.append(line)

    def note(self, code: str, message: str) -> None:
        """Add a note, unless the same one was made before."""
        if (code, message) not in self._said:
            self._said.add((code, message))
            self.write("note", code=code, message=message)

    @contextmanager
    def guard(self, where: str) -> Iterator[None]:
        """Keep an error of ours from stopping the program: it becomes a `probe_error` line instead."""
        try:
            yield
        except Exception as error:
            self._errors[where] = self._errors.get(where, 0) + 1
            if self._errors[where] <= _ERRORS_AT_ONE_PLACE:
                place = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
                self.write("probe_error", where=where, message=text)

    def forked(self) -> None:
        """Forget the parent's trace in a forked child, which is somebody else."""
        self.close()
        self.owner = False
        self._waiting = []

    def close(self) -> None:
        """Let go of the file; every line is on disk already."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def is_ours(self) -> bool:
        """Whether the handshake on disk still names this process (a spawned rank may have taken it over)."""
        if not self.owner or not self.handshake_path.exists():
            return False
        pid: int = json.loads(self.handshake_path.read_text(encoding="utf-8"))["pid"]
        return pid == os.getpid()
