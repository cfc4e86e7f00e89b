"""From what was observed of the arms to the document: a pure count, with exact intervals."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from statistics import median
from typing import Literal

import numpy as np
from scipy import stats

from agentmig.bench.arms import Arm
from agentmig.bench.baselines import WORDS
from agentmig.bench.manifests import Mutant, Operator
from agentmig.bench.model import (
    ArmRow,
    BaselineRow,
    CauseRow,
    FaultBench,
    GateRow,
    OperatorRow,
    ReasonRow,
    Row,
    Summary,
    WorkloadRow,
)
from agentmig.bench.rows import Observation
from agentmig.journal import Verdict
from agentmig.study.model import Table
from agentmig.study.statistics import exact_share
from agentmig.verification.gates import GATES

DETECTION = 0.95
"""Share of mutants that must be rejected."""
_LEVEL = 0.95
_VERDICTS: dict[Verdict, Literal["pass", "fail", "inconclusive"]] = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_REACHED: "inconclusive",
}
_INDEPENDENT = "Intervals are those of independent arms; arms of one workload or operator are not quite that."


def document(
    arms: Sequence[Arm],
    found: Mapping[str, Observation],
    operators: Sequence[Operator],
    problems: Mapping[str, str],
    machine: str,
) -> FaultBench:
    """The document of a campaign.

    Args:
        arms: all that were to be run.
        found: observations by the arms' keys.
        operators: whose mutants they are; also names what can't be expressed.
        problems: why arms could not be run, by their names.
        machine: what it was made on, in words.
    """
    known = [(arm, found[arm.key]) for arm in arms if arm.key in found]
    shares = calibration_shares(known)
    by_name = {operator.name: operator for operator in operators}
    rows = [_row(arm, seen, by_name.get(arm.operator), shares) for arm, seen in known]
    not_run = [
        ReasonRow(arm=arm.id, why=problems.get(arm.id, "interrupted before it was run"))
        for arm in arms
        if arm.key not in found
    ]
    places = {arm.workload for arm in arms}
    summary = summarize(rows, _inexpressible(operators, places), not_run)
    return FaultBench(machine=machine, summary=summary, rows=rows)


def calibration_shares(known: Sequence[tuple[Arm, Observation]]) -> dict[tuple[str, str], float]:
    """What an arm of each workload and target bears of the reference's records and calibrations, in seconds."""
    spent: dict[tuple[str, str], list[float]] = {}
    for arm, seen in known:
        if seen.verified:
            spent.setdefault(arm.group, []).append(seen.verified.calibration_s)
    return {group: max(seconds) / len(seconds) for group, seconds in spent.items()}


def _row(
    arm: Arm, seen: Observation, operator: Operator | None, shares: Mapping[tuple[str, str], float]
) -> Row:
    mutant = _mutant(arm, operator) if operator else None
    expected = operator.expects(mutant) if operator and mutant else []
    made = seen.verified
    verdict = _VERDICTS[made.verdict] if made else None
    cost = made.wall_s + shares[arm.group] if made else None
    return Row(
        arm=arm.id,
        kind=arm.kind,
        operator=arm.operator,
        title=operator.title if operator else "The correct migration itself",
        number=operator.number if operator else None,
        source=operator.source if operator else "",
        note=mutant.note if mutant else "",
        workload=arm.workload,
        target=arm.target,
        emulated=arm.emulated,
        oracle=arm.oracle,
        outcome=seen.outcome,
        reason=seen.reason,
        distance=seen.distance,
        metric=seen.metric,
        verdict=verdict,
        gate=made.gate if made else None,
        cause=made.cause if made else None,
        expected=expected,
        cause_right=made.cause in expected if made and verdict == "fail" and expected else None,
        summary=made.summary if made else "",
        verify_s=made.wall_s if made else None,
        runs_s=made.runs_s if made else None,
        steps=made.steps if made else None,
        calibration_s=shares[arm.group] if made else None,
        reference_run_s=made.reference_run_s if made else None,
        reference_seeds=made.reference_seeds if made else None,
        cost_fraction=cost / (made.reference_run_s * made.reference_seeds) if made and cost else None,
        cost_runs=cost / made.reference_run_s if made and cost else None,
        baselines=seen.baselines,
        run=seen.run,
    )


