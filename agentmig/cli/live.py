"""The story of a run while it happens: a line for each event; on a terminal also, below it, where the run stands."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import rich.live
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from agentmig.cli.story import tell
from agentmig.journal import Event, State, Verdict
from agentmig.journal.fold import apply
from agentmig.journal.store import now
from agentmig.supervisor.asking import Answer
from agentmig.supervisor.progress import Progress, Spent, progress
from agentmig.verification.gates import GATES

_LINES = 3
_BAR = 12
_MARK = {
    Verdict.PASS: ("✓", "green"),
    Verdict.FAIL: ("✗", "bold red"),
    Verdict.INCONCLUSIVE: ("?", "yellow"),
    Verdict.NOT_REACHED: ("·", "dim"),
    None: ("·", "dim"),
}


class Live:
    """Prints events as they come; on a terminal it also keeps a view of the run's progress below them.

    Args:
        console: where to print.
        quiet: print nothing.
        looks: numbers of trainings at which the goal may be decided, for the time that is left.
    """

    def __init__(self, console: Console, quiet: bool, looks: list[int]):
        self.console = console
        self._quiet = quiet
        self._looks = looks
        self._begin = time.monotonic()
        self._state = State()
        self._note = ""
        self._output = deque[str](maxlen=_LINES)
        self._view: rich.live.Live | None = None

    def catch_up(self, events: list[Event]) -> None:
        """Take in what happened before this process began, without telling it again."""
        for event in events:
            apply(self._state, event)

    def event(self, event: Event) -> None:
        """Tell an event."""
        apply(self._state, event)
        self._output.clear()
        if not self._quiet:
            for line in tell(event):
                self.console.print(f"[dim]{self._clock()}[/] {line}")

    def note(self, text: str) -> None:
        """Tell what is being prepared."""
        self._note = text
        if not self._quiet:
            self.console.print(f"[dim]{self._clock()}[/] {escape(text)}")

    def line(self, text: str) -> None:
        """Take a line of a command's output; the newest are in the view."""
        if text.strip():
            self._output.append(text.strip())

    async def ask(self, question: str) -> Answer | None:
        """Put a question to the person at the terminal; an empty answer leaves it open."""
        if self._view:
            self._view.stop()
        begin = time.monotonic()
        self.console.print(f"[bold yellow]A person is needed:[/] {escape(question)}")
        text = (await asyncio.to_thread(input, "answer (empty: leave it open and end here): ")).strip()
        if self._view:
            self._view.start()
        return Answer(text, (time.monotonic() - begin) / 60) if text else None

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self._quiet:
            self._view = rich.live.Live(
                console=self.console, get_renderable=self._render, refresh_per_second=4, transient=True
            )
            self._view.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._view:
            with contextlib.suppress(RuntimeError):
                self._view.stop()

    def _render(self) -> RenderableType:
        seen = progress(self._state, now(), self._looks)
        note = self._note if self._state.reference is None else ""
        return picture(seen, self._clock().strip(), note, list(self._output), self.console.width)

    def _clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._begin), 60)
        return f"{minutes:3d}:{seconds:02d}"


def picture(seen: Progress, clock: str, note: str, output: list[str], width: int) -> RenderableType:
    """Where a run stands, in a few lines.

    Args:
        seen: its progress.
        clock: time since the command began, in words.
        note: what is being prepared.
        output: the newest lines of what runs now.
        width: of the terminal, in characters.
    """
    lines = [Text.assemble((f"{clock}  ", "dim"), (note or seen.stage, "bold"), (_left(seen), "dim"))]
    lines += [_gates(target, verdicts) for target, verdicts in seen.gates.items() if any(verdicts)]
    lines.append(Text("   ").join(_spent(seen)))
    lines += [Text(f"  {line}", style="dim") for line in output]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Group(Rule(style="dim"), *lines)


def _gates(target: str, verdicts: tuple[Verdict | None, ...]) -> Text:
    text = Text(f"{target}: ")
    for gate, verdict in zip(GATES, verdicts, strict=True):
        mark, style = _MARK[verdict]
        text.append(f"{mark} {gate}  ", style=style)
    return text


def _spent(seen: Progress) -> Iterator[Text]:
    yield Text(f"turn {seen.turns}")
    for each in seen.budgets:
        if each.share is not None:
            yield _bar(each, each.share)


def _bar(each: Spent, share: float) -> Text:
    style = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "green"
    full = min(_BAR, round(share * _BAR))
    name = each.name.replace("_usd", " $").replace("_", " ")
    return Text.assemble(
        (f"{name} ", ""),
        ("━" * full, style),
        ("━" * (_BAR - full), "dim"),
        (f" {share:.0%} of {each.bound:g}", "dim"),
    )


def _left(seen: Progress) -> str:
    parts = []
    if seen.verification_left is not None:
        parts.append(f"about {_duration(seen.verification_left)} to this claim's next look")
    if seen.seconds_left is not None:
        parts.append(f"{_duration(seen.seconds_left)} of the time budget left")
    return f"   {'; '.join(parts)}" if parts else ""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
