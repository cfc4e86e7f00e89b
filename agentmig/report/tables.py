"""Tables that the page and the Markdown share; cells are text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agentmig.report.model import (
    Entry,
    Estimate,
    GoalView,
    Number,
    NumericsView,
    RunReport,
    SemanticsView,
    Side,
)
from agentmig.report.text import DASH, dollars, moment, number, one_line, seconds, short
from agentmig.verification.gates import GATES

Row = tuple[str, ...]
_BOUNDS = {
    "agent_usd": "agent",
    "compute_usd": "compute",
    "turns": "turns",
    "tokens": "tokens",
    "wall_hours": "hours",
    "human_minutes": "minutes of people",
}


@dataclass(frozen=True)
class Table:
    """A table."""

    columns: Row
    rows: Sequence[Row]


def gates(item: RunReport) -> Table:
    """Every claim on every target with the verdict of each gate; the newest claim first."""
    seen = {gate.gate for claim in item.claims for target in claim.targets for gate in target.gates}
    names = (*GATES, *sorted(seen - set(GATES)))
    rows = []
    for claim in reversed(item.claims):
        lacking = "pending" if claim.verdict == "pending" else "no verdict"
        for target in claim.targets:
            found = {gate.gate: gate.verdict for gate in target.gates}
            name = f"{target.target} (EMULATED)" if target.emulated else target.target
            rows.append((claim.id, name, *(found.get(gate, lacking) for gate in names), target.verdict))
    return Table(("claim", "target", *names, "verdict"), rows)


def runs(items: Sequence[RunReport]) -> Table:
    """A row for each run."""
    columns = ("verdict", "run", "workload", "targets", "words", "claims", "attempts", "turns")
    rows: list[Row] = [
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
    columns = (
        "",
        "runs",
        "seconds of a run",
        "dollars of a run",
        "dollars to the target quality",
        "samples/s",
    )
    rows = [_side(item.speed[0].reference)]
    for view in item.speed:
        rows.append(_side(view.candidate))
        usd = view.ratios.get("usd")
        rows.append(
            (
                f"{short(view.target, 24)} / reference",
                "",
                _estimate(view.ratios["seconds"], "×"),
                _estimate(usd, "×") if usd else DASH,
                "",
                _estimate(view.ratios["samples_per_s"], "×"),
            )
        )
    return Table(columns, rows)


def _side(side: Side) -> Row:
    usd = side.usd
    money = _estimate(usd, "$") if usd else f"{DASH} ({side.usd_note})"
    name = short(side.name, 24) + (" (EMULATED)" if side.emulated else "")
    to_target = _estimate(side.usd_to_target, "$") if side.usd_to_target else DASH
    runs = str(len(side.seconds.values))
    return name, runs, _estimate(side.seconds), money, to_target, _estimate(side.samples_per_s)


def _estimate(value: Estimate, unit: str = "") -> str:
    """`21.3 (20.1 to 22.6)`, or the mean with why it has no interval."""

    def shown(part: float | None) -> str:
        return dollars(part) if unit == "$" else _times(part) if unit == "×" else number(part)

    mean = shown(value.mean) + (" ×" if unit == "×" and value.mean is not None else "")
    if value.low is not None and value.high is not None:
        return f"{mean} ({shown(value.low)}\u00a0to\u00a0{shown(value.high)})"
    return f"{mean} ({value.note})" if value.note else mean


def _times(value: float | None) -> str:
    """A factor with three digits, zeros included."""
    return number(value) if value is None or not math.isfinite(value) else f"{value:#.3g}".rstrip(".")


def costs(item: RunReport) -> Table:
    """The ledger."""
    return Table(
        ("cost", "amount", "source"), [(line.kind, line.amount, line.source) for line in item.spending.costs]
    )


def budget(item: RunReport) -> Table:
    """What was spent of each bound."""
    rows = []
    for line in item.spending.budget:
        bound = "no bound" if line.bound is None else _amount(line.name, line.bound)
        share = f"{line.spent / line.bound:.1%}" if line.bound else ""
        rows.append((_BOUNDS.get(line.name, line.name), _amount(line.name, line.spent), bound, share))
    return Table(("budget", "spent", "bound", "share"), rows)


def _amount(name: str, value: float) -> str:
    return dollars(value) if name.endswith("usd") else number(value)


def attempts(item: RunReport) -> Table:
    """Every run of migrated code."""
    rows: list[Row] = [
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
    columns = (
        "attempt",
        "by",
        "target",
        "chips",
        "commit",
        "purpose",
        "outcome",
        "cause",
        "took",
        "peak memory",
    )
    return Table(columns, rows)


def decisions(item: RunReport) -> Table:
    """What the stopping criteria said."""
    rows = [(moment(d.time), d.action, d.rule, one_line(d.reason, 300)) for d in item.run.decisions]
    return Table(("time", "action", "rule", "reason"), rows)


def history(entries: Sequence[Entry]) -> Table:
    """The timeline, a row for each entry."""
    rows: list[Row] = [
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


def steps(view: SemanticsView) -> Table:
    """The float64 pass, compact: both sides of each quantity, and the largest difference of all."""
    names = [name for name in view.quantities if name != "lr"]
    columns = [
        f"{_QUANTITIES.get(name, name)}, {side}" for name in names for side in ("reference", "candidate")
    ]
    rows = []
    for index, step in enumerate(view.steps):
        pairs = [view.quantities[name][index] for name in names]
        errors = [found for values in view.differences.values() if (found := values[index]) is not None]
        cells = [_listed(side) for pair in pairs for side in (pair.reference, pair.candidate)]
        largest = max(errors, key=lambda error: math.inf if math.isnan(error) else error, default=None)
        rows.append((str(step), *cells, number(largest, 3)))
    return Table(("step", *columns, "largest difference"), rows)


_QUANTITIES = {"norm_before_clip": "norm before clip", "grad_norm": "norm applied", "update_norm": "update"}


def _listed(values: Sequence[Number]) -> str:
    return ", ".join(number(value, 5) for value in values) or DASH


def forced_steps(view: NumericsView) -> Table:
    """The teacher-forced pass, compact: losses, and each error beside the reference's own."""
    names = list(view.errors)
    count = max([len(view.reference), *(len(values) for values in view.errors.values())])
    rows = []
    for index in range(count):
        cells = [view.reference, view.candidate]
        cells += [side.get(name, []) for name in names for side in (view.errors, view.calibration_errors)]
        digits = (6, 6, *(3 for _ in cells[2:]))
        shown = [
            number(values[index] if index < len(values) else None, d)
            for values, d in zip(cells, digits, strict=True)
        ]
        rows.append((str(index), *shown))
    errors = [f"{name} error{whose}" for name in names for whose in ("", ", reference against itself")]
    return Table(("step", "loss, reference", "loss, candidate", *errors), rows)


def limits(view: NumericsView) -> Table:
    """What the gate judges: medians against the calibrated limits."""
    names = dict.fromkeys([*view.medians, *view.limits])
    rows = [(name, number(view.medians.get(name), 3), number(view.limits.get(name), 3)) for name in names]
    return Table(("error", "median over the steps", "limit"), rows)


def goal_values(view: GoalView) -> Table:
    """The goal metric of each seed."""
    rows = []
    for name, values in (("reference", view.reference), ("candidate", view.candidate)):
        known = [value for value in values if value is not None]
        mean = number(math.fsum(known) / len(known), 5) if known and all(map(math.isfinite, known)) else DASH
        rows.append((name, str(len(values)), mean, ", ".join(number(value, 5) for value in values)))
    return Table((one_line(view.metric, 60), "seeds", "mean", "values"), rows)
