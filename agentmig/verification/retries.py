"""Runs that failed through no fault of the code are made again, a few times."""

from collections.abc import Awaitable, Callable
from itertools import count

from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt

from agentmig.execution.runner import Result
from agentmig.failures.classify import classify
from agentmig.journal.events import Outcome

TRIES = 3
"""How often a run is made at the most; what fails so often is no accident of the machine."""


def is_infrastructure(result: Result) -> bool:
    """Whether a run failed through no fault of the code."""
    if result.ok:
        return False
    ended = classify(result.finished.exit_code, result.finished.timed_out, result.tail())
    return ended.outcome is Outcome.INFRA


async def retried(make: Callable[[int], Awaitable[Result]]) -> Result:
    """The result of a run, made again while the infrastructure fails it.

    Args:
        make: makes the run; gets the number of the try, from 1, since a run's folder is used once.
    """
    tries = count(1)

    async def once() -> Result:
        return await make(next(tries))

    retrying = AsyncRetrying(
        stop=stop_after_attempt(TRIES),
        retry=retry_if_result(is_infrastructure),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    result: Result = await retrying(once)
    return result
