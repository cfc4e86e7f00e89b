import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal import Journal, JournalError, Outcome, Verdict, fold
from agentmig.journal.events import (
    ClaimMade,
    Intervention,
    MigrationFinished,
    MigrationStarted,
    QuestionAsked,
    Turn,
)
from agentmig.study.facts import LEVELS, Migration, facts, positive
from agentmig.verification.gates import GATES
from tests.journal.builders import TARGET, put
from tests.study.migrations import REAL, attempt, claim, gate, run


def _facts(journal: Journal) -> Migration:
    return facts(fold(journal.events))


def _level(tmp_path: Path, outcome: Outcome | None, passed: int, targets: tuple[str, ...] = ("xla",)) -> str:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, targets=[TARGET.model_copy(update={"name": name}) for name in targets])
        if outcome:
            attempt(journal, 1, outcome)
        gates = [gate(name, target=targets[0]) for name in GATES[:passed]]
        others = [gate(name, target=name_) for name_ in targets[1:] for name in GATES]
        claim(journal, Verdict.FAIL, [*gates, *others])
        return LEVELS[_facts(journal).level]


@pytest.mark.parametrize(
    ("outcome", "passed", "level"),
    [
        (None, 0, "nothing ran"),
        (None, 1, "nothing ran"),  # the integrity gate needs no run, and a ladder has no gaps
        (Outcome.LOUD, 1, "nothing ran"),
        (Outcome.INFRA, 1, "nothing ran"),
        (Outcome.SILENT, 0, "ran without error"),
        (Outcome.UNVERIFIED, 0, "ran without error"),
        (Outcome.OK, 1, "integrity"),
        (Outcome.SILENT, 2, "semantics"),
        (Outcome.OK, 3, "numerics"),
        (Outcome.OK, 6, "performance"),
        (Outcome.OK, 7, "goal"),
    ],
)
def test_the_ladder(tmp_path: Path, outcome: Outcome | None, passed: int, level: str) -> None:
    assert _level(tmp_path, outcome, passed) == level


def test_the_weakest_target_decides_the_level(tmp_path: Path) -> None:
    assert _level(tmp_path, Outcome.OK, 2, ("xla", "tpu")) == "semantics"


