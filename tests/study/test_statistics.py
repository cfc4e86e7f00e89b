import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from agentmig.study.model import Estimate
from agentmig.study.statistics import (
    CLUSTERED,
    EXACT,
    MEDIAN,
    WELCH,
    clustered_share,
    clustered_shares,
    exact_share,
    geometric_mean,
    median,
    ratio,
    ratio_of_runs,
)
from agentmig.verification.statistics import compare
from tests.study import coverage


def bounds(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def test_the_exact_interval_is_clopper_and_pearsons() -> None:
    eight = exact_share(8, 10)
    assert (eight.value, eight.n, eight.method) == (0.8, 10, EXACT)
    assert bounds(eight) == pytest.approx((0.4439, 0.9748), abs=5e-5)  # as tables of it print
    assert bounds(exact_share(0, 59))[1] == pytest.approx(1 - 0.025 ** (1 / 59))


def test_nothing_to_count_is_no_share() -> None:
    assert exact_share(0, 0).value is None
    assert clustered_share([], []).value is None
    assert clustered_share([0, 0], [0, 0]).value is None


def test_a_clustered_share_by_hand() -> None:
    # 30 of 50. Residuals x - 0.6 n: 3, -1, 2, -4, 0; their squares add up to 30.
    # Variance 5/4 * 30 / 2500 = 0.015; 0.24 / 0.015 = 16 effective observations,
    # lowered by (t(49) / t(4))^2 = (2.009575 / 2.776445)^2 = 0.523879 to 8.382.
    low, high = bounds(clustered_share([9, 5, 8, 2, 6], [10] * 5))
    effective = 16 * 0.523879
    hits = 0.6 * effective
    assert special.betainc(hits, effective - hits + 1, low) == pytest.approx(0.025, abs=1e-6)
    assert special.betainc(hits + 1, effective - hits, high) == pytest.approx(0.975, abs=1e-6)


def test_fewer_than_five_projects_give_no_interval() -> None:
    few = clustered_share([9, 5, 8, 2, 0], [10, 10, 10, 10, 0])
    assert (few.value, few.low) == (0.6, None)
    assert few.note == "n too small for an interval (4 projects, 5 needed)"


def test_one_observation_for_each_project_is_the_exact_interval() -> None:
    assert clustered_share([1, 0, 1], [1, 1, 1]) == exact_share(2, 3)


def test_shares_of_none_and_all_count_each_project_once() -> None:
    none, everything = clustered_shares(np.asarray([[0.0] * 6, [5.0] * 6]), np.asarray([5.0] * 6))
    assert bounds(none) == pytest.approx((0.0, 1 - 0.025 ** (1 / 6)))
    assert bounds(everything) == pytest.approx((0.025 ** (1 / 6), 1.0))
    assert (none.n, none.clusters, none.method) == (30, 6, CLUSTERED)


def test_projects_that_are_all_alike_are_no_better_than_independent_attempts() -> None:
    alike = clustered_share([3] * 10, [5] * 10)
    assert bounds(alike) == pytest.approx(bounds(exact_share(30, 50)))


def test_attempts_that_go_together_widen_the_interval() -> None:
    apart = clustered_share([10, 10, 10, 0, 0, 0], [10] * 6)
    low, high = bounds(apart)
    exact_low, exact_high = bounds(exact_share(30, 60))
    assert low < exact_low
    assert high > exact_high


@given(
    st.lists(st.integers(1, 9), min_size=5, max_size=12).flatmap(
        lambda trials: st.tuples(st.just(trials), st.tuples(*(st.integers(0, n) for n in trials)))
    )
)
def test_an_interval_of_a_share_holds_it_and_mirrors(counts: tuple[list[int], tuple[int, ...]]) -> None:
    trials, events = counts
    share = clustered_share(events, trials)
    low, high = bounds(share)
    value = sum(events) / sum(trials)
    assert share.value == pytest.approx(value)
    assert 0 <= low <= value + 1e-12 <= high + 2e-12 <= 1 + 3e-12
    mirrored = clustered_share([n - x for n, x in zip(trials, events, strict=True)], trials)
    assert bounds(mirrored) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(
    ("projects", "share", "correlation"), [(5, 0.76, 0.3), (10, 0.76, 0.1), (30, 0.5, 0.0)]
)
def test_shares_cover(projects: int, share: float, correlation: float) -> None:
    assert 0.94 <= coverage.shares(projects, share, correlation) <= 0.99


def test_a_bootstrap_over_ten_projects_covers_less() -> None:
    assert coverage.shares_by_bootstrap(10, 0.76, 0.1, runs=400) < 0.92


@pytest.mark.parametrize("projects", [5, 10])
def test_means_of_counts_cover(projects: int) -> None:
    ours, _ = coverage.means(projects, "counts, Poisson, mean 2.4", runs=1_000)
    assert 0.93 <= ours <= 0.98


def test_means_of_skewed_costs_cover_less_and_better_than_students() -> None:
    ours, students = coverage.means(10, "cost, lognormal, sigma 0.8", runs=1_000)
    assert students < ours
    assert 0.89 <= ours <= 0.95


def test_costs_of_a_success_cover() -> None:
    assert 0.91 <= coverage.successes(10, 0.8, runs=1_000) <= 0.97


def test_medians_and_geometric_means_cover() -> None:
    assert 0.95 <= coverage.medians(10, runs=1_000) <= 0.995
    assert 0.93 <= coverage.geometric(10, runs=1_000) <= 0.97


def test_a_mean_by_hand() -> None:
    # Mean 3; residuals -2, -1, 0, 1, 2: s^2 = 2.5, standard error sqrt(2.5 / 5) = 0.707107, t(4) = 2.776445.
    mean = ratio([1, 2, 3, 4, 5], [1] * 5, 5)
    reach = 2.776445 * math.sqrt(0.5) / 3
    assert mean.value == 3
    assert bounds(mean) == pytest.approx((3 * math.exp(-reach), 3 * math.exp(reach)))


def test_a_ratio_is_of_sums_over_projects() -> None:
    # Projects with two migrations weigh twice: 12 / 8.
    assert ratio([1, 2, 3, 4, 2], [2, 1, 2, 2, 1], 8).value == 1.5


@pytest.mark.parametrize(
    ("above", "below", "value", "note"),
    [
        ([], [], None, "nothing to divide by"),
        ([1.0] * 5, [0.0] * 5, None, "nothing to divide by"),
        ([0.0] * 5, [1.0] * 5, 0, "none seen: no interval"),
        ([1.0] * 4, [1.0] * 4, 1, "n too small for an interval (4 projects, 5 needed)"),
        ([1.0], [1.0], 1, "n too small for an interval (1 project, 5 needed)"),
    ],
)
def test_where_a_ratio_has_no_interval(
    above: list[float], below: list[float], value: float | None, note: str
) -> None:
    found = ratio(above, below, len(above))
    assert (found.value, found.note, found.low, found.method) == (value, note, None, "")


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
def test_an_interval_of_a_mean_holds_it_and_stays_positive(values: list[float]) -> None:
    mean = ratio(values, [1.0] * len(values), len(values))
    if mean.low is not None and mean.high is not None and mean.value is not None:
        assert 0 < mean.low <= mean.value <= mean.high < math.inf
    else:
        assert mean.note


def test_the_interval_of_a_median_is_of_order_statistics() -> None:
    # P(at most 1 of 10 below) = 11 / 1024 = 1.07%, P(at most 2) = 5.5%: the 2nd and the 9th.
    found = median([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 10)
    assert (found.value, found.low, found.high, found.method) == (5.5, 2, 9, MEDIAN)


def test_six_are_the_fewest_for_an_interval_of_a_median() -> None:
    assert bounds(median([1, 2, 3, 4, 5, 6], 6)) == (1, 6)
    five = median([1, 2, 3, 4, 5], 5)
    assert (five.value, five.low) == (3, None)
    assert five.note == "n too small for an interval of the median (5 migrations, 6 needed)"


def test_migrations_of_one_project_give_the_median_no_interval() -> None:
    assert median([1.0] * 9, 8).note == "no interval for the median: several migrations of one project"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_an_interval_of_a_median_holds_it_and_its_ends_are_values(values: list[float]) -> None:
    found = median(values, len(values))
    if len(values) >= 6:
        low, high = bounds(found)
        assert found.value is not None
        assert low <= found.value <= high
        assert {low, high} <= set(values)
    else:
        assert found.low is None


def test_a_geometric_mean_by_hand() -> None:
    found = geometric_mean([0.5, 2.0, 1.0, 1.0, 1.0], list("abcde"))
    # Logarithms -L, L, 0, 0, 0 with L = ln 2: s^2 = L^2 / 2, standard error L / sqrt(10).
    assert found.value == pytest.approx(1)
    assert bounds(found)[1] == pytest.approx(2 ** (2.776445 / math.sqrt(10)), rel=1e-6)
    assert geometric_mean([0.5, 2.0], ["a", "a"]).note.startswith("n too small")
    assert geometric_mean([], []).value is None


def test_a_ratio_of_runs_is_what_the_report_of_one_run_says() -> None:
    reference, target = [20.0, 21.0, 22.0], [40.0, 43.0]
    seen = compare([math.log(v) for v in reference], [math.log(v) for v in target], 1, "maximize", 0.025)
    found = ratio_of_runs(reference, target)
    assert bounds(found) == pytest.approx((math.exp(seen.low), math.exp(seen.high)))
    assert (found.n, found.method) == (5, WELCH)


@pytest.mark.parametrize(
    ("reference", "target", "value", "note"),
    [
        ([], [1.0], None, "one side was not measured"),
        ([2.0], [1.0, 1.0], 0.5, "n too small for an interval (one run on a side)"),
        ([2.0, 2.0], [1.0, 1.0], 0.5, "the runs don't differ: no interval"),
        ([1e-9, 1e9], [1.0, 1.0], 1.0, "too scattered for an interval"),
    ],
)
def test_where_a_ratio_of_runs_has_no_interval(
    reference: list[float], target: list[float], value: float | None, note: str
) -> None:
    found = ratio_of_runs(reference, target)
    assert found.value == pytest.approx(value)
    assert (found.note, found.low) == (note, None)
