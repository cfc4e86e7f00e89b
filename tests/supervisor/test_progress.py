from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agentmig.journal import Journal, Verdict, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    GateFinished,
    GateResult,
    MigrationFinished,
    MigrationResumed,
    MigrationStarted,
    QuestionAsked,
    SessionEnded,
    SessionStarted,
    Turn,
)
from agentmig.supervisor.progress import Progress, progress
from agentmig.verification.gates import GATES
from tests.journal.builders import put


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A migration that has begun, with bounds on dollars and hours."""
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, budget={"agent_usd": 1.0, "wall_hours": 2.0, "turns": None})
        yield journal


def _seen(journal: Journal, later_s: float = 0.0) -> Progress:
    newest = journal.events[-1].time
    return progress(fold(journal.events), newest + timedelta(seconds=later_s), [3, 5])


def test_the_stage_follows_the_journal(journal: Journal) -> None:
    assert _seen(journal).stage == "preparing"
    put(journal, SessionStarted)
    put(journal, Turn)
    assert _seen(journal).stage == "the agent works (turn 2)"
    put(journal, AttemptStarted)
    assert _seen(journal).stage == "attempt-1 on xla: run_on_target"
    put(journal, AttemptFinished)
    put(journal, ClaimMade)
    put(journal, SessionEnded)
    assert _seen(journal).stage == "verifying claim-1"
    put(journal, MigrationFinished, verdict="stopped", reason="x")
    assert _seen(journal).stage == "stopped"


def test_a_question_is_waited_for(journal: Journal) -> None:
    put(journal, SessionStarted)
    put(journal, QuestionAsked, question="?", by="agent")
    put(journal, SessionEnded)
    assert _seen(journal).stage == "waiting for a person"


def test_gates_stand_in_their_order(journal: Journal) -> None:
    put(journal, ClaimMade)
    passed = GateResult(gate="semantics", target="xla", verdict=Verdict.PASS, summary="")
    put(journal, GateFinished, claim="claim-1", result=passed)
    verdicts = _seen(journal).gates["xla"]
    assert len(verdicts) == len(GATES)
    assert verdicts[GATES.index("semantics")] is Verdict.PASS
    assert sum(verdict is None for verdict in verdicts) == len(GATES) - 1


def test_the_budget_most_used_comes_first_and_time_goes_on_between_events(journal: Journal) -> None:
    put(journal, Turn, usd=0.5)
    seen = _seen(journal, later_s=3600)
    assert [each.name for each in seen.budgets[:2]] == ["wall_hours", "agent_usd"]
    assert seen.budgets[0].share == pytest.approx(0.5, abs=0.01)
    assert seen.seconds_left == pytest.approx(3600, abs=5)


def test_time_without_a_supervisor_is_not_counted(journal: Journal) -> None:
    put(journal, MigrationFinished, verdict="waiting", reason="?")
    state = fold(journal.events)
    assert state.last_time
    resumed = MigrationResumed(
        seq=3,
        time=state.last_time + timedelta(hours=5),
        after="?",
        budget={"wall_hours": 2.0},
        isolation="none",
    )
    seen = progress(fold([*journal.events, resumed]), resumed.time + timedelta(hours=1), [3])
    assert seen.seconds_left == pytest.approx(3600, abs=5)


def test_the_time_to_the_next_look_comes_from_this_claims_own_trainings(journal: Journal) -> None:
    put(journal, ClaimMade)
    assert _seen(journal).verification_left is None
    fields = {"by": "verifier", "purpose": "claim-1: training 1 (seed 4)"}
    put(journal, AttemptStarted, attempt="attempt-1", **fields)
    put(journal, AttemptFinished, attempt="attempt-1", wall_s=30.0)
    assert _seen(journal).verification_left == pytest.approx(60.0)
    put(journal, AttemptStarted, attempt="attempt-2", **fields)
    assert _seen(journal, later_s=10).verification_left == pytest.approx(50.0, abs=1)
