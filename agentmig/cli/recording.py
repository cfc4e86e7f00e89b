"""What `run` and `verify` share: a fresh run folder, its journal told live, and its end shown."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from agentmig.cli.live import Live
from agentmig.cli.show import conclude
from agentmig.journal import Journal
from agentmig.spec import Workload
from agentmig.supervisor.closing import closing
from agentmig.supervisor.setup import new_run_folder


def record(
    workload: Workload, as_json: bool, body: Callable[[Path, Journal, Live], Awaitable[object]]
) -> NoReturn:
    """Make a run, and end the command with the exit code of its verdict.

    Args:
        workload: what the run is of.
        as_json: print the final document instead of the story.
        body: does the work; gets the run's folder, its journal, and where to tell what happens.
    """
    folder = new_run_folder(Path.cwd(), workload.name)

    async def whole() -> None:
        await body(folder, journal, live)

    with (
        Live(Console(highlight=False, soft_wrap=True), quiet=as_json) as live,
        Journal(folder, live.event) as journal,
    ):
        with closing(journal):
            asyncio.run(whole())
        events = list(journal.events)
    conclude(events, live.console, folder, as_json)
