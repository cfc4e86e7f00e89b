"""Drawing over steps: a reference and a candidate over each other, and the step where they part."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from agentmig.report.model import Divergence, Number
from agentmig.report.plots.figure import INK, drawable, logarithmic, lost, power_of_ten

_ORDERS = 50.0
"""Positive curves that span more than this factor are drawn on a logarithmic scale."""
_FLAT = 0.02
"""Curves that move by less than this part of their size are drawn flat: the rest is rounding."""


def overlay(
    axes: Axes, steps: Sequence[int], reference: Sequence[Number], candidate: Sequence[Number]
) -> None:
    """The reference as a broad line, the candidate as a thin one with dots upon it, so that both show where they agree."""
    draw_reference(axes, steps, reference)
    draw_candidate(axes, steps, candidate)


def draw_reference(
    axes: Axes, steps: Sequence[int], values: Sequence[Number], label: str = "reference"
) -> None:
    """One curve of the reference."""
    axes.plot(
        steps,
        drawable(values),
        color=INK["reference"],
        linewidth=5.0,
        alpha=0.45,
        solid_capstyle="round",
        label=label,
    )


def draw_candidate(
    axes: Axes, steps: Sequence[int], values: Sequence[Number], label: str = "candidate"
) -> None:
    """One curve of the candidate, with a word where its numbers end."""
    axes.plot(
        steps,
        drawable(values),
        color=INK["candidate"],
        linewidth=1.3,
        marker="o",
        markersize=3.2,
        label=label,
    )
    if missing := lost(values):
        first = steps[missing[0]]
        axes.text(
            0.98,
            0.06,
            f"candidate not finite from step {first}",
            transform=axes.transAxes,
            ha="right",
            color=INK["fail"],
        )


def over_steps(axes: Axes, label: bool = True) -> None:
    """Whole steps on the horizontal axis."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.grid(visible=False, axis="x")
    if label:
        axes.set_xlabel("step")


def fitting_scale(axes: Axes, curves: Sequence[Sequence[Number]], bins: int = 5) -> None:
    """A logarithmic scale where the curves span orders of magnitude; a wide one where they hardly move."""
    known = [value for curve in curves for value in drawable(curve) if not math.isnan(value)]
    if not known:
        return
    low, high = min(known), max(known)
    if low > 0 and high / low > _ORDERS:
        logarithmic(axes)
        return
    axes.yaxis.set_major_locator(MaxNLocator(nbins=bins))
    room = _FLAT * max(abs(low), abs(high))
    if high - low < room:
        axes.set_ylim((low + high) / 2 - room, (low + high) / 2 + room)


def held(errors: Sequence[Number], floor: float, ceiling: float) -> list[float]:
    """Errors for a logarithmic axis: zeros at its floor, what is infinite or no number at its ceiling."""
    return drawable(
        [None if e is None else ceiling if math.isnan(e) else min(max(e, floor), ceiling) for e in errors]
    )


def zero_below(axes: Axes, floor: float, top: float, ticks: int = 4) -> None:
    """A logarithmic axis whose floor is called 0.

    Args:
        axes: to be scaled.
        floor: where zeros are drawn.
        top: the largest value, from which the ticks go down.
        ticks: about so many besides the floor.
    """
    logarithmic(axes)
    axes.set_ylim(floor / 2, top)
    highest, lowest = math.floor(math.log10(top)), round(math.log10(floor)) + 1
    stride = max(1, round((highest - lowest) / ticks))
    axes.yaxis.set_major_locator(
        FixedLocator([floor, *(10.0**exponent for exponent in range(highest, lowest - 1, -stride))])
    )
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "0" if value <= floor * 1.001 else power_of_ten(value))
    )


def mark(axes: Axes, divergence: Divergence | None, steps: Sequence[int], words: bool = True) -> None:
    """A line at the step where the runs part first."""
    if (
        divergence is None
        or divergence.step is None
        or not steps
        or not steps[0] <= divergence.step <= steps[-1]
    ):
        return
    axes.axvline(divergence.step, color=INK["fail"], linestyle=(0, (4, 2)), linewidth=1.2)
    if not words:
        return
    axes.set_title(f"first divergence: step {divergence.step}", loc="right", color=INK["fail"])


def time_axis(axes: Axes, last_s: float) -> None:
    """Wall time in the unit that fits it."""
    unit, scale = ("s", 1.0) if last_s < 120 else ("min", 60.0) if last_s < 7200 else ("h", 3600.0)
    axes.set_xlim(-0.01 * last_s, last_s * 1.02 or 1.0)
    locator = MaxNLocator(nbins=6, steps=[1, 2, 3, 5, 10])
    ticks = [
        tick * scale
        for tick in locator.tick_values(0, max(last_s / scale, 1e-3))
        if 0 <= tick * scale <= last_s * 1.02
    ]
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    axes.set_xlabel(f"wall time, {unit}")
    axes.grid(visible=False, axis="x")
