"""The arithmetic of "as good as before": a sequential test of non-inferiority.

H0 says that the candidate is worse than the reference by at least the margin. At each look Welch's one-sided t-test
compares the two samples; the looks share one error rate with Pocock's method (the same nominal level at each, Pocock
1977, doi:10.1093/biomet/64.2.191), computed here from the correlation of the looks. The claims of one migration are
looks too, with different code: by Bonferroni, each gets a share of alpha that nobody gets back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import optimize, stats

from agentmig.errors import AgentmigError

Direction = Literal["maximize", "minimize"]

_POWER = 0.8
_MOST_RUNS = 256


class SampleError(AgentmigError):
    """The values can't be tested."""


@dataclass(frozen=True)
class Comparison:
    """Two samples compared; differences are positive where the candidate is better.

    Attributes:
        difference: mean of the candidate minus mean of the reference, turned so that more is better.
        standard_error: of the difference.
        freedom: Welch's degrees of freedom; infinite where neither sample varies.
        p_not_worse: chance of a difference so high if the candidate were worse by just the margin.
        p_worse: chance of a difference so low if the candidate were worse by just the margin.
        low: lower one-sided confidence bound of the difference at the level that was asked for.
        high: upper one-sided bound at the same level.
    """

    difference: float
    standard_error: float
    freedom: float
    p_not_worse: float
    p_worse: float
    low: float
    high: float
    alpha: float

    @property
    def smallest_margin(self) -> float:
        """The smallest margin that these data would support at this level; 0 where the candidate is plainly better."""
        return max(0.0, -self.low)


def compare(
    reference: Sequence[float], candidate: Sequence[float], margin: float, direction: Direction, alpha: float
) -> Comparison:
    """Test whether the candidate is worse than the reference by at least `margin` (Welch, one-sided, both ways).

    Where neither sample varies the difference is taken for exact; whether identical values of several seeds are
    believable is for the caller to ask.

    Args:
        reference: the metric of the reference's runs; at least 2.
        candidate: the metric of the candidate's runs; at least 2.
        margin: in the metric's unit, positive.
        direction: which way is better.
        alpha: nominal level of each one-sided test.

    Raises:
        SampleError: fewer than two values on a side, or a value that isn't finite.
    """
    sides = {"reference": np.asarray(reference, float), "candidate": np.asarray(candidate, float)}
    for name, values in sides.items():
        if values.size < 2:
            raise SampleError(
                f"the {name} has {values.size} values of the metric; a comparison needs at least 2 runs"
            )
        if not np.isfinite(values).all():
            shown = ", ".join(f"{value:g}" for value in values)
            raise SampleError(f"the metric of the {name} isn't a finite number in every run: {shown}")
    sign = 1.0 if direction == "maximize" else -1.0
    old, new = sides["reference"], sides["candidate"]
    difference = sign * float(new.mean() - old.mean())
    error, freedom = _welch(_spread(old), old.size, _spread(new), new.size)
    if error == 0.0:
        worse = difference <= -margin
        return Comparison(
            difference, 0.0, math.inf, float(worse), float(not worse), difference, difference, alpha
        )
    statistic = (difference + margin) / error
    reach = float(stats.t.isf(alpha, freedom)) * error
    return Comparison(
        difference,
        error,
        freedom,
        float(stats.t.sf(statistic, freedom)),
        float(stats.t.cdf(statistic, freedom)),
        difference - reach,
        difference + reach,
        alpha,
    )


def _spread(values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> float:
    """Standard deviation; exactly 0 for equal values, which rounding in the mean would hide."""
    return 0.0 if float(np.ptp(values)) == 0.0 else float(values.std(ddof=1))


def _welch(spread_a: float, count_a: int, spread_b: float, count_b: int) -> tuple[float, float]:
    """Standard error of the difference of two means, and Welch-Satterthwaite's degrees of freedom."""
    scale = max(spread_a, spread_b)
    if scale == 0.0:
        return 0.0, math.inf
    # Scaled, so that squares of very small or large spreads neither vanish nor overflow.
    part_a, part_b = (spread_a / scale) ** 2 / count_a, (spread_b / scale) ** 2 / count_b
    freedom = (part_a + part_b) ** 2 / (part_a**2 / (count_a - 1) + part_b**2 / (count_b - 1))
    return scale * math.sqrt(part_a + part_b), freedom


def claim_alpha(alpha: float, claims: int, number: int) -> float:
    """The share of alpha of one claim: half of what is left for each, all that is left for the last.

    The first claims, which most migrations need only, keep most of the power; the shares of all `claims` add up to
    alpha, whatever the outcomes.

    Args:
        alpha: for the whole migration.
        claims: over how many it is spread.
        number: of this claim among those whose goal was tested, from 1.

    Returns:
        The share; 0 after the last claim.
    """
    if number < 1:
        raise ValueError(f"claims are numbered from 1, not {number}")
    if number > claims:
        return 0.0
    return alpha * 0.5 ** min(number, claims - 1)


@lru_cache(maxsize=256)
def nominal_alpha(looks: tuple[int, ...], alpha: float) -> float:
    """Pocock's level for each look, so that all looks together accept a worse candidate with chance alpha.

    The test statistics of looks at n and m > n runs are taken to be normal with correlation sqrt(n/m). (The reference's
    runs, shared by all looks, only raise the correlation, which makes this level careful.)

    Args:
        looks: numbers of runs at which the test looks, rising.
        alpha: over all looks; 0 gives 0.
    """
    counts = np.asarray(looks, float)
    if counts.size == 0 or (np.diff(counts) <= 0).any() or counts[0] <= 0:
        raise ValueError(f"looks must be positive and rising, not {list(looks)}")
    if counts.size == 1 or alpha <= 0:
        return max(alpha, 0.0)
    correlation = np.sqrt(np.minimum.outer(counts, counts) / np.maximum.outer(counts, counts))

    def excess(level: float) -> float:
        bound = np.full(counts.size, stats.norm.isf(level))
        inside = stats.multivariate_normal(cov=correlation, seed=0).cdf(bound)
        return float(1.0 - inside - alpha)

    # Bonferroni is too careful, a single look too bold: the level lies between.
    return float(optimize.brentq(excess, alpha / counts.size * 0.99, alpha, xtol=alpha * 1e-5))


def runs_needed(
    reference: Sequence[float], candidate: Sequence[float], margin: float, direction: Direction, alpha: float
) -> int | None:
    """How many candidate runs would show non-inferiority (with a chance of 80%), were the samples typical.

    Args:
        reference: as for `compare`; its number of runs stays.
        candidate: the runs so far.
        margin: in the metric's unit.
        direction: which way is better.
        alpha: nominal level.

    Returns:
        The total number; None where no number up to 256 would do: the difference seen is at or beyond the margin, or the
        reference's own few runs leave too much open.
    """
    seen = compare(reference, candidate, margin, direction, alpha)
    room = seen.difference + margin
    if room <= 0:
        return None
    spread_old, spread_new = _spread(np.asarray(reference, float)), _spread(np.asarray(candidate, float))
    for count in range(max(2, len(candidate)), _MOST_RUNS + 1):
        error, freedom = _welch(spread_old, len(reference), spread_new, count)
        if error == 0.0:
            return count
        if room / error >= stats.t.isf(alpha, freedom) + stats.t.isf(1 - _POWER, freedom):
            return count
    return None
