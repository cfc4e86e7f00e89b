"""The report as GitHub-flavoured Markdown: no pictures, curves as tables."""

import re
from collections.abc import Sequence

from agentmig.report import tables
from agentmig.report.model import ClaimReport, GateReport, ReportView, RunReport, TargetReport
from agentmig.report.speed import METHOD, remark
from agentmig.report.tables import Table
from agentmig.report.text import clean, moment, number, one_line, plural

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$!])")
# What begins a list, a rule or a heading where it stands first on its line.
_BLOCK = re.compile(r"^(\d*)([-+.)]+(?=\s|$)|=+$)")
_SYMBOLS = {
    "pass": "✓ pass",
    "fail": "✕ **fail**",
    "inconclusive": "? inconclusive",
    "not reached": "– not reached",
}
_LONG = 1500
_FULL_CLAIMS = 10
"""So many of the newest claims are told gate by gate."""
_MOST_ROWS = 200
_STEPS = 40
_EVIDENCE_ROWS = 60


def to_markdown(report: ReportView) -> str:
    """The document; several runs begin with a table of them.

    Args:
        report: one run or several.
    """
    parts = [f"# {escape(report.headline)}"]
    if len(report.runs) > 1:
        parts.append(table(tables.runs(report.runs)))
    for item in report.runs:
        parts += _run(item, alone=len(report.runs) == 1)
    parts.append("---")
    parts.append(
        "Computed from the journal alone by `agentmig report`. Verdicts are those of independent runs, not the agent's."
    )
    return "\n\n".join(parts) + "\n"


def escape(text: str, limit: int = _LONG) -> str:
    """Foreign text on one line, with nothing in it that Markdown or HTML would act on."""
    return _BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", one_line(clean(text), limit)))


def table(of: Table, most: int = _MOST_ROWS) -> str:
    """A table; beyond `most` rows it says how many are left out."""
    lines = [_row(of.columns), "|" + " --- |" * len(of.columns), *map(_row, of.rows[:most])]
    if len(of.rows) > most:
        lines.append(_row(("…", f"{len(of.rows) - most} more", *[""] * (len(of.columns) - 2))))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(cell, 400) for cell in cells) + " |"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _run(item: RunReport, alone: bool) -> list[str]:
    run, deeper = item.run, "" if alone else "#"
    parts = [] if alone else [f"## {escape(run.run)}: {escape(item.headline)}"]
    parts += (
        ["\n".join(f"- {_bold_before_colon(caution)}" for caution in item.cautions)] if item.cautions else []
    )
    names = ", ".join(f"{escape(t.name)} (EMULATED)" if t.emulated else escape(t.name) for t in run.targets)
    parts.append(
        f"**{escape(run.workload)}** at {escape(run.base_commit[:12])} to {names}; run {escape(run.run)}, {moment(run.started)}. "
        f"{plural(len(run.claims), 'claim')}, {plural(len(run.attempts), 'run')} on targets, {plural(run.turns, 'turn')}, "
        f"{plural(run.denied_tools, 'tool call')} denied."
    )
    parts += [f"**A person is needed:** {escape(run.question)}"] if run.question else []
    parts.append(f"##{deeper} Gates")
    parts.append(
        table(tables.gates(item)) if item.claims else "Nothing was claimed, so no gate was worked at."
    )
    for claim in list(reversed(item.claims))[:_FULL_CLAIMS]:
        parts += _claim(claim, f"##{deeper}")
    if len(item.claims) > _FULL_CLAIMS:
        left = len(item.claims) - _FULL_CLAIMS
        parts.append(f"The evidence of the {left} earlier claims is in `agentmig show RUN --json`.")
    return [
        *parts,
        *_speed(item, f"##{deeper}"),
        *_history(item, f"##{deeper}"),
        *_spending(item, f"##{deeper}"),
    ]


def _bold_before_colon(caution: str) -> str:
    head, _, rest = caution.partition(":")
    return f"**{escape(head)}**:{' ' + escape(rest) if rest else ''}"


