"""The teacher-forced pass in production precision, against the tolerance that the reference itself calibrated."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from agentmig.report.model import Number, NumericsView
from agentmig.report.plots.figure import FAR, HEIGHT, INK, TALL, Figure, draw, drawable, legend
from agentmig.report.plots.series import fitting_scale, held, over_steps, overlay, zero_below
from agentmig.report.tables import Table
from agentmig.report.text import number, plural

_NAMES = {"loss": "loss: relative difference", "gradient": "gradient: worst tensor / global norm"}


def numerics_figures(view: NumericsView) -> list[Figure]:
    """Losses with their band, and errors with their limits."""
    return [*([_losses(view)] if view.reference else []), *([_errors(view)] if view.errors else [])]


def _losses(view: NumericsView) -> Figure:
    steps = list(range(len(view.reference)))
    old, new = drawable(view.reference), drawable(view.candidate)
    limit = view.limits.get("loss")
    usable = limit if limit is not None and 0 < limit < math.inf else None
    apart = [(b - a) / abs(a) if a else math.nan for a, b in zip(old, new, strict=True)]

    def plan(figure: Canvas) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        if usable is not None:
            _band(above, steps, old, usable)
        overlay(above, steps, view.reference, view.candidate)
        fitting_scale(above, [view.reference, view.candidate])
        over_steps(above, label=False)
        if usable is not None:
            below.axhspan(-usable, usable, color=INK["band"], linewidth=0)
            below.set_ylim(-1.6 * usable, 1.6 * usable)
        below.axhline(0, color=INK["reference"], linewidth=1.0)
        below.plot(
            steps, _in_panel(apart, usable), color=INK["candidate"], marker="o", markersize=3.2, linewidth=1.0
        )
        below.yaxis.set_major_locator(MaxNLocator(nbins=3, symmetric=True))
        below.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:.0e}".replace("e-0", "e-") if value else "0")
        )
        below.set_title("candidate / reference - 1", loc="left", color=INK["quiet"])
        over_steps(below)
        legend(figure, above)

    rows = [
        (str(step), number(a, 8), number(b, 8), number(c, 3))
        for step, a, b, c in zip(steps, view.reference, view.candidate, map(_known, apart), strict=True)
    ]
    wide = f"±{number(limit, 2)}" if limit is not None else "not known"
    return Figure(
        "losses",
        "Loss, production precision",
        f"Before each step the weights are set back to the reference's. Band: the reference's loss {wide}, calibrated by the "
        "reference against itself. The gate judges the median over the steps; a single step may leave the band.",
        f"Teacher-forced loss over {plural(len(steps), 'step')}; median relative difference "
        f"{number(view.medians.get('loss'), 2)}, limit {number(limit, 2)}.",
        draw(plan, height=TALL),
        Table(("step", "reference", "candidate", "candidate / reference - 1"), rows),
    )


def _band(axes: object, steps: Sequence[int], old: Sequence[float], limit: float) -> None:
    low = [value - abs(value) * limit for value in old]
    high = [value + abs(value) * limit for value in old]
    axes.fill_between(steps, low, high, color=INK["band"], linewidth=0, label="calibrated band")  # type: ignore[attr-defined]


def _in_panel(values: Sequence[float], limit: float | None) -> list[float]:
    """Values kept at the panel's edge where they leave it."""
    if limit is None:
        return drawable(values)
    return [value if math.isnan(value) else max(-1.5 * limit, min(1.5 * limit, value)) for value in values]


def _known(value: float) -> Number:
    return None if math.isnan(value) else value


def _errors(view: NumericsView) -> Figure:
    names = list(view.errors)

    def plan(figure: Canvas) -> None:
        grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)
        for index, name in enumerate(names):
            axes, floor, top = grid[index, 0], *_ends(view, name)
            for values, look in ((view.calibration_errors.get(name, []), _OWN), (view.errors[name], _SEEN)):
                axes.plot(range(len(values)), held(values, floor, top), **look)
            limit, median = view.limits.get(name), view.medians.get(name)
            if _positive(limit):
                axes.axhline(
                    limit,
                    color=INK["fail"],
                    linewidth=1.3,
                    linestyle=(0, (6, 3)),
                    label="limit of the median",
                )
            if _positive(median):
                axes.axhline(
                    median, color=INK["candidate"], linewidth=0.9, linestyle=(0, (1, 1.5)), label="median"
                )
            zero_below(axes, floor, top, ticks=2)
            axes.set_title(_NAMES.get(name, name), loc="left", color=INK["quiet"])
            over_steps(axes, label=index == len(names) - 1)
        legend(figure, grid[0, 0], 2)

    count = max(len(values) for values in view.errors.values())
    rows = [
        (
            str(i),
            *(
                number(_at(side.get(name, []), i), 3)
                for name in names
                for side in (view.errors, view.calibration_errors)
            ),
        )
        for i in range(count)
    ]
    columns = tuple(f"{name}, {side}" for name in names for side in ("candidate", "reference against itself"))
    words = [
        f"{name}: median {number(view.medians.get(name), 2)}, limit {number(view.limits.get(name), 2)}"
        for name in names
    ]
    return Figure(
        "errors",
        "Errors against the calibrated limit",
        "Grey: the reference against its own record, its weights perturbed by a rounding error. The lowest line is no "
        "difference at all.",
        f"Errors over {plural(count, 'step')}: {'; '.join(words)}.",
        draw(plan, height=TALL if len(names) > 1 else HEIGHT),
        Table(("step", *columns), rows),
    )


def _ends(view: NumericsView, name: str) -> tuple[float, float]:
    """Floor and top of an error's axis: a power of ten below all that is there, and somewhat above it."""
    values = [
        *view.errors[name],
        *view.calibration_errors.get(name, []),
        view.limits.get(name),
        view.medians.get(name),
    ]
    known = [value for value in values if value is not None and 1e-300 < value < FAR] or [1e-6]
    return 10.0 ** (math.floor(math.log10(min(known))) - 1), max(known) * 3


_OWN = {
    "color": INK["reference"],
    "marker": "s",
    "markersize": 3.0,
    "linewidth": 1.0,
    "linestyle": (0, (4, 2)),
    "label": "reference against itself",
}
_SEEN = {"color": INK["candidate"], "marker": "o", "markersize": 3.2, "linewidth": 1.2, "label": "candidate"}


def _positive(value: Number) -> bool:
    return value is not None and 0 < value < 1e30


def _at(values: Sequence[Number], index: int) -> Number:
    return values[index] if index < len(values) else None
