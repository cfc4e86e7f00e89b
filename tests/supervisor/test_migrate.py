import asyncio

from agentmig.journal import Verdict, fold
from agentmig.journal.events import Turn
from agentmig.supervisor.migrate import verify_candidate
from agentmig.supervisor.setup import Bench
from tests.execution.projects import git, write
from tests.journal.builders import put


def _commit(bench: Bench, files: dict[str, str]) -> str:
    write(bench.repository.worktree, files)
    git(bench.repository.worktree, "add", "--all")
    git(bench.repository.worktree, "commit", "--quiet", "-m", "work")
    return bench.repository.head()


def test_a_planted_file_is_rejected_before_anything_runs(bench: Bench) -> None:
    commit = _commit(bench, {"sitecustomize.py": "import os\n"})
    assert asyncio.run(verify_candidate(bench, commit)) == "rejected"
    state = fold(bench.journal.events)
    (claim,) = state.claims
    assert claim.verified and claim.verified.cause == "planted_file"
    assert {gate.gate: gate.verdict for gate in claim.gates}["goal"] is Verdict.NOT_REACHED
    assert not state.attempts


def test_a_verification_runs_nothing_once_the_budget_is_spent(bench: Bench) -> None:
    commit = _commit(bench, {"train.py": "print('other')\n"})
    put(bench.journal, Turn, usd=2.0)
    assert asyncio.run(verify_candidate(bench, commit)) == "inconclusive"
    state = fold(bench.journal.events)
    (claim,) = state.claims
    assert claim.verified and (claim.verified.verdict, claim.verified.cause) == (
        Verdict.INCONCLUSIVE,
        "budget_spent",
    )
    assert not state.attempts
