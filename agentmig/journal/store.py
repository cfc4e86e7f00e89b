"""The journal's file: append-only, one event a line, synced to disk before `append` returns.

A last line that was cut off (the machine stopped while it was written) is no event yet, so it is dropped and the file
repaired. Damage anywhere else is named and never skipped.
"""

import fcntl
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from agentmig.errors import AgentmigError
from agentmig.journal.events import SCHEMA_VERSION, Event, EventBase

FILE = "journal.jsonl"
_adapter: TypeAdapter[Event] = TypeAdapter(Event)
E = TypeVar("E", bound=EventBase)


class JournalError(AgentmigError):
    """The journal can't be read or written; the message names file and line."""


def now() -> datetime:
    """The time that events carry: UTC."""
    return datetime.now(UTC)


def parse_journal(data: bytes, name: str) -> tuple[list[Event], int]:
    """Parse a journal's bytes.

    Args:
        data: the file's content.
        name: what errors call it.

    Returns:
        The events, and the length in bytes of the complete lines (less than `len(data)` when the last was cut off).

    Raises:
        JournalError: a complete line is damaged, out of order, or from a newer version.
    """
    events: list[Event] = []
    complete = data.rfind(b"\n") + 1
    for number, line in enumerate(data[:complete].splitlines(), start=1):
        try:
            event = _adapter.validate_json(line)
        except ValidationError as error:
            raise JournalError(_damaged(name, number, line, error)) from error
        if event.seq != number:
            raise JournalError(
                f"{name}:{number}: event {event.seq} stands where event {number} belongs: lines were removed or moved; "
                "restore the file from a copy"
            )
        events.append(event)
    return events, complete


def _damaged(name: str, number: int, line: bytes, error: ValidationError) -> str:
    if (
        f'"schema_version":{SCHEMA_VERSION},'.encode() not in line.replace(b" ", b"")
        and b"schema_version" in line
    ):
        return f"{name}:{number}: written by a newer version of agentmig (this one reads {SCHEMA_VERSION}); upgrade agentmig"
    detail = error.errors()[0]
    where = ".".join(map(str, detail["loc"])) or "the line"
    return f"{name}:{number}: damaged: {where}: {detail['msg']}; restore the line from a copy (nothing was skipped)"


def read_journal(run: Path) -> list[Event]:
    """All complete events of a run folder; changes nothing on disk.

    Raises:
        JournalError: no journal there, or it is damaged.
    """
    file = run / FILE
    try:
        data = file.read_bytes()
    except OSError as error:
        raise JournalError(
            f"{file}: {error.strerror}; is {run} the folder of a run (.agentmig/runs/…)?"
        ) from error
    return parse_journal(data, str(file))[0]


class Journal:
    """Writer of one run's journal. One process at a time: a second one is refused.

    Attributes:
        events: everything written so far, those of earlier processes included.
    """

    def __init__(self, run: Path, on_event: Callable[[Event], None] | None = None):
        self.file = run / FILE
        self._on_event = on_event
        try:
            run.mkdir(parents=True, exist_ok=True)
            self._handle = self.file.open("ab+", buffering=0)
        except OSError as error:
            raise JournalError(f"{self.file}: {error.strerror}; the run's folder must be writable") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._handle.close()
            raise JournalError(
                f"{self.file}: another agentmig process is writing this run; wait for it or stop it"
            ) from error
        self._handle.seek(0)
        try:
            self.events, complete = parse_journal(self._handle.read(), str(self.file))
        except JournalError:
            self._handle.close()
            raise
        self._handle.truncate(complete)

    def append(self, kind: type[E], **fields: Any) -> E:
        """Write one event; it is on disk when this returns.

        Raises:
            JournalError: the disk refuses (full, removed); nothing of the event is left in the file.
        """
        event = kind(seq=len(self.events) + 1, time=now(), **fields)
        line = event.model_dump_json().encode() + b"\n"
        end = self._handle.seek(0, os.SEEK_END)
        try:
            left = memoryview(line)
            while left:  # a full disk takes a part first, and says why at the next try
                left = left[self._handle.write(left) :]
            os.fsync(self._handle.fileno())
        except OSError as error:
            self._handle.truncate(end)
            raise JournalError(
                f"{self.file}: {error.strerror}; free space, then resume (all earlier events are kept)"
            ) from error
        self.events.append(event)  # type: ignore[arg-type]
        if self._on_event:
            self._on_event(event)  # type: ignore[arg-type]
        return event

    def close(self) -> None:
        """Release the file."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
