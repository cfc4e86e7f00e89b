import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from agentmig.journal import GateResult, Outcome, Verdict, fold
from agentmig.journal.events import AttemptFinished, AttemptStarted, MigrationStarted, ReferenceMeasured
from agentmig.report.model import Estimate
from agentmig.report.speed import estimate, ratio, remark, speeds, to_target
from tests.journal.builders import TARGET, put
from tests.report.journals import Memory

times = st.lists(st.floats(0.01, 1e5), min_size=2, max_size=8)


@given(times, times)
def test_a_ratio_turned_round_is_its_inverse(a: list[float], b: list[float]) -> None:
    one, other = ratio(estimate(a), estimate(b)), ratio(estimate(b), estimate(a))
    assert one.mean is not None and one.low is not None and one.high is not None
    assert other.mean is not None and other.low is not None and other.high is not None
    assume(math.isfinite(one.high) and one.low > 0)
    assert one.low <= one.mean * (1 + 1e-9) and one.mean <= one.high * (1 + 1e-9)
    assert one.mean * other.mean == pytest.approx(1)
    assert other.low * one.high == pytest.approx(1)


@given(times, st.floats(0.01, 100))
def test_a_change_of_unit_changes_no_ratio(a: list[float], unit: float) -> None:
    found = ratio(estimate(a), estimate([value * unit for value in a]))
    assert found.mean == pytest.approx(unit)


def test_intervals_are_those_of_the_textbook() -> None:
    old, new = [20.0, 22.0, 21.0], [40.0, 46.0, 44.0, 41.0]
    logs = [[math.log(value) for value in side] for side in (old, new)]
    wanted = stats.ttest_ind(logs[1], logs[0], equal_var=False).confidence_interval(0.95)
    found = ratio(estimate(old), estimate(new))
    assert found.low == pytest.approx(math.exp(wanted.low))
    assert found.high == pytest.approx(math.exp(wanted.high))
    alone = stats.ttest_1samp(logs[0], 0.0).confidence_interval(0.95)
    assert estimate(old).low == pytest.approx(math.exp(alone.low))
    assert estimate(old).high == pytest.approx(math.exp(alone.high))


def test_one_run_gives_no_interval_and_says_so() -> None:
    single = estimate([5.0])
    assert single.mean == pytest.approx(5.0)
    assert single.low is None
    assert "no interval" in single.note
    found = ratio(single, estimate([10.0, 10.5]))
    assert found.mean == pytest.approx(math.sqrt(10.0 * 10.5) / 5)
    assert (found.low, found.note) == (None, "no interval: 1 run of the reference")
    assert ratio(Estimate(values=[], mean=None), single).mean is None


@given(times, st.integers(1, 8), st.integers(0, 4))
def test_dollars_to_the_target_grow_with_the_runs_that_miss_it(
    usd: list[float], reached: int, missed: int
) -> None:
    run = estimate(usd)
    found = to_target(run, (reached, reached + missed))
    assert found is not None and run.mean is not None and found.mean is not None
    assert found.mean == pytest.approx(run.mean * (reached + missed) / reached)
    assert found.low is not None and found.high is not None
    assert found.low <= found.mean * (1 + 1e-9) and found.mean <= found.high * (1 + 1e-9)


def test_a_target_quality_that_no_run_reached_has_no_price() -> None:
    found = to_target(estimate([1.0, 1.1]), (0, 2))
    assert found is not None and (found.mean, found.note) == (None, "none of 2 runs reached it")
    assert to_target(None, (2, 2)) is None
    assert to_target(estimate([1.0]), (0, 0)) is None


def trainings(*walls: tuple[str, str, float, Outcome], price: float | None = 3.6) -> Memory:
    journal = Memory()
    put(journal, MigrationStarted, targets=[TARGET.model_copy(update={"usd_per_hour": price})])
    fields = {"key": "k", "cached": False, "hardware": "CPU", "chips": 4, "metric": "m", "values": [1.0, 1.0]}
    detail = {"runs_s": [10.0, 12.0]}
    put(journal, ReferenceMeasured, **fields, seeds=[1, 2], wall_s=30.0, samples_per_s=100.0, detail=detail)
    for number, (by, purpose, wall, outcome) in enumerate(walls):
        put(journal, AttemptStarted, attempt=f"a{number}", by=by, purpose=purpose)
        gate = GateResult(
            gate="performance",
            target="xla",
            verdict=Verdict.PASS,
            summary="",
            evidence={"samples_per_s": 50.0 + number},
        )
        put(journal, AttemptFinished, attempt=f"a{number}", wall_s=wall, outcome=outcome, gates=[gate])
    return journal


def test_only_whole_trainings_of_the_newest_claim_count() -> None:
    ok, loud, infra = Outcome.OK, Outcome.LOUD, Outcome.INFRA
    journal = trainings(
        ("verifier", "claim-1: training 1 (seed 1)", 99.0, ok),
        ("agent", "training", 1.0, ok),
        ("verifier", "claim-2: semantics", 1.0, ok),
        ("verifier", "claim-2: training 1 (seed 2)", 20.0, ok),
        ("verifier", "claim-2: training 2 (seed 3)", 1.0, infra),
        ("verifier", "claim-2: training 2 (seed 3), try 2", 22.0, ok),
        ("verifier", "claim-2: training 3 (seed 4)", 2.0, loud),
    )
    (view,) = speeds(fold(journal.events))
    assert view.claim == "claim-2"
    assert view.candidate.seconds.values == [20.0, 22.0]
    assert view.candidate.samples_per_s.values == [53.0, 55.0]
    assert view.candidate.usd is not None and view.candidate.usd.values == pytest.approx([0.020, 0.022])
    assert view.reference.seconds.values == [10.0, 12.0]
    assert view.ratios["seconds"].mean == pytest.approx(math.sqrt(20 * 22 / 120))
    assert view.ratios["samples_per_s"].note == "no interval: 1 run of the reference"
    assert "EMULATED: xla ran on a CPU" in remark([view])


def test_without_a_price_there_are_no_dollars() -> None:
    (view,) = speeds(fold(trainings(("verifier", "claim-1: training 1", 9.0, Outcome.OK), price=None).events))
    assert view.candidate.usd is None
    assert "usd" not in view.ratios


def test_an_older_journal_has_the_reference_s_mean_alone() -> None:
    journal = trainings(("verifier", "claim-1: training 1", 9.0, Outcome.OK))
    measured = journal.events[1].model_copy(update={"detail": {"run_s": 11.0}})
    (view,) = speeds(fold([journal.events[0], measured, *journal.events[2:]]))
    assert view.reference.seconds.mean == 11.0
    assert view.ratios["seconds"].mean == pytest.approx(9 / 11)
    assert view.ratios["seconds"].note == "no interval: only a mean of the reference and 1 run of the target"


def test_nothing_to_compare_gives_nothing() -> None:
    assert speeds(fold(trainings().events)) == []
    assert remark([]) == ""
