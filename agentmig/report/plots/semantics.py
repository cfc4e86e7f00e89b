"""The float64 pass: loss, gradient norms, and how far each quantity is from the reference's."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from agentmig.report.model import Number, Pair, SemanticsView
from agentmig.report.plots.figure import INK, TALL, Figure, draw, legend
from agentmig.report.plots.series import (
    draw_candidate,
    draw_reference,
    fitting_scale,
    held,
    mark,
    over_steps,
    overlay,
    zero_below,
)
from agentmig.report.tables import Table
from agentmig.report.text import number, plural

NAMES = {
    "loss": "loss",
    "norm_before_clip": "gradient norm before clipping",
    "grad_norm": "gradient norm applied",
    "update_norm": "update norm",
    "lr": "learning rate",
}
_SHORT = {**NAMES, "norm_before_clip": "norm before clip", "grad_norm": "norm applied"}
_LOOKS = {
    "loss": ("candidate", "o", "-"),
    "norm_before_clip": ("second", "s", (0, (5, 1.5))),
    "grad_norm": ("third", "^", (0, (1.5, 1.2))),
    "update_norm": ("fourth", "D", (0, (5, 1.5, 1, 1.5))),
    "lr": ("fifth", "v", (0, (2.5, 1))),
}
_FLOOR, _CEILING = 1e-17, 1e3


def semantics_figures(view: SemanticsView) -> list[Figure]:
    """Loss, norms, and relative differences; what the evidence lacks has no figure."""
    found = []
    if "loss" in view.quantities:
        found.append(_loss(view))
    if {"norm_before_clip", "grad_norm"} & set(view.quantities):
        found.append(_norms(view))
    if (
        any(known for errors in view.differences.values() for known in errors if known is not None)
        or view.differences
    ):
        found.append(_differences(view))
    return found


def _mean(values: Sequence[Number]) -> Number:
    known = [value for value in values if value is not None]
    return (
        math.fsum(known) / len(known)
        if known and all(map(math.isfinite, known))
        else (known[0] if known else None)
    )


def _sides(pairs: Sequence[Pair]) -> tuple[list[Number], list[Number]]:
    return [_mean(pair.reference) for pair in pairs], [_mean(pair.candidate) for pair in pairs]


def _loss(view: SemanticsView) -> Figure:
    old, new = _sides(view.quantities["loss"])

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        overlay(axes, view.steps, old, new)
        fitting_scale(axes, [old, new])
        mark(axes, view.first_divergence, view.steps)
        over_steps(axes)
        legend(figure, axes)

    errors = view.differences["loss"]
    rows = [
        (str(step), number(a, 8), number(b, 8), number(error, 3))
        for step, a, b, error in zip(view.steps, old, new, errors, strict=True)
    ]
    return Figure(
        "loss",
        "Loss, float64 pass",
        "Same weights and batches at the start, then each runs freely in float64; means over the ranks.",
        f"Loss over {plural(len(view.steps), 'step')}: reference {_ends(old)}, candidate {_ends(new)}. {_parted(view)}",
        draw(plan),
        Table(("step", "reference", "candidate", "relative difference"), rows),
    )


def _ends(values: Sequence[Number]) -> str:
    known = [value for value in values if value is not None]
    return f"from {number(known[0])} to {number(known[-1])}" if known else "unknown"


def _parted(view: SemanticsView) -> str:
    return (
        f"They part first in {view.first_divergence.words}."
        if view.first_divergence
        else "No step leaves its tolerance."
    )


def _norms(view: SemanticsView) -> Figure:
    names = [name for name in ("norm_before_clip", "grad_norm") if name in view.quantities]

    def plan(figure: Canvas) -> None:
        grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)
        for index, name in enumerate(names):
            axes, pairs = grid[index, 0], view.quantities[name]
            for rank in range(max((len(pair.reference) for pair in pairs), default=0)):
                draw_reference(
                    axes,
                    view.steps,
                    [_of(pair.reference, rank) for pair in pairs],
                    "reference" if not rank else "",
                )
            for rank in range(max((len(pair.candidate) for pair in pairs), default=0)):
                draw_candidate(
                    axes,
                    view.steps,
                    [_of(pair.candidate, rank) for pair in pairs],
                    "candidate" if not rank else "",
                )
            curves = [values for pair in pairs for values in (pair.reference, pair.candidate)]
            fitting_scale(axes, curves, bins=4)
            mark(axes, view.first_divergence, view.steps, words=index == 0)
            over_steps(axes, label=index == len(names) - 1)
            axes.set_title(
                {"norm_before_clip": "before clipping", "grad_norm": "applied"}[name],
                loc="left",
                color=INK["quiet"],
            )
        legend(figure, grid[0, 0])

    rows = [
        (
            str(step),
            *(
                _listed(side)
                for name in names
                for side in (_pair(view, name, i).reference, _pair(view, name, i).candidate)
            ),
        )
        for i, step in enumerate(view.steps)
    ]
    columns = tuple(f"{_SHORT[name]}, {side}" for name in names for side in ("reference", "candidate"))
    first = [
        f"{NAMES[name]} {_listed(_pair(view, name, 0).reference)} against {_listed(_pair(view, name, 0).candidate)}"
        for name in names
    ]
    return Figure(
        "norms",
        "Gradient norms",
        "A line for each rank where the ranks differ. What is applied is what the optimizer steps with.",
        f"At step {view.steps[0]}, reference against candidate: {'; '.join(first)}. {_parted(view)}",
        draw(plan, height=TALL),
        Table(("step", *columns), rows),
    )


def _pair(view: SemanticsView, name: str, index: int) -> Pair:
    return view.quantities[name][index]


def _of(values: Sequence[Number], rank: int) -> Number:
    """A rank's value; a single one is every rank's."""
    return values[rank] if rank < len(values) else values[0] if len(values) == 1 else None


def _listed(values: Sequence[Number]) -> str:
    return ", ".join(number(value, 6) for value in values) or number(None)


def _differences(view: SemanticsView) -> Figure:
    top = _ceiling(view)

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        for name, errors in view.differences.items():
            colour, marker, dashes = _LOOKS[name]
            axes.plot(
                view.steps,
                held(errors, _FLOOR, top),
                color=INK[colour],
                marker=marker,
                markersize=3.2,
                linewidth=1.2,
                linestyle=dashes,
                label=_SHORT[name],
            )
        if view.tolerance is not None and _FLOOR < view.tolerance < _CEILING:
            axes.axhline(
                view.tolerance, color=INK["ink"], linewidth=1.2, linestyle=(0, (6, 3)), label="tolerance"
            )
        zero_below(axes, _FLOOR, top)
        mark(axes, view.first_divergence, view.steps, words=False)
        over_steps(axes)
        legend(figure, axes)

    names = list(view.differences)
    rows = [
        (str(step), *(number(view.differences[name][i], 3) for name in names))
        for i, step in enumerate(view.steps)
    ]
    largest = [f"{NAMES[n]} {number(_largest(view.differences[n]), 2)}" for n in names]
    return Figure(
        "differences",
        "Distance from the reference, by step",
        f"Largest relative difference over the ranks; the tolerance is {number(view.tolerance, 2)}. The lowest line is no difference at all.",
        f"Largest relative differences: {', '.join(largest)}; tolerance {number(view.tolerance, 2)}. {_parted(view)}",
        draw(plan),
        Table(("step", *(NAMES[name] for name in names)), rows),
    )


def _ceiling(view: SemanticsView) -> float:
    values = [v for errors in view.differences.values() for v in errors if v is not None and math.isfinite(v)]
    top = max([*values, view.tolerance or 0.0, 1e-6])
    return min(top * 30, _CEILING * 3)


def _largest(values: Sequence[Number]) -> Number:
    known = [value for value in values if value is not None]
    return max(known, key=lambda value: math.inf if math.isnan(value) else value, default=None)