def _mutant(arm: Arm, operator: Operator) -> Mutant:
    """The mutant that an arm is of, by the number in its name."""
    same = [m for m in operator.mutant if (m.workload, m.target) == (arm.workload, arm.target)]
    number = arm.id.removeprefix(f"{arm.operator}.{arm.workload}.{arm.target}").removeprefix(".")
    return same[int(number) - 1 if number else 0]


def _inexpressible(operators: Iterable[Operator], workloads: Set[str]) -> list[ReasonRow]:
    found = []
    for operator in operators:
        for mutant in operator.mutant:
            if mutant.inexpressible is not None and mutant.workload in (None, *workloads):
                place = [part for part in (mutant.workload, mutant.target) if part]
                found.append(ReasonRow(arm=".".join([operator.name, *place]), why=mutant.inexpressible))
    return found


def summarize(rows: Sequence[Row], inexpressible: list[ReasonRow], not_run: list[ReasonRow]) -> Summary:
    """Count rows.

    Args:
        rows: of all arms that were run.
        inexpressible: mutants that this hardware can't have.
        not_run: arms that could not be run.
    """
    mutants = [row for row in rows if row.outcome == "differs"]
    loud = [row for row in rows if row.outcome == "broken"]
    clean = [row for row in rows if row.kind in ("clean", "rewrite")]
    detected, alarms = _rejected(mutants), _rejected(clean)
    missed = [row for row in [*mutants, *loud] if row.verdict != "fail"]
    right = [row for row in detected if row.cause_right]
    named = [row for row in detected if row.cause_right is not None]
    enough = len(detected) >= DETECTION * len(mutants)
    return Summary(
        operators=len({row.operator for row in mutants}),
        workloads=len({row.workload for row in rows}),
        emulated=sum(row.emulated for row in rows),
        mutants=len(mutants),
        detected=len(detected),
        cause_right=len(right),
        clean=len(clean),
        clean_rejected=len(alarms),
        clean_inconclusive=sum(row.verdict == "inconclusive" for row in clean),
        detection=exact_share(len(detected), len(mutants)),
        cause_precision=exact_share(len(right), len(named)),
        false_alarms=exact_share(len(alarms), len(clean)),
        false_alarm_bound=upper_bound(len(alarms), len(clean)),
        median_cost_fraction=_middle(row.cost_fraction for row in mutants),
        worst_tenth_cost_runs=_worst_tenth(row.cost_runs for row in mutants),
        clean_median_cost_fraction=_middle(row.cost_fraction for row in clean),
        reached=enough and not alarms and not not_run and all(row.verdict == "fail" for row in loud),
        by_operator=_by_operator(mutants),
        by_workload=_by_workload(mutants, clean),
        by_gate=_by_gate(mutants, clean),
        baselines=_baselines(mutants, clean),
        missed=Table[ArmRow](title="Mutants that were not rejected", notes=[], rows=_arms(missed)),
        alarms=Table[ArmRow](
            title="Correct arms that were not accepted",
            notes=[],
            rows=_arms(row for row in clean if row.verdict != "pass"),
        ),
        wrong_cause=_wrong_causes(detected),
        loud=Table[ArmRow](
            title="Loud mutants",
            notes=[
                "Their training stops with an error, so they count as no silent fault; they must be rejected."
            ],
            rows=_arms(loud),
        ),
        equivalent=Table[ReasonRow](
            title="Equivalent mutants, not counted",
            notes=[],
            rows=[ReasonRow(arm=r.arm, why=r.reason) for r in rows if r.outcome == "equivalent"],
        ),
        inexpressible=Table[ReasonRow](
            title="What this hardware can't have, not counted", notes=[], rows=inexpressible
        ),
        not_run=Table[ReasonRow](title="Arms that could not be run", notes=[], rows=not_run),
    )


def upper_bound(count: int, total: int) -> float | None:
    """Clopper and Pearson's one-sided upper bound of a share; None of nothing."""
    if total == 0:
        return None
    return 1.0 if count == total else float(stats.beta.ppf(_LEVEL, count + 1, total - count))


def _rejected(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.verdict == "fail"]


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _worst_tenth(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.quantile(known, 0.9)) if known else None


