from collections.abc import Iterator
from pathlib import Path

import pytest

from agentmig.journal import Journal, Verdict, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    FeedbackSent,
    Intervention,
    MigrationStarted,
    QuestionAsked,
    SessionEnded,
    SessionStarted,
    Turn,
)
from agentmig.policy import load_policy
from agentmig.supervisor.decide import Action, decide
from tests.journal.builders import put


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, budget={"agent_usd": 1.0})
        yield journal


def _next(journal: Journal) -> Action:
    return decide(fold(journal.events), load_policy())


def _stretch(journal: Journal, reason: str = "turn_ended") -> None:
    put(journal, SessionStarted)
    put(journal, SessionEnded, reason=reason)


def test_a_fresh_migration_starts(journal: Journal) -> None:
    assert _next(journal).kind == "start"


def test_a_claim_is_verified_then_its_rejection_goes_back_once(journal: Journal) -> None:
    put(journal, SessionStarted)
    put(journal, ClaimMade)
    put(journal, SessionEnded)
    assert _next(journal).kind == "verify"
    put(journal, ClaimVerified)
    assert (_next(journal).kind, _next(journal).rule) == ("feedback", "rejected")
    put(journal, FeedbackSent, text="no", about="claim-1")
    _stretch(journal)
    assert (_next(journal).kind, _next(journal).rule) == ("continue", "no claim")


def test_only_a_verification_accepts(journal: Journal) -> None:
    put(journal, ClaimMade)
    put(journal, ClaimVerified, verdict=Verdict.PASS, cause=None, summary="every gate passed")
    assert _next(journal).kind == "accept"


def test_an_accepted_claim_counts_even_when_the_budget_is_spent(journal: Journal) -> None:
    put(journal, Turn, usd=2.0)
    put(journal, ClaimMade)
    put(journal, ClaimVerified, verdict=Verdict.PASS, cause=None)
    assert _next(journal).kind == "accept"


def test_a_spent_budget_stops_before_a_claim_is_verified(journal: Journal) -> None:
    put(journal, Turn, usd=2.0)
    put(journal, ClaimMade)
    action = _next(journal)
    assert (action.kind, action.rule, action.verdict) == ("stop", "agent dollars", "stopped")


def test_a_stop_after_a_rejection_is_a_rejection(journal: Journal) -> None:
    put(journal, ClaimMade)
    put(journal, ClaimVerified)
    put(journal, Turn, usd=2.0)
    assert _next(journal).verdict == "rejected"


def test_an_inconclusive_verification_is_no_pass_and_no_rejection(journal: Journal) -> None:
    put(journal, ClaimMade)
    put(journal, ClaimVerified, verdict=Verdict.INCONCLUSIVE, cause="goal_undecided")
    assert (_next(journal).kind, _next(journal).verdict) == ("stop", "inconclusive")


def test_a_question_waits_for_a_person_and_the_answer_goes_on(journal: Journal) -> None:
    put(journal, SessionStarted)
    put(journal, QuestionAsked, question="which data?", by="agent")
    put(journal, SessionEnded)
    assert (_next(journal).kind, _next(journal).reason) == ("ask", "which data?")
    put(journal, Intervention, reason="decision", text="the small", minutes=1.0, waited_s=1.0)
    assert (_next(journal).kind, _next(journal).rule) == ("continue", "answered")


def test_a_rule_that_asks_is_silent_once_a_person_answered(journal: Journal) -> None:
    for _ in range(3):
        _stretch(journal)
    assert (_next(journal).kind, _next(journal).rule) == ("ask", "ends without claim")
    put(journal, QuestionAsked, question="?", by="policy")
    put(journal, Intervention, reason="hint", text="look at the loader", minutes=1.0, waited_s=1.0)
    assert _next(journal).rule == "answered"


def test_a_run_that_outlived_the_turn_is_reported(journal: Journal) -> None:
    put(journal, SessionStarted)
    put(journal, AttemptStarted)
    put(journal, SessionEnded)
    put(journal, AttemptFinished)
    action = _next(journal)
    assert action.rule == "attempt ended"
    assert action.attempt and action.attempt.started.attempt == "attempt-1"


def test_an_error_of_the_session_stops(journal: Journal) -> None:
    _stretch(journal, "error")
    assert (_next(journal).kind, _next(journal).rule) == ("stop", "session errors")
