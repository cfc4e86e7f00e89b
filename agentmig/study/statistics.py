"""Estimates with 95% intervals for data that come in clusters.

Attempts of one project are not independent, nor are migrations of one project, so projects are the clusters. Where
every project contributes one observation the intervals are those for independent data. `docs/study.md` names the source
of each method and the coverage that was measured; `tests/study/test_statistics.py` measures it again.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from agentmig.study.model import Estimate
from agentmig.study.text import counted
from agentmig.verification.statistics import compare

LEVEL = 0.95
FEWEST_PROJECTS = 5
"""With fewer clusters an interval says more about the method than about the data."""

EXACT = "Clopper-Pearson"
CLUSTERED = "Korn-Graubard, clustered by project"
RATIO = "delta method on the logarithm, clustered by project, t"
MEDIAN = "order statistics"
GEOMETRIC = "t on logarithms, clustered by project"
WELCH = "Welch's t on logarithms"

_TAIL = (1 - LEVEL) / 2
_WIDEST = math.log(1e6)
Floats = NDArray[np.float64]


def exact_share(count: int, total: int) -> Estimate:
    """A share of independent observations, with the exact binomial interval (Clopper and Pearson)."""
    if total == 0:
        return Estimate(value=None, n=0, note="nothing to count")
    interval = stats.binomtest(count, total).proportion_ci(LEVEL, method="exact")
    return Estimate(
        value=count / total, n=total, low=float(interval.low), high=float(interval.high), method=EXACT
    )


def clustered_share(events: Sequence[int], trials: Sequence[int]) -> Estimate:
    """A share of observations that come in clusters.

    Args:
        events: how many observations of each cluster are of the kind that is counted.
        trials: how many observations each cluster has; clusters without any are left out.
    """
    return clustered_shares(np.asarray([events], float), np.asarray(trials, float))[0]


def clustered_shares(events: Floats, trials: Floats) -> list[Estimate]:
    """Several shares over the same observations, each with an interval of its own.

    Args:
        events: of shape (shares, clusters).
        trials: of shape (clusters,).
    """
    events, trials = events[:, trials > 0], trials[trials > 0]
    total, clusters = int(trials.sum()), trials.size
    counts = events.sum(axis=1)
    if total == clusters:
        return [exact_share(int(count), total) for count in counts]
    shares = counts / total
    if clusters < FEWEST_PROJECTS:
        note = too_few(clusters)
        return [Estimate(value=float(share), n=total, clusters=clusters, note=note) for share in shares]
    low, high = korn_graubard(events, trials)
    return [
        Estimate(value=float(s), n=total, clusters=clusters, low=float(a), high=float(b), method=CLUSTERED)
        for s, a, b in zip(shares, low, high, strict=True)
    ]


def too_few(clusters: int) -> str:
    """Why there is no interval over so few clusters."""
    return f"n too small for an interval ({counted(clusters, 'project')}, {FEWEST_PROJECTS} needed)"


def korn_graubard(events: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """Clopper-Pearson's bounds at the effective number of observations (Korn and Graubard 1998).

    The variance is that of a ratio of cluster totals; the effective number is lowered for the few degrees of freedom of
    that variance, and is never more than the number of observations. A share of 0 or 1 shows no variance: there each
    cluster counts as one observation.

    Args:
        events: of shape (..., clusters).
        trials: positive, of a shape that broadcasts to that of `events`.

    Returns:
        Lower and upper bounds, of shape (...).
    """
    events, trials = np.broadcast_arrays(events, trials)
    clusters, total = events.shape[-1], trials.sum(axis=-1)
    share = events.sum(axis=-1) / total
    residuals = events - share[..., None] * trials
    variance = clusters / (clusters - 1) * (residuals**2).sum(axis=-1) / total**2
    freedom = (stats.t.isf(_TAIL, total - 1) / stats.t.isf(_TAIL, clusters - 1)) ** 2
    extreme = (share <= 0) | (share >= 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(extreme, clusters, np.minimum(share * (1 - share) / variance * freedom, total))
    hits = share * effective
    misses = effective - hits
    low = np.where(share <= 0, 0.0, stats.beta.ppf(_TAIL, np.where(share <= 0, 1, hits), misses + 1))
    high = np.where(share >= 1, 1.0, stats.beta.isf(_TAIL, hits + 1, np.where(share >= 1, 1, misses)))
    return low, high


def ratio(numerators: Sequence[float], denominators: Sequence[float], n: int) -> Estimate:
    """A ratio of sums over clusters: a mean, where the denominators are counts.

    The interval is symmetric for the logarithm, so that it stays positive.

    Args:
        numerators: a sum for each cluster; none is negative.
        denominators: the same.
        n: how many observations there are in all.
    """
    above, below = np.asarray(numerators, float), np.asarray(denominators, float)
    clusters, total = above.size, float(below.sum())
    if not total > 0:
        return Estimate(value=None, n=n, clusters=clusters, note="nothing to divide by")
    value = float(above.sum()) / total
    if not value > 0:
        return Estimate(value=value, n=n, clusters=clusters, note="none seen: no interval")
    if clusters < FEWEST_PROJECTS:
        return Estimate(value=value, n=n, clusters=clusters, note=too_few(clusters))
    reach = _reach(above - value * below) / total / value
    return _multiplied(value, reach, n, clusters, RATIO)


def median(values: Sequence[float], clusters: int) -> Estimate:
    """The median, with the interval between two order statistics that holds it with at least 95%.

    Args:
        values: one for each observation.
        clusters: how many projects they are of; with fewer than observations they aren't independent, and there is no
            interval.
    """
    if not values:
        return Estimate(value=None, n=0, clusters=clusters, note="nothing to count")
    middle, n = float(np.median(values)), len(values)
    if clusters < n:
        note = "no interval for the median: several migrations of one project"
        return Estimate(value=middle, n=n, clusters=clusters, note=note)
    # The largest k with P(fewer than k of n are below the median) <= 2.5%.
    rank = int(stats.binom.ppf(_TAIL, n, 0.5))
    if stats.binom.cdf(rank, n, 0.5) <= _TAIL:
        rank += 1
    if rank == 0:
        note = f"n too small for an interval of the median ({counted(n, 'migration')}, 6 needed)"
        return Estimate(value=middle, n=n, clusters=clusters, note=note)
    ranked = np.sort(np.asarray(values, float))
    low, high = float(ranked[rank - 1]), float(ranked[n - rank])
    return Estimate(value=middle, n=n, clusters=clusters, low=low, high=high, method=MEDIAN)


def geometric_mean(values: Sequence[float], clusters: Sequence[str]) -> Estimate:
    """The geometric mean of positive numbers.

    Args:
        values: the numbers.
        clusters: which project each is of.
    """
    if not values:
        return Estimate(value=None, n=0, note="nothing to count")
    logs = np.log(np.asarray(values, float))
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    counts = np.bincount(index)
    value, n, projects = math.exp(logs.mean()), logs.size, counts.size
    if projects < FEWEST_PROJECTS:
        return Estimate(value=value, n=n, clusters=projects, note=too_few(projects))
    reach = _reach(np.bincount(index, logs) - logs.mean() * counts) / n
    return _multiplied(value, reach, n, projects, GEOMETRIC)


def ratio_of_runs(reference: Sequence[float], target: Sequence[float]) -> Estimate:
    """The target's geometric mean over the reference's, of independent runs; Welch's interval.

    Args:
        reference: positive numbers, one for each run.
        target: the same.
    """
    n = len(reference) + len(target)
    if not reference or not target:
        return Estimate(value=None, n=n, note="one side was not measured")
    old, new = (np.log(np.asarray(side, float)) for side in (reference, target))
    middle = float(new.mean() - old.mean())
    if min(old.size, new.size) < 2:
        return Estimate(value=math.exp(middle), n=n, note="n too small for an interval (one run on a side)")
    # The verifier's own comparison of two samples; its margin plays no part in the bounds.
    seen = compare(old.tolist(), new.tolist(), 1.0, "maximize", _TAIL)
    if seen.standard_error == 0:
        return Estimate(value=math.exp(middle), n=n, note="the runs don't differ: no interval")
    return _multiplied(math.exp(middle), seen.high - seen.difference, n, None, WELCH)


def _reach(residuals: Floats) -> float:
    """Half the width of the interval of a sum, from each cluster's deviation."""
    clusters = residuals.size
    spread = math.sqrt(clusters / (clusters - 1) * float((residuals**2).sum()))
    return float(stats.t.isf(_TAIL, clusters - 1)) * spread


def _multiplied(value: float, reach: float, n: int, clusters: int | None, method: str) -> Estimate:
    """The interval that reaches equally far to both sides of the logarithm."""
    if reach > _WIDEST:
        return Estimate(value=value, n=n, clusters=clusters, note="too scattered for an interval")
    low, high = value * math.exp(-reach), value * math.exp(reach)
    return Estimate(value=value, n=n, clusters=clusters, low=low, high=high, method=method)
