"""What happened when: a lane for each of those who act, over wall time."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from agentmig.report.model import Entry
from agentmig.report.plots.figure import HEIGHT, INK, Figure, draw, legend
from agentmig.report.plots.series import time_axis
from agentmig.report.tables import history
from agentmig.report.text import plural, seconds

_LANES = ("people", "claims", "verifier's runs", "agent's runs", "model")
"""From below; one in which nothing happened is left out."""
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
_SIGNS = {
    "claim": ("claims", "D", "ink", 6.0),
    "turn": ("model", "|", "candidate", 11.0),
    "denied": ("model", "x", "fail", 6.0),
    "feedback": ("model", "^", "third", 5.5),
    "question": ("people", "*", "second", 8.0),
}
"""Of what takes no time: lane, marker, colour, size."""
_BARS = {"reference": "verifier's runs", "verification": "claims", "intervention": "people"}
_WORDS = {
    "attempt": "Bars: runs, coloured and hatched by how they ended.",
    "reference": "Grey bar: the reference.",
    "verification": "Thin bars: verifications of claims.",
    "claim": "Diamonds: claims.",
    "turn": "Ticks: turns of the model.",
    "denied": "Crosses: tool calls that were denied.",
    "feedback": "Triangles: feedback.",
    "question": "Stars: questions to a person.",
    "away": "Shaded: no supervisor was there.",
}


def timeline_figure(entries: Sequence[Entry], width: float) -> Figure:
    """Turns, attempts, claims and people over wall time.

    Args:
        entries: all of them; at least one.
        width: inches.
    """
    last = max(entry.end_s or entry.begin_s for entry in entries)
    used = {_lane(entry) for entry in entries}
    lanes = [lane for lane in _LANES if lane in used]

    def plan(figure: Canvas) -> None:
        axes = figure.subplots()
        for entry in entries:
            _put(axes, entry, lanes, max(last, 1e-3))
        outcomes = {_outcome(entry) for entry in entries if entry.kind == "attempt"}
        for outcome in (name for name in _OUTCOMES if name in outcomes):
            _bar(axes, -9, 0, 1, *_OUTCOMES[outcome], label=outcome)
        axes.set_ylim(-0.6, max(len(lanes), 1) - 0.4)
        axes.set_yticks(range(len(lanes)), lanes)
        axes.grid(visible=False, axis="y")
        for lane in range(len(lanes) - 1):
            axes.axhline(lane + 0.5, color=INK["line"], linewidth=0.7)
        axes.spines["left"].set_visible(False)
        time_axis(axes, last)
        legend(figure, axes, 6)

    kinds = [entry.kind for entry in entries]
    counts = ((kind, kinds.count(kind)) for kind in ("turn", "attempt", "claim", "intervention"))
    words = ", ".join(plural(count, kind) for kind, count in counts)
    return Figure(
        "timeline",
        "Timeline",
        _caption(kinds),
        f"Timeline over {seconds(last)}: {words}.",
        draw(plan, height=min(HEIGHT, 1.1 + 0.36 * max(len(lanes), 1)), width=width),
        history(entries),
    )


def _caption(kinds: Collection[str]) -> str:
    return " ".join(words for kind, words in _WORDS.items() if kind in kinds)


def _lane(entry: Entry) -> str | None:
    if entry.kind == "attempt":
        return "agent's runs" if entry.by == "agent" else "verifier's runs"
    return _SIGNS[entry.kind][0] if entry.kind in _SIGNS else _BARS.get(entry.kind)


def _outcome(entry: Entry) -> str:
    return entry.outcome if entry.outcome in _OUTCOMES else "running"


def _put(axes: Axes, entry: Entry, lanes: Sequence[str], last: float) -> None:
    begin, end = entry.begin_s, entry.end_s if entry.end_s is not None else entry.begin_s
    lane = _lane(entry)
    if entry.kind == "away":
        axes.axvspan(begin, end, color=INK["line"], alpha=0.6, linewidth=0)
    if lane is None:
        return
    row, width = lanes.index(lane), max(end - begin, 0.006 * last)
    match entry.kind:
        case "attempt":
            _bar(axes, row, begin, width, *_OUTCOMES[_outcome(entry)])
        case "reference":
            _bar(axes, row, begin, width, "reference")
        case "intervention":
            _bar(axes, row, begin, width, "second")
        case "verification":
            colour = INK[_VERDICTS.get(entry.outcome or "", "line")]
            axes.barh([row], [width], left=begin, height=0.14, color=colour, linewidth=0)
        case kind:
            _, marker, colour, size = _SIGNS[kind]
            axes.plot([begin], [row], marker=marker, markersize=size, color=INK[colour], markeredgewidth=1.4)


def _bar(
    axes: Axes, row: float, begin: float, width: float, colour: str, hatch: str = "", label: str | None = None
) -> None:
    axes.barh(
        [row],
        [width],
        left=begin,
        height=0.5,
        color=(INK[colour], 0.55),
        edgecolor=INK[colour],
        hatch=hatch,
        linewidth=0.8,
        label=label,
    )