def _arms(rows: Iterable[Row]) -> list[ArmRow]:
    return [
        ArmRow(arm=row.arm, verdict=row.verdict or "not verified", why=row.summary or row.reason)
        for row in rows
    ]


def _by_operator(mutants: Sequence[Row]) -> Table[OperatorRow]:
    made = []
    order = sorted({(row.number is None, row.number or 0, row.operator) for row in mutants})
    for _, _, name in order:
        rows = [row for row in mutants if row.operator == name]
        detected = _rejected(rows)
        gates = [(gate, sum(row.gate == gate for row in detected)) for gate in GATES]
        made.append(
            OperatorRow(
                number=rows[0].number,
                operator=name,
                title=rows[0].title,
                mutants=len(rows),
                detected=len(detected),
                share=exact_share(len(detected), len(rows)),
                cause_right=sum(row.cause_right is True for row in detected),
                gates=", ".join(f"{gate} {count}" for gate, count in gates if count),
            )
        )
    return Table[OperatorRow](title="By operator", notes=[_INDEPENDENT], rows=made)


def _by_workload(mutants: Sequence[Row], clean: Sequence[Row]) -> Table[WorkloadRow]:
    made = []
    for workload, target in sorted({(row.workload, row.target) for row in [*mutants, *clean]}):

        def here(row: Row, place: tuple[str, str] = (workload, target)) -> bool:
            return (row.workload, row.target) == place

        bad, good = list(filter(here, mutants)), list(filter(here, clean))
        made.append(
            WorkloadRow(
                workload=workload,
                target=f"{target} (EMULATED)" if any(row.emulated for row in [*bad, *good]) else target,
                mutants=len(bad),
                detected=len(_rejected(bad)),
                share=exact_share(len(_rejected(bad)), len(bad)),
                clean=len(good),
                clean_rejected=len(_rejected(good)),
                clean_inconclusive=sum(row.verdict == "inconclusive" for row in good),
            )
        )
    return Table[WorkloadRow](title="By workload and target", notes=[], rows=made)


def _by_gate(mutants: Sequence[Row], clean: Sequence[Row]) -> Table[GateRow]:
    made = []
    seen = {row.gate for row in _rejected([*mutants, *clean])}
    for gate in [*GATES, *sorted(g for g in seen if g and g not in GATES)]:
        hits = [row for row in _rejected(mutants) if row.gate == gate]
        alarms = [row for row in _rejected(clean) if row.gate == gate]
        made.append(
            GateRow(
                gate=gate,
                mutants=len(hits),
                share=exact_share(len(hits), len(mutants)),
                cause_right=sum(row.cause_right is True for row in hits),
                clean=len(alarms),
                precision=exact_share(len(hits), len(hits) + len(alarms)),
            )
        )
    notes = ["The first gate that fails ends a verification. Precision: mutants among all that it rejected."]
    return Table[GateRow](title="By gate", notes=notes, rows=made)


def _baselines(mutants: Sequence[Row], clean: Sequence[Row]) -> Table[BaselineRow]:
    def judged(rows: Sequence[Row], accepts: Callable[[Row], bool | None]) -> tuple[int, int]:
        said = [answer for row in rows if (answer := accepts(row)) is not None]
        return len(said), sum(not answer for answer in said)

    made = []
    for check, meaning in WORDS.items():

        def accepts(row: Row, check: str = check) -> bool | None:
            return row.baselines.get(check)

        of_mutants, detected = judged(mutants, accepts)
        of_clean, alarms = judged(clean, accepts)
        made.append(
            BaselineRow(
                check=check,
                meaning=meaning,
                mutants=of_mutants,
                detected=detected,
                share=exact_share(detected, of_mutants),
                clean=of_clean,
                clean_rejected=alarms,
                false_alarms=exact_share(alarms, of_clean),
            )
        )
    return Table[BaselineRow](title="Simpler checks on the same arms", notes=[], rows=made)


def _wrong_causes(detected: Sequence[Row]) -> Table[CauseRow]:
    rows = [
        CauseRow(arm=row.arm, gate=row.gate or "", cause=row.cause or "", expected=", ".join(row.expected))
        for row in detected
        if row.cause_right is False
    ]
    return Table[CauseRow](title="Rejected for another cause than the expected ones", notes=[], rows=rows)
