"""How often the study's 95% intervals hold the truth, in simulated studies; `python -m tests.study.coverage` prints it.

Shares: each project has its own share (beta, with the given correlation within a project) and its own number of
attempts (negative binomial, 7 on average). Means: one positive figure for each project.
"""

from collections.abc import Callable

import numpy as np
from scipy import stats

from agentmig.study.statistics import Floats, geometric_mean, korn_graubard, median, ratio

Draw = Callable[[np.random.Generator, int], Floats]

FIGURES: dict[str, tuple[Draw, float]] = {
    "counts, Poisson, mean 2.4": (lambda rng, n: rng.poisson(2.4, n).astype(float), 2.4),
    "counts, negative binomial, mean 2.4, variance 6.2": (
        lambda rng, n: rng.negative_binomial(1.5, 1.5 / 3.9, n).astype(float),
        2.4,
    ),
    "cost, lognormal, sigma 0.8": (lambda rng, n: rng.lognormal(0, 0.8, n), float(np.exp(0.32))),
    "cost, lognormal, sigma 1.2": (lambda rng, n: rng.lognormal(0, 1.2, n), float(np.exp(0.72))),
}


def studies(
    rng: np.random.Generator, runs: int, projects: int, share: float, correlation: float
) -> tuple[Floats, Floats]:
    """Failures and attempts, each of shape (runs, projects)."""
    trials = 1 + rng.negative_binomial(3, 3 / 9, (runs, projects))
    own = np.full(trials.shape, share)
    if correlation > 0:
        scale = (1 - correlation) / correlation
        own = rng.beta(share * scale, (1 - share) * scale, trials.shape)
    return rng.binomial(trials, own).astype(float), trials.astype(float)


def shares(projects: int, share: float, correlation: float, runs: int = 10_000) -> float:
    """Coverage of Korn and Graubard's interval."""
    rng = np.random.default_rng(1)
    low, high = korn_graubard(*studies(rng, runs, projects, share, correlation))
    return float(np.mean((low <= share) & (share <= high)))


def shares_by_bootstrap(projects: int, share: float, correlation: float, runs: int = 1_000) -> float:
    """Coverage of the percentile bootstrap over projects, for comparison."""
    rng = np.random.default_rng(1)
    held = 0
    for events, trials in zip(*studies(rng, runs, projects, share, correlation), strict=True):
        drawn = rng.integers(0, projects, (999, projects))
        low, high = np.quantile(events[drawn].sum(axis=1) / trials[drawn].sum(axis=1), [0.025, 0.975])
        held += low <= share <= high
    return held / runs


def means(projects: int, figure: str, runs: int = 2_000) -> tuple[float, float]:
    """Coverage of the interval on logarithms, and of Student's, for a mean of one figure for each project."""
    rng = np.random.default_rng(2)
    draw, truth = FIGURES[figure]
    ours = students = 0
    for _ in range(runs):
        values = draw(rng, projects)
        found = ratio(values.tolist(), [1.0] * projects, projects)
        ours += found.low is not None and found.high is not None and found.low <= truth <= found.high
        reach = stats.t.isf(0.025, projects - 1) * values.std(ddof=1) / projects**0.5
        students += abs(values.mean() - truth) <= reach
    return ours / runs, students / runs


def successes(projects: int, accepted: float, runs: int = 2_000) -> float:
    """Coverage for dollars for each success: lognormal costs, successes by chance; studies without one are left out."""
    rng = np.random.default_rng(3)
    draw, mean = FIGURES["cost, lognormal, sigma 0.8"]
    held = seen = 0
    while seen < runs:
        good = rng.binomial(1, accepted, projects)
        if good.any():
            found = ratio(draw(rng, projects).tolist(), good.tolist(), projects)
            seen += 1
            held += (
                found.low is not None
                and found.high is not None
                and found.low <= mean / accepted <= found.high
            )
    return held / runs


def medians(n: int, runs: int = 4_000) -> float:
    """Coverage for the median of lognormal figures."""
    rng = np.random.default_rng(4)
    found = [median(rng.lognormal(0, 1.2, n).tolist(), n) for _ in range(runs)]
    return sum(e.low is not None and e.high is not None and e.low <= 1 <= e.high for e in found) / runs


def geometric(projects: int, runs: int = 2_000) -> float:
    """Coverage for geometric means of two correlated ratios for each project."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(runs):
        own = rng.normal(0, 0.3, projects)[:, None] + rng.normal(0, 0.2, (projects, 2))
        names = [str(index // 2) for index in range(2 * projects)]
        found = geometric_mean(np.exp(own).ravel().tolist(), names)
        held += found.low is not None and found.high is not None and found.low <= 1 <= found.high
    return held / runs


def main() -> None:
    """Print the tables of `docs/study.md`."""
    print("| projects | share | correlation | Korn-Graubard | bootstrap |\n| --: | --: | --: | --: | --: |")
    for projects in (5, 10, 30):
        for share in (0.5, 0.76, 0.95):
            for correlation in (0.0, 0.1, 0.3):
                ours, other = (
                    f"{100 * method(projects, share, correlation):.1f}%"
                    for method in (shares, shares_by_bootstrap)
                )
                print(f"| {projects} | {share:.0%} | {correlation} | {ours} | {other} |", flush=True)
    print("\n| figure | projects | on logarithms | Student's t |\n| :-- | --: | --: | --: |")
    for figure in FIGURES:
        for projects in (5, 10, 30):
            ours, other = (f"{100 * value:.1f}%" for value in means(projects, figure))
            print(f"| {figure} | {projects} | {ours} | {other} |", flush=True)
    for projects in (5, 10, 30):
        cells = ", ".join(f"{100 * successes(projects, accepted):.1f}%" for accepted in (0.4, 0.8))
        print(f"cost of a success, {projects} projects, 40% and 80% accepted: {cells}")
    for n in (6, 10, 30):
        print(f"median of {n}: {100 * medians(n):.1f}%")
    for projects in (5, 10, 30):
        print(f"geometric mean over {projects} projects: {100 * geometric(projects):.1f}%")


if __name__ == "__main__":
    main()
