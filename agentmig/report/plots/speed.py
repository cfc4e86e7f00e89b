"""Seconds of whole trainings, reference and targets, and the ratios with their intervals."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from agentmig.report.model import Estimate, SpeedView
from agentmig.report.plots.figure import INK, Figure, draw, drawable
from agentmig.report.tables import Table
from agentmig.report.text import number, short


def speed_figure(views: Sequence[SpeedView]) -> Figure:
    """Every run as a point with means and intervals, and the ratio of times below; at least one view."""
    sides = [views[0].reference, *(view.candidate for view in views)]
    ratios = [(view.target, view.ratios["seconds"]) for view in views]

    def plan(figure: Canvas) -> None:
        above, below = figure.subplots(2, 1, height_ratios=(len(sides) + 0.6, len(ratios) + 0.6))
        names = [f"{short(side.name, 14)}{' (em.)' if side.emulated else ''}" for side in sides]
        _rows(above, names, [side.seconds for side in sides], "seconds of a training")
        _rows(
            below,
            [short(name, 14) for name, _ in ratios],
            [ratio for _, ratio in ratios],
            "times the reference's seconds",
            first=1,
        )
        below.axvline(1, color=INK["quiet"], linewidth=0.9)

    rows = [
        (side.name, str(len(side.seconds.values)), number(side.seconds.mean), interval(side.seconds))
        for side in sides
    ]
    rows += [(f"{name} / reference", "", number(ratio.mean), interval(ratio)) for name, ratio in ratios]
    return Figure(
        "speed",
        "Time of a whole training",
        "Points are runs, diamonds geometric means, bars 95% intervals."
        + (" (em.): EMULATED, not the accelerator's speed." if any(side.emulated for side in sides) else ""),
        "; ".join(
            f"{name} takes {number(ratio.mean, 3)} times the reference's seconds ({interval(ratio)})"
            for name, ratio in ratios
        )
        + ".",
        draw(plan, height=min(6.0, 1.5 + 0.3 * (len(sides) + len(ratios)))),
        Table(("side", "runs", "mean", "95% interval"), rows),
    )


def interval(estimate: Estimate) -> str:
    """The interval in words, or why there is none."""
    if estimate.low is None or estimate.high is None:
        return estimate.note or "no interval"
    return f"{number(estimate.low)} to {number(estimate.high)}"


def _rows(
    axes: Axes, names: Sequence[str], estimates: Sequence[Estimate], title: str, first: int = 0
) -> None:
    for index, estimate in enumerate(estimates):
        row = len(estimates) - 1 - index
        colour = "reference" if index + first == 0 else "candidate"
        mean, low, high = drawable([estimate.mean, estimate.low, estimate.high])
        values = drawable(estimate.values)
        axes.plot(
            values,
            [row - 0.22] * len(values),
            linestyle="none",
            marker="o",
            markersize=3.4,
            color=INK[colour],
            alpha=0.6,
        )
        if not math.isnan(mean):
            axes.plot([mean], [row], marker="D", markersize=5, color=INK[colour], linestyle="none")
        if not (math.isnan(low) or math.isnan(high)):
            axes.plot([low, high], [row, row], color=INK[colour], linewidth=2.2, solid_capstyle="butt")
    axes.set_yticks(range(len(names)), list(reversed(names)))
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    left, right = axes.get_xlim()
    axes.set_xlim(min(0.0, left), right)
    axes.set_title(title, loc="left", color=INK["quiet"])
