import asyncio
import shutil
from collections.abc import Awaitable

import pytest

from agentmig.agent.tools import ToolReply
from agentmig.journal import Outcome, fold
from agentmig.journal.events import Turn
from agentmig.policy import load_policy
from agentmig.spec.workload import Agent
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.setup import Bench
from agentmig.supervisor.toolbox import Toolbox
from tests.execution.projects import git, write
from tests.journal.builders import put


@pytest.fixture
def toolbox(bench: Bench) -> Toolbox:
    return Toolbox(bench, Limits(bench.journal, load_policy()))


def _do(call: Awaitable[ToolReply]) -> ToolReply:
    async def main() -> ToolReply:
        return await call

    return asyncio.run(main())


def test_a_run_is_of_the_worktree_as_it_stands(bench: Bench, toolbox: Toolbox) -> None:
    write(bench.repository.worktree, {"train.py": "print('uncommitted')\n"})
    reply = _do(toolbox.run_on_target("cpu", 1, None))
    assert "uncommitted" in reply.text and "Exit code 0" in reply.text
    (attempt,) = fold(bench.journal.events).attempts.values()
    assert (
        attempt.finished and attempt.finished.outcome is not Outcome.OK
    )  # no rank said anything to the probe
    assert attempt.started.chips == 1


def test_a_loud_failure_is_told_with_its_cause(bench: Bench, toolbox: Toolbox) -> None:
    write(bench.repository.worktree, {"train.py": "import nothing_of_that_name\n"})
    reply = _do(toolbox.run_on_target("cpu", None, None))
    assert "module_missing" in reply.text and "Exit code 1" in reply.text
    assert fold(bench.journal.events).failures_in_row == 1


def test_wrong_arguments_are_answered_with_what_is_right(toolbox: Toolbox) -> None:
    assert "The targets are: cpu" in _do(toolbox.run_on_target("tpu", None, None)).text
    assert "from 1 to 2" in _do(toolbox.run_on_target("cpu", 3, None)).text


def test_a_run_that_takes_too_long_ends_the_turn_and_is_awaited(bench: Bench, toolbox: Toolbox) -> None:
    bench.workload = bench.workload.model_copy(update={"agent": Agent(tool_wait_s=0.05)})
    write(bench.repository.worktree, {"train.py": "print('late')\n"})

    async def scenario() -> ToolReply:
        reply = await toolbox.run_on_target("cpu", None, None)
        await toolbox.settle()
        return reply

    reply = asyncio.run(scenario())
    assert reply.ends_turn
    (attempt,) = fold(bench.journal.events).attempts.values()
    assert attempt.finished
    assert "late" in toolbox.report(attempt.finished, late=True)


def test_nothing_is_dispatched_when_the_budget_is_spent(bench: Bench, toolbox: Toolbox) -> None:
    put(bench.journal, Turn, usd=2.0)
    reply = _do(toolbox.run_on_target("cpu", None, None))
    assert reply.ends_turn and "budget in dollars is spent" in reply.text
    assert not fold(bench.journal.events).attempts


def test_a_claim_needs_committed_work(bench: Bench, toolbox: Toolbox) -> None:
    assert "unmigrated base" in _do(toolbox.claim_success("done", None)).text
    write(bench.repository.worktree, {"train.py": "print(2)\n"})
    git(bench.repository.worktree, "commit", "--quiet", "--all", "-m", "work")
    write(bench.repository.worktree, {"train.py": "print(3)\n"})
    assert "not committed" in _do(toolbox.claim_success("done", None)).text
    assert "not recorded" in _do(toolbox.claim_success("done", "no-such-commit")).text
    assert not fold(bench.journal.events).claims
    git(bench.repository.worktree, "checkout", "--quiet", "train.py")
    reply = _do(toolbox.claim_success("done", None))
    assert reply.ends_turn
    (claim,) = fold(bench.journal.events).claims
    assert claim.made.commit == bench.repository.head()


def test_a_question_is_recorded_and_ends_the_turn(bench: Bench, toolbox: Toolbox) -> None:
    assert _do(toolbox.ask_human("which data?")).ends_turn
    question = fold(bench.journal.events).question
    assert question and question.question == "which data?"


def test_a_lost_log_is_said(bench: Bench, toolbox: Toolbox) -> None:
    _do(toolbox.run_on_target("cpu", None, None))
    shutil.rmtree(bench.folder / "attempts")
    (attempt,) = fold(bench.journal.events).attempts.values()
    assert attempt.finished and "there is no log" in toolbox.report(attempt.finished)
