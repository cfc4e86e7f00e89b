"""A run that can't go on says so in its journal, so that nobody takes it for one that is still running."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from agentmig.errors import AgentmigError
from agentmig.journal import Journal, JournalError, fold
from agentmig.journal.events import MigrationFinished


@contextmanager
def closing(journal: Journal) -> Iterator[None]:
    """Write the end of a run that an error or an interruption ends; the exception goes on.

    Args:
        journal: of the run. An error of the journal itself can't be written down.
    """
    try:
        yield
    except JournalError:
        raise
    except AgentmigError as error:
        _stopped(journal, str(error))
        raise
    except (KeyboardInterrupt, asyncio.CancelledError):
        _stopped(journal, "interrupted by a person")
        raise


def _stopped(journal: Journal, reason: str) -> None:
    state = fold(journal.events)
    if state.started and not state.finished:
        journal.append(MigrationFinished, verdict="stopped", reason=reason)
