"""The story of a run while it happens: a line for each event, and below it what is running now."""

import asyncio
import contextlib
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from agentmig.cli.story import tell
from agentmig.journal import Event
from agentmig.supervisor.migrate import Answer


class Live:
    """Prints events as they come; on a terminal also a status line with the newest output of the running command.

    Args:
        console: where to print.
        quiet: print nothing.
    """

    def __init__(self, console: Console, quiet: bool):
        self.console = console
        self._quiet = quiet
        self._begin = time.monotonic()
        self._status: Status | None = None

    def event(self, event: Event) -> None:
        """Tell an event."""
        if not self._quiet:
            for line in tell(event):
                self.console.print(f"[dim]{self._clock()}[/] {line}")

    def note(self, text: str) -> None:
        """Tell what is being prepared."""
        if not self._quiet:
            self.console.print(f"[dim]{self._clock()}[/] {escape(text)}")

    def line(self, text: str) -> None:
        """Show the newest line of a command's output, where there is a terminal."""
        if self._status:
            self._status.update(f"[dim]{escape(text.strip()[: self.console.width - 4])}[/]")

    async def ask(self, question: str) -> Answer | None:
        """Put a question to the person at the terminal; an empty answer leaves it open."""
        if self._status:
            self._status.stop()
        begin = time.monotonic()
        self.console.print(f"[bold yellow]A person is needed:[/] {escape(question)}")
        text = (await asyncio.to_thread(input, "answer (empty: leave it open and end here): ")).strip()
        if self._status:
            self._status.start()
        return Answer(text, (time.monotonic() - begin) / 60) if text else None

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self._quiet:
            self._status = self.console.status("")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            with contextlib.suppress(RuntimeError):
                self._status.stop()

    def _clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._begin), 60)
        return f"{minutes:3d}:{seconds:02d}"
