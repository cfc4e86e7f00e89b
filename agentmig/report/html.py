"""The report as one HTML file: no network, no script, light and dark, for screen and paper."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from agentmig.report import tables, text
from agentmig.report.document import reason, standing, voice
from agentmig.report.model import ClaimReport, ReportView, RunReport, TargetReport
from agentmig.report.speed import METHOD, remark

if TYPE_CHECKING:
    from agentmig.report.plots import Figure

TEMPLATES = Path(__file__).resolve().parent / "templates"
FULL_CLAIMS = 20
"""So many of the newest claims are told gate by gate; older ones have their rows in the table of all."""
_DRAWN_CLAIMS, _DRAWN_CLAIMS_OF_SEVERAL = 6, 2
"""So many of the newest claims have figures, in a report on one run and in one on several."""
_WIDE = 12.0
"""Inches of the timeline where the page is broad."""
_UNDRAWN = {"decision", "session", "end", "away"}
_NUMBER = re.compile(r"[+-]?\d[\d.]*e-\d+")
SYMBOLS = {
    "pass": "✓",
    "accepted": "✓",
    "fail": "✕",
    "rejected": "✕",
    "stopped": "■",
    "not reached": "–",
    "pending": "…",
    "running": "…",
    "waiting": "…",
}


@dataclass(frozen=True)
class Shown:
    """A figure as the page holds it."""

    title: str
    caption: str
    svgs: list[tuple[str, Markup]]
    """Each with the class that says where it is shown."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class TargetPage:
    """A claim on a target, with its figures."""

    target: TargetReport
    figures: list[Shown]

    @property
    def unreached(self) -> list[str]:
        """Gates that had no turn."""
        return [gate.gate for gate in self.target.gates if gate.verdict == "not reached"]


@dataclass(frozen=True)
class ClaimPage:
    """A claim."""

    claim: ClaimReport
    targets: list[TargetPage]
    drawn: bool


@dataclass(frozen=True)
class RunPage:
    """A run, with all that its section shows.

    Attributes:
        anchors: for each row of the table of gates, where in the page its claim is told; empty where it isn't.
    """

    item: RunReport
    prefix: str
    standing: str
    reason: str
    voice: str
    claims: list[ClaimPage]
    anchors: list[str]
    timeline: list[Shown]
    money: list[Shown]
    speed: list[Shown]


def to_html(report: ReportView) -> str:
    """The page.

    Args:
        report: one run or several; several begin with a table of them.
    """
    alone = len(report.runs) == 1
    drawn = _DRAWN_CLAIMS if alone else _DRAWN_CLAIMS_OF_SEVERAL
    pages = [_page(item, f"r{index}", drawn) for index, item in enumerate(report.runs, start=1)]
    values = {
        "report": report,
        "pages": pages,
        "alone": alone,
        "method": METHOD,
        "remark": remark,
        "full": FULL_CLAIMS,
    }
    return _environment().get_template("report.html.j2").render(values) + "\n"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters.update(
        number=text.number,
        dollars=text.dollars,
        seconds=text.seconds,
        moment=text.moment,
        short=text.short,
        plural=text.plural,
        keep=_keep,
    )
    environment.globals.update(symbols=SYMBOLS, tables=tables)
    return environment


def _clean(value: Any) -> Any:
    """Foreign text loses what HTML forbids, before it is escaped."""
    return text.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _keep(value: str) -> Markup:
    """Foreign text, escaped; numbers such as 2.3e-16 don't break at their hyphen."""
    return Markup(_NUMBER.sub(r'<span class="nb">\g<0></span>', str(escape(text.clean(value)))))


def _page(item: RunReport, prefix: str, drawn: int) -> RunPage:
    from agentmig.report import plots

    newest = list(reversed(item.claims))[:FULL_CLAIMS]
    claims = [_claim(claim, f"{prefix}-c{index}", index < drawn) for index, claim in enumerate(newest)]
    anchors = [
        f"{prefix}-c{index}" if index < FULL_CLAIMS else ""
        for index, claim in enumerate(reversed(item.claims))
        for _ in claim.targets
    ]
    money = []
    if item.spending.over_time:
        dollars = plots.money_figure(item.spending)
        both = [plots.tokens_figure(item.spending), *([dollars] if dollars else [])]
        money = [_shown(f"{prefix}-{figure.key}", figure) for figure in both]
    speed = [_shown(f"{prefix}-speed", plots.speed_figure(item.speed))] if item.speed else []
    timeline = []
    if any(entry.kind not in _UNDRAWN for entry in item.timeline):
        wide, narrow = (plots.timeline_figure(item.timeline, width) for width in (_WIDE, plots.WIDTH))
        timeline = [_shown(f"{prefix}-time", wide, narrow)]
    return RunPage(
        item=item,
        prefix=prefix,
        standing=standing(item.run),
        reason=reason(item.run),
        voice=voice(item.run),
        claims=claims,
        anchors=anchors,
        timeline=timeline,
        money=money,
        speed=speed,
    )


def _claim(claim: ClaimReport, prefix: str, drawn: bool) -> ClaimPage:
    targets = [
        TargetPage(target, _figures(target, f"{prefix}-t{index}") if drawn else [])
        for index, target in enumerate(claim.targets)
    ]
    return ClaimPage(claim, targets, drawn)


def _figures(target: TargetReport, prefix: str) -> list[Shown]:
    from agentmig.report import plots

    found = plots.semantics_figures(target.semantics) if target.semantics else []
    found += plots.numerics_figures(target.numerics) if target.numerics else []
    found += [plots.goal_figure(target.goal)] if target.goal else []
    return [_shown(f"{prefix}-{figure.key}", figure) for figure in found]


def _shown(prefix: str, figure: "Figure", narrow: "Figure | None" = None) -> Shown:
    """A figure in the page; with `narrow`, which of the two is seen depends on the width."""
    from agentmig.report.plots.figure import placed

    svgs = [("on-wide" if narrow else "", _svg(placed(figure.svg, prefix, figure.alt)))]
    if narrow:
        svgs.append(("on-narrow", _svg(placed(narrow.svg, f"{prefix}n", narrow.alt))))
    return Shown(figure.title, figure.caption, svgs, figure.table.columns, figure.table.rows)


def _svg(drawing: str) -> Markup:
    """A drawing of ours, whose foreign text was escaped when it was written."""
    return Markup(drawing)
