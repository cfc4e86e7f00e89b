"""What happened when, and what it cost: the timeline, tokens and money over wall time."""

from collections.abc import Callable, Collection, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from agentmig.report.model import Entry, Spending
from agentmig.report.plots.figure import HEIGHT, INK, Figure, draw, legend, logarithmic
from agentmig.report.tables import Table, history
from agentmig.report.text import dollars, number, plural, seconds

_OUTCOMES = {
    "ok": ("pass", ""),
    "loud": ("open", "////"),
    "silent": ("fail", "xxxx"),
    "unverified": ("quiet", "...."),
    "infra": ("quiet", "\\\\\\\\"),
    "running": ("line", ""),
}
"""Colour and hatch of an attempt's bar."""
_VERDICTS = {"pass": "pass", "fail": "fail", "inconclusive": "open"}
_LANES = ("claims", "verifier's runs", "agent's runs", "model")
"""From below; people are a lane of their own below them where a person took part."""
_CLASSES = {
    "input": ("input", "second", "-"),
    "output": ("output", "candidate", (0, (5, 1.5))),
    "cache_read": ("cache read", "fourth", (0, (1.5, 1.2))),
    "cache_write_5m": ("cache write, 5 min", "third", (0, (5, 1.5, 1, 1.5))),
    "cache_write_1h": ("cache write, 1 h", "fifth", (0, (2.5, 1))),
}


def _time_axis(axes: Axes, last_s: float) -> None:
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


def timeline_figure(entries: Sequence[Entry], width: float, height: float = HEIGHT) -> Figure:
    """Turns, attempts, claims and people over wall time.

    Args:
        entries: all of them; at least one.
        width: inches.
        height: inches.
    """
    last = max(entry.end_s or entry.begin_s for entry in entries)
    kinds = {entry.kind for entry in entries}
    people = bool(kinds & {"intervention", "question"})

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        for entry in entries:
            _put(axes, entry, max(last, 1e-3))
        outcomes = {entry.outcome or "running" for entry in entries if entry.kind == "attempt"}
        for outcome in (name for name in _OUTCOMES if name in outcomes):
            colour, hatch = _OUTCOMES[outcome]
            axes.barh([-9], [1], color=_fill(colour), edgecolor=INK[colour], hatch=hatch, label=outcome)
        lanes = {-1: "people"} if people else {}
        lanes |= dict(enumerate(_LANES))
        axes.set_ylim(min(lanes) - 0.6, len(_LANES) - 0.4)
        axes.set_yticks(list(lanes), list(lanes.values()))
        axes.grid(visible=False, axis="y")
        for lane in list(lanes)[:-1]:
            axes.axhline(lane + 0.5, color=INK["line"], linewidth=0.7)
        axes.spines["left"].set_visible(False)
        _time_axis(axes, last)
        legend(figure, axes, 6)

    counts = {
        kind: sum(entry.kind == kind for entry in entries)
        for kind in ("turn", "attempt", "claim", "intervention")
    }
    words = ", ".join(plural(count, kind) for kind, count in counts.items())
    return Figure(
        "timeline",
        "Timeline",
        _timeline_caption(kinds),
        f"Timeline over {seconds(last)}: {words}.",
        draw(plan, height=height, width=width),
        history(entries),
    )


def _timeline_caption(kinds: Collection[str]) -> str:
    signs = {
        "attempt": "Bars: runs, coloured and hatched by how they ended.",
        "verification": "Thin bars: verifications of claims.",
        "claim": "Diamonds: claims.",
        "turn": "Ticks: turns of the model.",
        "denied": "Crosses: tool calls that were denied.",
        "feedback": "Triangles: feedback.",
        "question": "Stars: questions to a person.",
        "away": "Grey: no supervisor was there.",
    }
    return " ".join(words for kind, words in signs.items() if kind in kinds)


def _fill(colour: str) -> tuple[str, float]:
    return INK[colour], 0.55


def _put(axes: Axes, entry: Entry, last: float) -> None:
    begin, end = entry.begin_s, entry.end_s if entry.end_s is not None else entry.begin_s
    width = max(end - begin, 0.006 * last)
    match entry.kind:
        case "reference":
            axes.barh(
                [1],
                [width],
                left=begin,
                height=0.5,
                color=(INK["reference"], 0.45),
                edgecolor=INK["reference"],
                linewidth=0.8,
            )
        case "attempt":
            colour, hatch = _OUTCOMES.get(entry.outcome or "running", _OUTCOMES["running"])
            lane = 2 if entry.by == "agent" else 1
            axes.barh(
                [lane],
                [width],
                left=begin,
                height=0.5,
                color=_fill(colour),
                edgecolor=INK[colour],
                hatch=hatch,
                linewidth=0.8,
            )
        case "verification":
            colour = _VERDICTS.get(entry.outcome or "", "line")
            axes.barh([0], [width], left=begin, height=0.14, color=INK[colour], linewidth=0)
        case "claim":
            axes.plot([begin], [0], marker="D", markersize=6, color=INK["ink"], linestyle="none")
        case "turn":
            axes.plot(
                [begin],
                [3],
                marker="|",
                markersize=11,
                color=INK["candidate"],
                linestyle="none",
                markeredgewidth=1.4,
            )
        case "denied":
            axes.plot(
                [begin],
                [3],
                marker="x",
                markersize=6,
                color=INK["fail"],
                linestyle="none",
                markeredgewidth=1.4,
            )
        case "feedback":
            axes.plot([begin], [3], marker="^", markersize=5.5, color=INK["third"], linestyle="none")
        case "intervention":
            axes.barh(
                [-1],
                [width],
                left=begin,
                height=0.5,
                color=(INK["second"], 0.55),
                edgecolor=INK["second"],
                linewidth=0.8,
            )
        case "question":
            axes.plot([begin], [-1], marker="*", markersize=8, color=INK["second"], linestyle="none")
        case "away":
            axes.axvspan(begin, end, color=INK["line"], alpha=0.6, linewidth=0)
        case _:
            pass


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
        _time_axis(axes, max(times))
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
        _time_axis(axes, max([*times, *(at for at, _ in spending.cli_usd)]))
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
