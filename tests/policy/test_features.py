from pathlib import Path

from agentmig.journal import Journal, Outcome, Verdict, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    MigrationStarted,
    SessionEnded,
    Turn,
)
from agentmig.policy import features
from tests.journal.builders import put


def test_shares_are_of_the_budget_and_zero_without_one(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, budget={"agent_usd": 1.0, "turns": None})
        put(journal, Turn, usd=0.25)
        row = features(fold(journal.events))
    assert row["agent_usd_share"] == 0.25
    assert row["turns_share"] == 0.0
    assert row["tokens"] == 15


def test_the_same_failure_in_a_row_ends_with_another_or_a_good_one(tmp_path: Path) -> None:
    def attempt(number: int, outcome: Outcome, cause: str | None) -> None:
        put(journal, AttemptStarted, attempt=f"a{number}")
        put(journal, AttemptFinished, attempt=f"a{number}", outcome=outcome, cause=cause, summary="s")

    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        for number, (outcome, cause) in enumerate(
            [(Outcome.LOUD, "a"), (Outcome.LOUD, "b"), (Outcome.INFRA, "x"), (Outcome.LOUD, "b")]
        ):
            attempt(number, outcome, cause)
        assert features(fold(journal.events))["same_failure_in_row"] == 2
        attempt(9, Outcome.OK, None)
        assert features(fold(journal.events))["same_failure_in_row"] == 0


def test_the_same_cause_in_a_row_counts_rejected_claims(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        for number, cause in enumerate(["learning_rate", "clip_missing", "clip_missing"]):
            put(journal, ClaimMade, claim=f"c{number}")
            put(journal, ClaimVerified, claim=f"c{number}", cause=cause)
        assert features(fold(journal.events))["same_cause_in_row"] == 2
        put(journal, ClaimMade, claim="c9")
        put(journal, ClaimVerified, claim="c9", verdict=Verdict.PASS, cause=None)
        row = features(fold(journal.events))
    assert row["same_cause_in_row"] == 0
    assert row["rejected_claims"] == 3


def test_ends_without_claim_are_counted_from_the_last_sign_of_work(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionEnded)
        put(journal, ClaimMade)
        put(journal, SessionEnded)
        put(journal, SessionEnded)
        assert features(fold(journal.events))["silent_ends_in_row"] == 2
        put(journal, SessionEnded, reason="error")
        assert features(fold(journal.events))["session_errors_in_row"] == 1
