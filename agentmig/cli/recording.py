"""What commands that lead a run share: its folder and journal, the story told live, and its end shown."""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from agentmig.cli.live import Live
from agentmig.cli.show import conclude
from agentmig.journal import Event, Journal
from agentmig.journal.store import FILE
from agentmig.settings import settings
from agentmig.spec import Workload
from agentmig.supervisor.closing import closing
from agentmig.supervisor.setup import new_run_folder

Body = Callable[[Path, Journal, Live], Awaitable[object]]
"""Does the work of a run; gets its folder, its journal, and where to tell what happens."""
Conclude = Callable[[list[Event], Path], None]
"""Does something more with the events at the end, before the command ends."""


def record(
    workload: Workload, as_json: bool, quiet: bool, body: Body, also: Conclude | None = None
) -> NoReturn:
    """Make a run, and end the command with the exit code of its verdict.

    Args:
        workload: what the run is of.
        as_json: print the final document instead of the story.
        quiet: print the end of the story only.
        body: does the work.
        also: what else is made of the events.
    """
    folder = new_run_folder(settings().runs, workload.name)
    with _removed_if_empty(folder):
        go_on(folder, workload, as_json, quiet, body, also)


def go_on(
    folder: Path, workload: Workload, as_json: bool, quiet: bool, body: Body, also: Conclude | None = None
) -> NoReturn:
    """The same for a run whose folder is there."""

    async def whole() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await body(folder, journal, live)

    looks = workload.acceptance.goal.looks
    live = Live(Console(highlight=False, soft_wrap=True), quiet or as_json, looks)
    with Journal(folder, live.event) as journal:
        live.catch_up(list(journal.events))
        with _said_how_to_go_on(journal, folder), live, closing(journal):
            asyncio.run(whole())
        events = list(journal.events)
    if also:
        also(events, folder)
    conclude(events, live.console, folder, as_json)


@contextmanager
def _said_how_to_go_on(journal: Journal, folder: Path) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError):
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        kept = f"what was recorded is kept. Go on with: agentmig resume {folder.name}"
        console.print(f"interrupted; {kept if journal.events else 'nothing had begun'}")
        raise KeyboardInterrupt from None


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """A run that could not even begin leaves nothing behind."""
    try:
        yield
    finally:
        journal = folder / FILE
        if not journal.exists() or journal.stat().st_size == 0:
            shutil.rmtree(folder, ignore_errors=True)
