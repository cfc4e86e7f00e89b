"""The goal metric: every seed as a point, the means, the margin, and the interval of the difference."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from agentmig.report.model import GoalView, Number
from agentmig.report.plots.figure import INK, TALL, Figure, draw, drawable
from agentmig.report.tables import Table
from agentmig.report.text import number, plural, short

_OFFSETS = (0.0, 0.12, -0.12, 0.2, -0.2)
"""Of points in a row, so that equal ones show."""


def goal_figure(view: GoalView) -> Figure:
    """Points of both sides above, the difference of their means with its interval below."""
    old, new = _finite(view.reference), _finite(view.candidate)
    low, high, difference = view.low, view.high, view.difference
    bounded = all(
        value is not None and math.isfinite(value) for value in (low, high, difference, view.margin)
    )

    def plan(figure: Canvas) -> None:
        if bounded:
            above, below = figure.subplots(2, 1, height_ratios=(5, 3))
            _difference(below, view)
        else:
            above = figure.subplots()
        _points(above, view, old, new)

    sides = (("reference", view.reference), ("candidate", view.candidate))
    rows = [(side, str(i + 1), number(value, 6)) for side, values in sides for i, value in enumerate(values)]
    rows += [(f"mean of the {side}", "", number(_mean(_finite(values)), 6)) for side, values in sides]
    if difference is not None:
        rows.append(
            (
                "difference (positive is better)",
                "",
                f"{number(difference, 4)} ({number(low, 4)} to {number(high, 4)})",
            )
        )
        rows.append(("margin", "", number(view.margin, 6)))
    return Figure(
        "goal",
        f"Goal: {short(view.metric, 40)}",
        f"Points are seeds, bars means ({'higher' if view.direction == 'maximize' else 'lower'} is better). Shaded: worse than the "
        f"reference's mean by less than the margin. Interval: one-sided bounds, each at level {number(view.level, 2)}.",
        f"{view.metric}: candidate mean {number(_mean(new), 4)} over {plural(len(new), 'seed')}, reference mean "
        f"{number(_mean(old), 4)} over {plural(len(old), 'seed')}; difference {number(difference, 3)}, bounds "
        f"{number(low, 3)} to {number(high, 3)}, margin {number(view.margin, 3)}.",
        draw(plan, height=TALL if bounded else 2.2),
        Table(("side", "seed", view.metric), rows),
    )


def _finite(values: Sequence[Number]) -> list[float]:
    return [value for value in drawable(values) if not math.isnan(value)]


def _mean(values: Sequence[float]) -> Number:
    return math.fsum(values) / len(values) if values else None


def _points(axes: Axes, view: GoalView, old: Sequence[float], new: Sequence[float]) -> None:
    for row, (values, colour, marker) in enumerate(((new, "candidate", "o"), (old, "reference", "s"))):
        heights = [row + _OFFSETS[index % len(_OFFSETS)] for index in range(len(values))]
        axes.plot(
            values, heights, linestyle="none", marker=marker, markersize=5, color=INK[colour], alpha=0.75
        )
        if (mean := _mean(values)) is not None:
            axes.plot([mean, mean], [row - 0.34, row + 0.34], color=INK[colour], linewidth=2.4)
    base = _mean(old)
    if base is not None and view.margin is not None and 0 < view.margin < 1e30:
        worse = base - view.margin if view.direction == "maximize" else base + view.margin
        axes.axvspan(min(base, worse), max(base, worse), color=INK["band"], linewidth=0)
        axes.axvline(worse, color=INK["fail"], linestyle=(0, (6, 3)), linewidth=1.2)
    axes.set_yticks(
        [0, 1],
        [
            f"candidate\n{plural(len(view.candidate), 'seed')}",
            f"reference\n{plural(len(view.reference), 'seed')}",
        ],
    )
    axes.set_ylim(-0.6, 1.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.grid(visible=False, axis="y")
    axes.set_title(short(view.metric, 40), loc="left", color=INK["quiet"])


def _difference(axes: Axes, view: GoalView) -> None:
    assert (
        view.low is not None
        and view.high is not None
        and view.difference is not None
        and view.margin is not None
    )
    left = min(-1.25 * view.margin, view.low - 0.1 * view.margin)
    right = max(0.25 * view.margin, view.high + 0.1 * view.margin)
    axes.axvspan(left, -view.margin, color=INK["fail"], alpha=0.12, linewidth=0)
    axes.axvline(-view.margin, color=INK["fail"], linestyle=(0, (6, 3)), linewidth=1.2)
    axes.axvline(0, color=INK["quiet"], linewidth=0.9)
    axes.plot([view.low, view.high], [0, 0], color=INK["candidate"], linewidth=2.4, solid_capstyle="butt")
    axes.plot(
        [view.low, view.high], [0, 0], linestyle="none", marker="|", markersize=11, color=INK["candidate"]
    )
    axes.plot([view.difference], [0], marker="o", markersize=6, color=INK["candidate"])
    axes.set_xlim(left, right)
    axes.set_ylim(-1, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_title("difference: right is better; dashed: the margin", loc="left", color=INK["quiet"])
