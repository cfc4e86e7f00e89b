"""Checks side by side, their results in the order of the checks; whatever is raised becomes a result."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agentmig.doctor.results import Finding, Group, Result, broken
from agentmig.errors import AgentmigError

Look = Callable[[], Awaitable[Finding | Sequence[Result]]]
"""Returns what it saw: one finding, which gets the check's name, or results with names of their own."""
Running = Callable[[list[str]], None]
"""Gets the names of the checks that run now, whenever they change."""


@dataclass(frozen=True)
class Check:
    """Something to look at."""

    name: str
    group: Group
    look: Look


async def perform(checks: Sequence[Check], on_running: Running = lambda names: None) -> list[Result]:
    """Perform checks at the same time; the results keep the order of the checks."""
    running: list[str] = []

    async def one(check: Check) -> Sequence[Result]:
        running.append(check.name)
        on_running(running)
        try:
            return await _guarded(check)
        finally:
            running.remove(check.name)
            on_running(running)

    return [result for results in await asyncio.gather(*map(one, checks)) for result in results]


async def _guarded(check: Check) -> Sequence[Result]:
    try:
        found = await check.look()
    except AgentmigError as error:
        found = broken(str(error), f"{check.name}: correct what the message says")
    except Exception as error:  # a doctor that falls ill helps nobody; nowhere else
        found = broken(
            f"unexpected {type(error).__name__}: {error}",
            f"{check.name}: see to what the message names; if agentmig is at fault, report it with "
            "the output of `agentmig doctor --json`",
        )
    return [found.named(check.name, check.group)] if isinstance(found, Finding) else found
