import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from agentmig.verification.statistics import SampleError, claim_alpha, compare, nominal_alpha, runs_needed

VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 6)), min_size=2, max_size=8)
OLD = [0.960, 0.961, 0.957, 0.963, 0.959]


def test_agrees_with_scipys_welch_test() -> None:
    new = [0.955, 0.958, 0.951]
    seen = compare(OLD, new, 0.01, "maximize", 0.02)
    shifted = [value + 0.01 for value in new]
    expected = stats.ttest_ind(shifted, OLD, equal_var=False, alternative="greater")
    assert seen.p_not_worse == pytest.approx(expected.pvalue)
    assert seen.freedom == pytest.approx(expected.df)
    assert seen.p_worse == pytest.approx(1 - expected.pvalue)
    interval = stats.ttest_ind(new, OLD, equal_var=False).confidence_interval(1 - 2 * 0.02)
    assert (seen.low, seen.high) == pytest.approx((interval.low, interval.high))


@given(VALUES, VALUES, st.floats(1e-3, 10), st.floats(0.001, 0.2))
def test_the_two_directions_mirror_each_other(
    old: list[float], new: list[float], margin: float, alpha: float
) -> None:
    up = compare(old, new, margin, "maximize", alpha)
    down = compare([-v for v in old], [-v for v in new], margin, "minimize", alpha)
    assert up.difference == pytest.approx(down.difference)
    assert up.p_not_worse == pytest.approx(down.p_not_worse, abs=1e-9)


@given(VALUES, VALUES, st.floats(1e-3, 10), st.floats(0.001, 0.2))
def test_p_interval_and_margin_tell_one_story(
    old: list[float], new: list[float], margin: float, alpha: float
) -> None:
    seen = compare(old, new, margin, "maximize", alpha)
    assert 0 <= seen.p_not_worse <= 1 and seen.p_not_worse + seen.p_worse == pytest.approx(1)
    assert seen.low <= seen.difference <= seen.high
    assume(abs(seen.low + margin) > 1e-9 * max(1.0, abs(seen.low)))
    assert (seen.p_not_worse <= alpha) == (seen.low > -margin)
    assert (seen.p_not_worse <= alpha) == (seen.smallest_margin < margin)


@given(VALUES, VALUES, st.floats(1e-3, 10), st.floats(1e-3, 100))
def test_a_better_candidate_is_never_less_sure(
    old: list[float], new: list[float], margin: float, gain: float
) -> None:
    before = compare(old, new, margin, "maximize", 0.05)
    after = compare(old, [value + gain for value in new], margin, "maximize", 0.05)
    assert after.p_not_worse <= before.p_not_worse + 1e-6


@pytest.mark.parametrize(("new", "passes"), [(0.96, True), (0.951, True), (0.949, False)])
def test_without_variance_the_difference_is_exact(new: float, passes: bool) -> None:
    seen = compare([0.96] * 5, [new] * 3, 0.01, "maximize", 0.02)
    assert (seen.p_not_worse <= 0.02) is passes
    assert (seen.p_worse <= 0.02) is not passes
    assert math.isinf(seen.freedom) and seen.low == seen.high == seen.difference


def test_equal_values_do_not_vary_however_their_mean_is_rounded() -> None:
    assert float(np.std([0.1] * 3, ddof=1)) > 0
    assert math.isinf(compare([0.1] * 3, [0.7] * 3, 0.01, "maximize", 0.02).freedom)


def test_one_side_without_variance_uses_the_others() -> None:
    seen = compare(OLD, [0.96, 0.96, 0.96], 0.01, "maximize", 0.02)
    assert seen.freedom == pytest.approx(4)
    assert 0 < seen.p_not_worse < 0.02


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (OLD, [0.9, float("nan"), 0.9], "candidate isn't a finite number in every run: 0.9, nan, 0.9"),
        ([0.9, float("inf")], [0.9, 0.9], "reference isn't a finite number"),
        (OLD, [0.9], "the candidate has 1 values"),
    ],
)
def test_values_that_cannot_be_tested(old: list[float], new: list[float], words: str) -> None:
    with pytest.raises(SampleError, match=words):
        compare(old, new, 0.01, "maximize", 0.05)


