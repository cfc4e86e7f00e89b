import math

import pytest
from hypothesis import given

from agentmig.study.facts import Migration
from agentmig.study.model import SpeedRow
from agentmig.study.speed import speed, speed_by_migration
from tests.study.migrations import EMULATED, FEWER, REAL, migration, studies, trainings

XLA = REAL.model_copy(update={"backend": "torch_tpu", "usd_per_hour": 3.6})


def _means(migrations: list[Migration]) -> dict[tuple[str, str, str], SpeedRow]:
    rows = speed(speed_by_migration(migrations).rows).rows
    return {(row.targets, row.backend, row.measure): row for row in rows}


def test_a_pair_by_hand() -> None:
    # Geometric means 20 and 10; a target that costs twice as much an hour; 50 samples/s against 100.
    pair = trainings([10, 40], [5, 20], XLA, target_rates=(25.0, 100.0))
    (row,) = speed_by_migration([migration("r1", project="p", trainings=(pair,))]).rows
    assert (row.run, row.project, row.targets, row.backend) == ("r1", "p", "real", "torch_tpu")
    assert (row.reference_runs, row.target_runs) == (2, 2)
    assert [row.reference_s, row.target_s] == pytest.approx([20, 10])
    assert row.seconds_ratio.value == pytest.approx(0.5)
    assert row.samples_per_s_ratio == pytest.approx(0.5)
    assert [row.reference_usd, row.target_usd] == pytest.approx([0.01, 0.01])
    assert row.usd_ratio.value == pytest.approx(1)
    # Logarithms ln 2 apart to both sides: each variance 2 ln(2)^2 and 2 runs, so Welch's freedom is 2.
    reach = 4.302653 * math.sqrt(2) * math.log(2)
    assert row.seconds_ratio.low == pytest.approx(0.5 * math.exp(-reach))
    assert row.usd_ratio.high == pytest.approx(math.exp(reach))


def test_what_was_not_measured_has_no_ratio() -> None:
    free = trainings([1], [2], REAL.model_copy(update={"usd_per_hour": None}), reference_rate=None)
    missing = trainings([], [2], reference_usd_per_hour=None)
    first, second = speed_by_migration([migration(trainings=(free, missing))]).rows
    assert (first.usd_ratio.value, first.usd_ratio.note, first.target_usd) == (
        None,
        "no price on one side",
        None,
    )
    assert first.samples_per_s_ratio is None
    assert (second.seconds_ratio.value, second.reference_s) == (None, None)
    assert second.usd_ratio.value is None


def test_means_are_geometric_by_backend() -> None:
    migrations = [
        migration("r1", trainings=(trainings([10], [5], XLA),)),
        migration("r2", trainings=(trainings([10], [20], XLA), trainings([10], [30]))),
    ]
    means = _means(migrations)
    assert means["real", "torch_tpu", "seconds"].ratio.value == pytest.approx(1)
    assert means["real", "xla", "seconds"].ratio.value == pytest.approx(3)
    row = means["real", "torch_tpu", "seconds"]
    assert (row.pairs, row.projects) == (2, 2)
    assert row.ratio.note.startswith("n too small")


def test_emulated_targets_stand_in_rows_of_their_own() -> None:
    real = migration("r1", trainings=(trainings([10], [5]),))
    stand_in = migration("r2", trainings=(trainings([10], [500], EMULATED),))
    means = _means([real, stand_in])
    assert means["real", "xla", "seconds"].ratio.value == pytest.approx(0.5)
    assert means["EMULATED", "xla", "seconds"].ratio.value == pytest.approx(50)
    assert _means([real])["real", "xla", "seconds"] == means["real", "xla", "seconds"]


@FEWER
@given(studies())
def test_no_emulated_target_moves_a_real_mean(migrations: list[Migration]) -> None:
    pairs = speed_by_migration(migrations).rows
    real = [row for row in speed(pairs).rows if row.targets == "real"]
    assert real == speed([pair for pair in pairs if pair.targets == "real"]).rows
    for row in speed(pairs).rows:
        assert row.ratio.value is not None
        assert 0 < row.ratio.value < math.inf