def _claim(claim: ClaimReport, level: str) -> list[str]:
    parts = [f"{level} {escape(claim.id)}: {_SYMBOLS.get(claim.verdict, claim.verdict)}"]
    parts.append(f"Commit {escape(claim.commit[:12])}, claimed {moment(claim.time)}.")
    parts += [f"> {escape(claim.words)}"] if claim.words.strip() else []
    parts += [escape(claim.summary)] if claim.summary else []
    parts += [_advice(claim)] if claim.cause else []
    for target in claim.targets:
        parts += _target(target, claim, f"{level}#")
    return parts


def _advice(of: ClaimReport | GateReport) -> str:
    return f"Cause: **{escape(of.cause or '')}**. {escape(of.advice or '')}".rstrip()


def _target(target: TargetReport, claim: ClaimReport, level: str) -> list[str]:
    emulated = ", EMULATED" if target.emulated else ""
    parts = [
        f"{level} {escape(claim.id)} on {escape(target.target)}{emulated}: {_SYMBOLS.get(target.verdict, target.verdict)}"
    ]
    parts.append(escape(target.description))
    told = [gate for gate in target.gates if gate.verdict != "not reached"]
    if told:
        parts.append("\n".join(line for gate in told for line in _gate(gate, claim)))
    unreached = [gate.gate for gate in target.gates if gate.verdict == "not reached"]
    parts += [f"Not reached: {escape(', '.join(unreached))}."] if unreached else []
    if view := target.semantics:
        if view.first_divergence:
            parts.append(f"**First divergence:** {escape(view.first_divergence.words)}.")
        parts += [
            f"Also found: **{escape(found.cause)}** {escape(found.summary)}" for found in view.findings[1:]
        ]
        title = f"Steps of the float64 pass; tolerance {number(view.tolerance, 2)}"
        parts.append(_folded(title, table(tables.steps(view), _STEPS)))
    if forced := target.numerics:
        parts.append(table(tables.limits(forced)))
        parts.append(_folded("Steps of the teacher-forced pass", table(tables.forced_steps(forced), _STEPS)))
    if goal := target.goal:
        bounds = f"{number(goal.low, 3)} to {number(goal.high, 3)}"
        parts.append(table(tables.goal_values(goal)))
        parts.append(
            f"Difference {number(goal.difference, 3)} (positive is better), bounds {bounds}, margin {number(goal.margin, 3)}."
        )
    rows = [(f"{gate.gate}: {name}", value) for gate in told for name, value in gate.numbers[:_EVIDENCE_ROWS]]
    return [*parts, _folded("Evidence", table(Table(("name", "value"), rows), 400))] if rows else parts


def _gate(gate: GateReport, claim: ClaimReport) -> list[str]:
    lines = [
        f"- {_SYMBOLS.get(gate.verdict, gate.verdict)} **{escape(gate.gate)}** {escape(gate.question)} {escape(gate.summary)}"
    ]
    return [*lines, f"  {_advice(gate)}"] if gate.cause and gate.cause != claim.cause else lines


def _speed(item: RunReport, level: str) -> list[str]:
    parts = [f"{level} Time and cost of a training"]
    if not item.speed:
        return [*parts, "No whole training of a claim came to its end, so there is nothing to compare."]
    words = remark(item.speed)
    return [*parts, *([_bold_before_colon(words)] if words else []), table(tables.speed(item)), METHOD]


def _history(item: RunReport, level: str) -> list[str]:
    parts = [f"{level} What happened"]
    for intervention in item.run.interventions:
        minutes = number(intervention.minutes)
        parts.append(
            f"**A person** ({intervention.reason}, {minutes} min, {moment(intervention.time)}): {escape(intervention.text)}"
        )
    parts.append(_folded(f"Timeline ({len(item.timeline)})", table(tables.history(item.timeline))))
    for title, rows in (("Runs on targets", tables.attempts(item)), ("Decisions", tables.decisions(item))):
        parts += [_folded(f"{title} ({len(rows.rows)})", table(rows))] if rows.rows else []
    return parts


def _spending(item: RunReport, level: str) -> list[str]:
    parts = [f"{level} Tokens and money", table(tables.costs(item))]
    parts += [table(tables.budget(item))] if item.spending.budget else []
    usage = item.run.usage
    parts.append(
        f"Tokens: {usage.input:,} in, {usage.output:,} out, {usage.cache_read:,} cache read, {usage.cache_write:,} cache write."
    )
    return [
        *parts,
        f"{level} How it was run",
        table(Table(("", ""), [(name, value) for name, value in item.facts])),
    ]
