import asyncio
from pathlib import Path

from agentmig.execution.processes import Finished
from agentmig.execution.runner import Result
from agentmig.verification.retries import TRIES, retried


def _results(tmp_path: Path, *ends: tuple[int, str]) -> tuple[list[int], Result]:
    made: list[int] = []

    async def make(number: int) -> Result:
        made.append(number)
        code, text = ends[min(number, len(ends)) - 1]
        log = tmp_path / f"{number}.txt"
        log.write_text(text)
        return Result("c", Finished(code, False, 1.0, 1.0, 0), tmp_path, tmp_path, log, tmp_path / "m")

    return made, asyncio.run(retried(make))


def test_a_failure_of_the_machine_is_made_again(tmp_path: Path) -> None:
    made, result = _results(tmp_path, (1, "terminate called without an active exception\n"), (0, ""))
    assert (made, result.ok) == ([1, 2], True)


def test_a_failure_of_the_code_is_not(tmp_path: Path) -> None:
    made, result = _results(tmp_path, (1, "Traceback (most recent call last):\nValueError: x\n"))
    assert (made, result.ok) == ([1], False)


def test_what_fails_every_time_ends_with_its_last_result(tmp_path: Path) -> None:
    made, result = _results(tmp_path, (1, "OSError: [Errno 28] No space left on device\n"))
    assert made == list(range(1, TRIES + 1))
    assert not result.ok