def test_nominal_alpha_is_pococks() -> None:
    # One-sided critical values 1.875 and 1.992 for two and three equal steps; and the looks that are the default.
    assert nominal_alpha((1, 2), 0.05) == pytest.approx(stats.norm.sf(1.875), abs=1e-4)
    assert nominal_alpha((1, 2, 3), 0.05) == pytest.approx(stats.norm.sf(1.992), abs=1e-4)
    assert nominal_alpha((3, 5, 8), 0.05) == pytest.approx(0.022, abs=2e-3)
    assert nominal_alpha((5,), 0.05) == 0.05
    assert nominal_alpha((3, 5), 0.0) == 0.0


@settings(max_examples=20)
@given(st.lists(st.integers(3, 30), min_size=2, max_size=4, unique=True), st.floats(0.002, 0.1))
def test_nominal_alpha_lies_between_bonferroni_and_one_look(looks: list[int], alpha: float) -> None:
    level = nominal_alpha(tuple(sorted(looks)), alpha)
    assert alpha / len(looks) * 0.98 <= level <= alpha


@pytest.mark.parametrize("looks", [(), (5, 3), (3, 3), (0, 3)])
def test_looks_must_rise(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rising"):
        nominal_alpha(looks, 0.05)


@given(st.floats(0.001, 0.2), st.integers(1, 30))
def test_claims_never_spend_more_than_alpha(alpha: float, claims: int) -> None:
    shares = [claim_alpha(alpha, claims, number) for number in range(1, claims + 5)]
    assert sum(shares) == pytest.approx(alpha)
    assert all(share > 0 for share in shares[:claims]) and not any(shares[claims:])
    assert shares == sorted(shares, reverse=True)


def test_claims_are_numbered_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        claim_alpha(0.05, 4, 0)


def test_the_whole_migration_accepts_a_worse_candidate_in_at_most_alpha_of_all_cases() -> None:
    """Claims are new code each, worse by just the margin, all tested against one reference."""
    alpha, claims, looks, margin, trials = 0.05, 4, (3, 5, 8), 1.0, 20000
    rng = np.random.default_rng(20260101)
    reference = rng.normal(0.0, 1.0, (trials, 5))
    accepted = np.zeros(trials, bool)
    for number in range(1, claims + 1):
        level = nominal_alpha(looks, claim_alpha(alpha, claims, number))
        candidate = rng.normal(-margin, 1.0, (trials, looks[-1]))
        for look in looks:
            seen = candidate[:, :look]
            test = stats.ttest_ind(seen + margin, reference, axis=1, equal_var=False, alternative="greater")
            accepted |= test.pvalue <= level
    assert 0.015 < accepted.mean() <= alpha


def test_runs_needed_keeps_its_promise() -> None:
    new = [0.950, 0.964, 0.957]
    level = nominal_alpha((3, 5, 8), 0.05)
    assert compare(OLD, new, 0.012, "maximize", level).p_not_worse > level
    needed = runs_needed(OLD, new, 0.012, "maximize", level)
    assert needed is not None and needed > 3
    rng = np.random.default_rng(5)
    spread = float(np.std(new, ddof=1))
    shown = [
        compare(OLD, list(rng.normal(np.mean(new), spread, needed)), 0.012, "maximize", level).p_not_worse
        <= level
        for _ in range(300)
    ]
    assert 0.65 < np.mean(shown) < 0.95


def test_no_number_of_runs_shows_what_is_not_so() -> None:
    assert runs_needed(OLD, [0.94, 0.945, 0.95], 0.01, "maximize", 0.02) is None
    wide = [0.90, 0.99, 0.93, 1.0, 0.95]
    assert runs_needed(wide, [0.95, 0.95, 0.96], 0.005, "maximize", 0.02) is None
    assert runs_needed([0.9] * 5, [0.9] * 3, 0.01, "maximize", 0.02) == 3
