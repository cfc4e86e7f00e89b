"""What a program prints, on its way from a pipe into a log of bounded size."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 16
_LARGEST_END = 4 << 20


class BoundedLog:
    """A file that keeps the beginning and the end of what is written to it, with a line between them if anything is missing.

    The beginning is in the file at once. The end is held in memory until `close`: metrics and tracebacks come last.

    Args:
        file: where it goes.
        limit: bytes of output that are kept; the line between comes on top.
    """

    def __init__(self, file: BinaryIO, limit: int):
        self._file = file
        self._tail = min(limit // 2, _LARGEST_END)
        self._room = limit - self._tail
        self._kept: deque[bytes] = deque()
        self._held = 0
        self._dropped = 0

    def write(self, chunk: bytes) -> None:
        """Take a part of the output."""
        if self._room:
            self._file.write(chunk[: self._room])
            self._file.flush()
        rest = chunk[self._room :]
        self._room = max(0, self._room - len(chunk))
        if rest:
            self._kept.append(rest)
            self._held += len(rest)
        while self._held > self._tail:
            first = self._kept.popleft()
            surplus = min(len(first), self._held - self._tail)
            self._held -= surplus
            self._dropped += surplus
            if surplus < len(first):
                self._kept.appendleft(first[surplus:])

    def close(self) -> None:
        """Write the end, and how much is missing before it."""
        if self._dropped:
            self._file.write(f"\n[agentmig: {self._dropped} bytes of output were dropped here]\n".encode())
        self._file.writelines(self._kept)
        self._file.flush()


class Lines:
    """Cuts output into lines; of a very long one only its end is kept."""

    def __init__(self, on_line: Callable[[str], None]):
        self._on_line = on_line
        self._pending = b""

    def write(self, chunk: bytes) -> None:
        """Take a part of the output; hands on the lines that it ends."""
        ended, newline, rest = chunk.rpartition(b"\n")
        if newline:
            self._hand_on(self._pending + ended)
            self._pending = b""
        self._pending = (self._pending + rest)[-_LONGEST_LINE:]

    def close(self) -> None:
        """Hand on the last line if nothing ended it."""
        if self._pending:
            self._hand_on(self._pending)

    def _hand_on(self, lines: bytes) -> None:
        # All at once: a line at a time would take minutes for what a program can print in a second.
        for line in lines.decode(errors="replace").split("\n"):
            self._on_line(line)


async def read_output(
    pipe: int, log: Path, on_line: Callable[[str], None] | None, max_log_bytes: int
) -> None:
    """Read a pipe to its end and close it, also when cancelled.

    Args:
        pipe: file descriptor to read.
        log: file that gets the output.
        on_line: gets each line.
        max_log_bytes: output that the log keeps.

    Raises:
        OSError: the log can't be written.
    """
    stream = asyncio.StreamReader(limit=_CHUNK)
    handle = os.fdopen(pipe, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), handle
    )
    try:
        with log.open("wb") as file:
            kept = BoundedLog(file, max_log_bytes)
            lines = Lines(on_line) if on_line else None
            try:
                while chunk := await stream.read(_CHUNK):
                    kept.write(chunk)
                    if lines:
                        lines.write(chunk)
                if lines:
                    lines.close()
            finally:
                kept.close()
    finally:
        transport.close()