def test_a_gap_in_the_gates_ends_the_ladder(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        attempt(journal, 1, Outcome.OK)
        results = [gate(name) for name in GATES]
        results[2] = gate("numerics", Verdict.INCONCLUSIVE)
        claim(journal, Verdict.INCONCLUSIVE, results)
        assert LEVELS[_facts(journal).level] == "semantics"
        assert not _facts(journal).goal_met


def test_cheap_gates_of_an_attempt_raise_no_level(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        attempt(journal, 1, Outcome.OK, gates=[gate("semantics"), gate("hardware")])
        assert LEVELS[_facts(journal).level] == "ran without error"


@pytest.mark.parametrize(
    ("verdict", "goal", "met"),
    [
        (Verdict.PASS, Verdict.PASS, True),
        (Verdict.PASS, Verdict.INCONCLUSIVE, False),
        (Verdict.FAIL, Verdict.PASS, False),
        (None, Verdict.PASS, False),
    ],
)
def test_the_goal_is_met_by_an_accepted_claim_whose_goal_gate_passed(
    tmp_path: Path, verdict: Verdict | None, goal: Verdict, met: bool
) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        claim(journal, verdict, [gate("goal", goal)])
        assert _facts(journal).goal_met is met


def test_the_goal_is_met_on_every_target_or_not_at_all(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, targets=[TARGET, REAL])
        claim(journal, Verdict.PASS, [gate("goal", target="xla")])
        assert not _facts(journal).goal_met
        assert _facts(journal).emulated == 1


@pytest.mark.parametrize(
    ("fields", "voice"),
    [
        ({}, "live model"),
        ({"words": "digits-clipping (authored)"}, "played words"),
        ({"mode": "verify", "words": "none: a candidate made by hand"}, "by hand"),
    ],
)
def test_who_migrated(tmp_path: Path, fields: dict[str, Any], voice: str) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, **fields)
        assert _facts(journal).voice == voice


def test_what_runs_or_waits_has_not_ended(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, QuestionAsked, question="which data?", by="agent")
        assert (_facts(journal).verdict, _facts(journal).ended) == ("running", False)
        put(journal, MigrationFinished, verdict="waiting", reason="which data?")
        assert (_facts(journal).verdict, _facts(journal).ended) == ("waiting", False)


def test_dollars_are_unknown_where_a_price_is(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, Turn, message_id="m1", usd=0.5)
        attempt(journal, 1, Outcome.OK, usd=0.25)
        assert (_facts(journal).agent_usd, _facts(journal).compute_usd) == (0.5, 0.25)
        put(journal, Turn, message_id="m2", usd=None)
        attempt(journal, 2, Outcome.OK, usd=None)
        assert (_facts(journal).agent_usd, _facts(journal).compute_usd) == (None, None)


def test_a_reference_without_a_price_leaves_compute_unknown(tmp_path: Path) -> None:
    unpriced = TARGET.model_copy(update={"name": "reference", "usd_per_hour": None})
    with Journal(run(tmp_path / "a")) as journal:
        assert _facts(journal).compute_usd == pytest.approx(3.6 * 36 / 3600)
    with Journal(run(tmp_path / "b", reference_target=unpriced)) as journal:
        assert _facts(journal).compute_usd is None


def test_trainings_are_the_verifiers_of_the_accepted_commit_that_ended_well(tmp_path: Path) -> None:
    with Journal(run(tmp_path / "a", verdict=None)) as journal:
        whole: dict[str, Any] = {"by": "verifier", "purpose": "claim-1: training 1 (seed 5)", "wall_s": 30.0}
        fast = gate("performance", samples_per_s=50.0)
        attempt(journal, 1, Outcome.OK, **whole, gates=[fast])
        attempt(
            journal,
            2,
            Outcome.OK,
            **{**whole, "wall_s": 40.0},
            gates=[gate("performance", samples_per_s="?")],
        )
        attempt(journal, 3, Outcome.OK, **{**whole, "by": "agent"})
        attempt(journal, 4, Outcome.OK, **{**whole, "purpose": "claim-1: semantics"})
        attempt(journal, 5, Outcome.OK, **{**whole, "commit": "2" * 40})
        attempt(journal, 6, Outcome.SILENT, **whole)
        attempt(journal, 7, Outcome.OK, **{**whole, "target": "other"})
        attempt(journal, 8, None, **whole)
        claim(journal, Verdict.PASS, [gate(name) for name in GATES])
        assert _facts(journal).trainings == ()  # it is not accepted yet
        put(journal, MigrationFinished, verdict="accepted", reason="")
        (found,) = _facts(journal).trainings
    assert found.target_s == (30.0, 40.0)
    assert found.target_rates == (50.0,)
    assert (found.reference_s, found.reference_rate, found.hardware) == ((20.0, 20.0), 100.0, "A100")
    assert found.emulated


def test_an_emulated_reference_makes_the_pair_emulated(tmp_path: Path) -> None:
    folder = run(tmp_path / "a", targets=[REAL], reference_target=TARGET)
    with Journal(folder) as journal:
        assert [pair.emulated for pair in _facts(journal).trainings] == [True]


def test_a_journal_without_a_beginning_is_an_error() -> None:
    with pytest.raises(JournalError, match="empty"):
        facts(fold([]))
    late = ClaimMade(seq=1, time=datetime.now(UTC) + timedelta(1), claim="c", commit="1", summary="")
    with pytest.raises(JournalError, match="empty"):
        facts(fold([late]))


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=8)
)
def test_free_form_parts_of_a_journal_give_measurements_or_nothing(value: object) -> None:
    assert all(0 < number < 1e12 for number in positive(value))


def test_measurements_keep_their_values() -> None:
    assert positive([1, 2.5, True, "3", None, float("nan"), float("inf"), -1, 0]) == (1.0, 2.5)


@pytest.mark.parametrize("minutes", [math.nan, math.inf, -1.0, 1e300])
def test_a_figure_that_no_run_can_have_is_an_error(tmp_path: Path, minutes: float) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, Intervention, reason="hint", text="", minutes=minutes, waited_s=0.0)
        with pytest.raises(JournalError, match="minutes of an intervention"):
            _facts(journal)


def test_a_clock_that_was_set_back_gives_no_negative_time(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        first = put(journal, MigrationStarted)
        last = put(journal, MigrationFinished, verdict="stopped", reason="")
    assert facts(fold([first, last.model_copy(update={"time": first.time - timedelta(1)})])).wall_s == 0
