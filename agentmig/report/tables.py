"""Tables that the page and the Markdown share; cells are text."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentmig.report.model import Entry, Estimate, RunReport, Side
from agentmig.report.text import DASH, dollars, moment, number, one_line, seconds
from agentmig.verification.verifier import GATES

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table."""

    columns: Row
    rows: list[Row]


def gates(item: RunReport) -> Table:
    """Every claim on every target with the verdict of each gate; the newest claim first."""
    seen = {gate.gate for claim in item.claims for target in claim.targets for gate in target.gates}
    names = (*GATES, *sorted(seen - set(GATES)))
    rows = []
    for claim in reversed(item.claims):
        for target in claim.targets:
            found = {gate.gate: gate.verdict for gate in target.gates}
            name = f"{target.target} (EMULATED)" if target.emulated else target.target
            rows.append((claim.id, name, *(found.get(gate, "pending") for gate in names), target.verdict))
    return Table(("claim", "target", *names, "verdict"), rows)


def runs(items: Sequence[RunReport]) -> Table:
    """A row for each run."""
    columns = ("verdict", "run", "workload", "targets", "words", "claims", "attempts", "turns")
    rows = [
        (
            item.run.verdict,
            item.run.run,
            item.run.workload,
            ", ".join(f"{t.name} (EMULATED)" if t.emulated else t.name for t in item.run.targets),
            one_line(item.run.words, 60),
            str(len(item.run.claims)),
            str(len(item.run.attempts)),
            str(item.run.turns),
            seconds(item.run.wall_s),
            dollars(item.run.cost.agent_usd),
            dollars(item.run.cost.compute_usd),
            f"{number(item.run.cost.human_minutes)} min",
        )
        for item in items
    ]
    return Table((*columns, "wall time", "agent", "compute", "people"), rows)


def speed(item: RunReport) -> Table:
    """The reference and each target: seconds and dollars of a run, samples a second, and the ratios."""
    if not item.speed:
        return Table((), [])
    columns = ("", "runs", "seconds of a run", "dollars of a run", "samples/s")
    rows = [_side(item.speed[0].reference)]
    for view in item.speed:
        rows.append(_side(view.candidate))
        usd = view.ratios.get("usd")
        rows.append(
            (
                f"{view.target} / reference",
                "",
                _estimate(view.ratios["seconds"], "×"),
                _estimate(usd, "×") if usd else DASH,
                _estimate(view.ratios["samples_per_s"], "×"),
            )
        )
    return Table(columns, rows)


def _side(side: Side) -> Row:
    usd = side.usd
    money = _estimate(usd, "$") if usd else f"{DASH} ({side.usd_note})"
    name = f"{side.name} (EMULATED)" if side.emulated else side.name
    return name, str(len(side.seconds.values)), _estimate(side.seconds), money, _estimate(side.samples_per_s)


def _estimate(value: Estimate, unit: str = "") -> str:
    """`21.3 (20.1 to 22.6)`, or the mean with why it has no interval."""

    def shown(part: float | None) -> str:
        return dollars(part) if unit == "$" else number(part, 3 if unit else 4)

    mean = shown(value.mean) + (" ×" if unit == "×" and value.mean is not None else "")
    if value.low is not None and value.high is not None:
        return f"{mean} ({shown(value.low)} to {shown(value.high)})"
    return f"{mean} ({value.note})" if value.note else mean


def costs(item: RunReport) -> Table:
    """The ledger."""
    return Table(("cost", "amount", "source"), [(line.kind, line.amount, line.source) for line in item.spending.costs])


def budget(item: RunReport) -> Table:
    """What was spent of each bound."""
    rows = []
    for line in item.spending.budget:
        bound = "no bound" if line.bound is None else _amount(line.name, line.bound)
        share = f"{line.spent / line.bound:.1%}" if line.bound else ""
        rows.append((line.name.replace("_", " "), _amount(line.name, line.spent), bound, share))
    return Table(("budget", "spent", "bound", "share"), rows)


def _amount(name: str, value: float) -> str:
    return dollars(value) if name.endswith("usd") else number(value)


def attempts(item: RunReport) -> Table:
    """Every run of migrated code."""
    rows = [
        (
            a.id,
            a.by,
            f"{a.target} (EMULATED)" if a.emulated else a.target,
            str(a.chips),
            a.commit[:12],
            one_line(a.purpose, 80),
            a.outcome or "running",
            a.cause or "",
            seconds(a.wall_s),
            f"{number(a.peak_memory_mb)} MB" if a.peak_memory_mb is not None else DASH,
        )
        for a in item.run.attempts
    ]
    columns = ("attempt", "by", "target", "chips", "commit", "purpose", "outcome", "cause", "took", "peak memory")
    return Table(columns, rows)


def decisions(item: RunReport) -> Table:
    """What the stopping criteria said."""
    rows = [(moment(d.time), d.action, d.rule, one_line(d.reason, 300)) for d in item.run.decisions]
    return Table(("time", "action", "rule", "reason"), rows)


def history(entries: Sequence[Entry]) -> Table:
    """The timeline, a row for each entry."""
    rows = [
        (
            seconds(entry.begin_s),
            seconds(entry.end_s - entry.begin_s) if entry.end_s is not None else "",
            f"{entry.kind} ({entry.by})" if entry.by else entry.kind,
            one_line(entry.label, 60),
            entry.outcome or "",
            one_line(entry.detail, 300),
        )
        for entry in sorted(entries, key=lambda entry: entry.begin_s)
    ]
    return Table(("at", "took", "what", "name", "outcome", "detail"), rows)
