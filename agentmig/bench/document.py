"""`fault-bench.md`: a pure function of the document, so that what is printed is what was counted."""

from agentmig.bench.model import FaultBench, Summary
from agentmig.study.formats import markdown_text
from agentmig.study.layout import Grid, grid
from agentmig.study.model import Estimate
from agentmig.study.text import between, counted, figure

TABLES = (
    "by_gate",
    "by_operator",
    "by_workload",
    "baselines",
    "missed",
    "alarms",
    "wrong_cause",
    "loud",
    "equivalent",
    "inexpressible",
    "not_run",
)
"""Names of the summary's tables, in the order in which they are shown."""


def markdown(bench: FaultBench) -> str:
    """The document as GitHub-flavoured Markdown."""
    parts = [
        "# Fault bench\n",
        "Written by `agentmig bench faults` from `fault-bench.json`; what its words mean stands in "
        "[its guide](howto/bench.md).\n",
        f"Made with agentmig {markdown_text(bench.agentmig)} on {markdown_text(bench.machine)}.\n",
        *(f"- {markdown_text(line)}" for line in headlines(bench.summary)),
        "",
    ]
    for shown in grids(bench):
        parts += [f"## {markdown_text(shown.title)}\n", _table(shown) if shown.rows else "None.\n"]
        parts += [f"- {markdown_text(note)}" for note in shown.notes if shown.rows]
        parts.append("")
    return "\n".join(parts).strip("\n") + "\n"


def headlines(summary: Summary) -> list[str]:
    """The figures that matter, in sentences."""
    detected = f"{summary.detected} of {counted(summary.mutants, 'mutant')} rejected"
    over = f"{counted(summary.operators, 'operator')} on {counted(summary.workloads, 'workload')}"
    right = f"{summary.cause_right} of them for an expected cause"
    false = f"{summary.clean_rejected} of {counted(summary.clean, 'correct arm')} rejected"
    bound = f"; with 95% confidence below {_share(summary.false_alarm_bound)}" if summary.clean else ""
    lines = [
        f"{detected}{_interval(summary.detection)}, of {over}; {right}{_interval(summary.cause_precision)}.",
        f"{false}{_interval(summary.false_alarms)}{bound}; {summary.clean_inconclusive} inconclusive.",
        f"Not counted: {counted(len(summary.equivalent.rows), 'equivalent mutant')}, "
        f"{len(summary.loud.rows)} that stop with an error, {len(summary.inexpressible.rows)} that this hardware can't have.",
    ]
    if summary.median_cost_fraction is not None:
        lines.append(
            f"The median verification of a mutant costs {_share(summary.median_cost_fraction)} of the reference's seeds; "
            f"nine tenths of them cost less than {figure(summary.worst_tenth_cost_runs, 'number')} full trainings."
        )
    if summary.clean_median_cost_fraction is not None:
        lines.append(
            f"The median verification of a correct arm costs {_share(summary.clean_median_cost_fraction)} of them."
        )
    if summary.emulated:
        lines.append(
            f"{counted(summary.emulated, 'arm')} on EMULATED targets: processes on a CPU stood in for their chips."
        )
    if summary.not_run.rows:
        lines.append(f"{counted(len(summary.not_run.rows), 'arm')} could not be run.")
    return lines


def grids(bench: FaultBench) -> list[Grid]:
    """The tables, laid out; those of exceptions only where there are some."""
    always = ("by_gate", "by_operator", "by_workload", "baselines", "missed", "alarms")
    found = [(name, getattr(bench.summary, name)) for name in TABLES]
    return [grid(name, table) for name, table in found if table.rows or name in always]


def _share(value: float | None) -> str:
    return figure(value, "share")


def _interval(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return ""
    return f" ({_share(estimate.value)} {between(estimate.low, estimate.high, 'share')})"


def _table(shown: Grid) -> str:
    lines = [
        [markdown_text(column.header) for column in shown.columns],
        [":--" if column.is_text else "--:" for column in shown.columns],
        *([markdown_text(cell) for cell in row] for row in shown.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
