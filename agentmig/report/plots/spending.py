"""Tokens and money, summed up over wall time."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from agentmig.report.model import Spending
from agentmig.report.plots.figure import INK, Figure, draw, legend, logarithmic
from agentmig.report.plots.series import time_axis
from agentmig.report.tables import Table
from agentmig.report.text import dollars, number, plural, seconds

_CLASSES = {
    "input": ("input", "second", "-"),
    "output": ("output", "candidate", (0, (5, 1.5))),
    "cache_read": ("cache read", "fourth", (0, (1.5, 1.2))),
    "cache_write_5m": ("cache write, 5 min", "third", (0, (5, 1.5, 1, 1.5))),
    "cache_write_1h": ("cache write, 1 h", "fifth", (0, (2.5, 1))),
}


def tokens_figure(spending: Spending) -> Figure:
    """Tokens of each class, summed up over wall time."""
    turns = spending.over_time
    times = [turn.at_s for turn in turns]

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        for name, (label, colour, dashes) in _CLASSES.items():
            values = [float(turn.tokens.get(name, 0)) or float("nan") for turn in turns]
            if any(value == value for value in values):
                _steps(axes, times, values, label=label, color=INK[colour], linestyle=dashes)
        logarithmic(axes)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
        time_axis(axes, max(times))
        legend(figure, axes)

    end = turns[-1].tokens
    rows = [(seconds(t.at_s), *(f"{t.tokens.get(name, 0):,}" for name in _CLASSES)) for t in turns]
    return Figure(
        "tokens",
        "Tokens, summed up",
        "By class, as Anthropic counts them: input leaves the cache out. Logarithmic.",
        "Tokens in all: "
        + ", ".join(f"{label} {end.get(name, 0):,}" for name, (label, _, _) in _CLASSES.items())
        + ".",
        draw(plan),
        Table(("at", *(label for label, _, _ in _CLASSES.values())), rows),
    )


def _steps(axes: Axes, times: Sequence[float], values: Sequence[float], **look: object) -> None:
    plot: Callable[..., object] = axes.step
    plot(times, values, where="post", marker="o", markersize=2.6, linewidth=1.3, **look)


def _count(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def money_figure(spending: Spending) -> Figure | None:
    """Dollars over wall time, by class where the journal has them; None where no response had a price."""
    turns = [turn for turn in spending.over_time if turn.usd is not None]
    if not turns:
        return None
    times, totals = [turn.at_s for turn in turns], [turn.usd or 0.0 for turn in turns]
    splits = [turn.usd_by_class for turn in turns]
    split = [item for item in splits if item is not None] if all(splits) else []
    shown = [name for name in _CLASSES if any(item.get(name, 0.0) > 0 for item in split)]

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        below = [0.0] * len(turns)
        for name in shown:
            label, colour, _ = _CLASSES[name]
            above = [low + item.get(name, 0.0) for low, item in zip(below, split, strict=True)]
            axes.fill_between(
                times, below, above, step="post", color=INK[colour], alpha=0.5, linewidth=0, label=label
            )
            below = above
        _steps(axes, times, totals, label="total", color=INK["ink"])
        if spending.cli_usd:
            own, figures = zip(*spending.cli_usd, strict=True)
            axes.plot(
                own,
                figures,
                linestyle="none",
                marker="X",
                markersize=6,
                color=INK["second"],
                label="CLI's own figure",
            )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: dollars(value)))
        axes.set_ylim(bottom=0)
        time_axis(axes, max([*times, *(at for at, _ in spending.cli_usd)]))
        legend(figure, axes)

    rows = [
        (seconds(t.at_s), dollars(t.usd), *(dollars(item.get(name, 0.0)) for name in shown))
        for t, item in zip(turns, split or [{} for _ in turns], strict=True)
    ]
    lacking = "" if split else " This journal has no split by class."
    unpriced = len(spending.over_time) - len(turns)
    lacking += f" The last {plural(unpriced, 'response')} had no price and are left out." if unpriced else ""
    return Figure(
        "money",
        "Cost of the model, summed up",
        f"Price book times tokens, stacked by class.{lacking}"
        if split
        else f"Price book times tokens.{lacking}",
        f"Dollars in all: {dollars(totals[-1])}"
        + "".join(f", {_CLASSES[name][0]} {dollars(split[-1].get(name))}" for name in shown)
        + (f"; the CLI's own figure {number(spending.cli_usd[-1][1], 3)}." if spending.cli_usd else "."),
        draw(plan),
        Table(("at", "total", *(_CLASSES[name][0] for name in shown)), rows),
    )
