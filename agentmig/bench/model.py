"""What a fault bench comes to: `fault-bench.json`, and what `fault-bench.md` shows of it."""

from typing import Annotated, Literal

from agentmig import __version__
from agentmig.bench.arms import ArmKind
from agentmig.bench.manifests import OracleKind
from agentmig.bench.oracle import Outcome
from agentmig.study.model import Estimate, Part, Shown, Table

VERSION: Literal[1] = 1

Name = Annotated[str, Shown("arm", "text")]
Workload = Annotated[str, Shown("workload", "text")]
Target = Annotated[str, Shown("target", "text")]
Reason = Annotated[str, Shown("why", "text")]


class Row(Part):
    """One arm: what was put into which migration, and what came out."""

    arm: str
    kind: ArmKind
    operator: str
    title: str
    number: int | None
    """The operator's row in the catalogue of faults."""
    source: str
    note: str
    workload: str
    target: str
    emulated: bool
    """Whether the target's chips are stood in for by processes on a CPU."""
    oracle: OracleKind | None
    outcome: Outcome | None
    """`differs`: counted; `equivalent`: nothing to detect; `broken`: stops with an error. None for what is to be accepted."""
    reason: str
    """Of the outcome."""
    distance: float | None
    """Of the checkpoint from the correct migration's after a whole training with one seed, relative to its norm."""
    metric: float | None
    verdict: Literal["pass", "fail", "inconclusive"] | None
    """None where nothing was verified."""
    gate: str | None
    """The first gate that failed, or else the first that could not be judged."""
    cause: str | None
    expected: list[str]
    cause_right: bool | None
    """Whether the cause is an expected one; None where nothing was rejected, or nothing is expected."""
    summary: str
    verify_s: float | None
    """Seconds from the claim to the verdict."""
    runs_s: float | None
    """Of them the candidate's own runs."""
    steps: int | None
    """Optimizer steps of the candidate's own runs."""
    calibration_s: float | None
    """The reference's records and calibrations for this workload and target, shared out over its verified arms."""
    reference_run_s: float | None
    """Mean seconds of one full training of the untouched code."""
    reference_seeds: int | None
    cost_fraction: float | None
    """Verification and its share of the calibration, over the time of the reference's seeds."""
    cost_runs: float | None
    """The same over one full training."""
    baselines: dict[str, bool | None]
    """Whether simpler checks accept it; None where one has nothing to look at."""
    run: str | None
    """The verification's run folder, in the campaign's folder."""


class OperatorRow(Part):
    """Mutants of one operator that differ."""

    number: Annotated[int | None, Shown("no.", "count")]
    operator: Annotated[str, Shown("operator", "text")]
    title: Annotated[str, Shown("fault", "text")]
    mutants: Annotated[int, Shown("mutants", "count")]
    detected: Annotated[int, Shown("rejected", "count")]
    share: Annotated[Estimate, Shown("share", "share")]
    cause_right: Annotated[int, Shown("cause right", "count")]
    gates: Annotated[str, Shown("by", "text")]


class WorkloadRow(Part):
    """Arms of one workload on one target."""

    workload: Workload
    target: Target
    mutants: Annotated[int, Shown("mutants", "count")]
    detected: Annotated[int, Shown("rejected", "count")]
    share: Annotated[Estimate, Shown("share", "share")]
    clean: Annotated[int, Shown("correct", "count")]
    clean_rejected: Annotated[int, Shown("rejected of these", "count")]
    clean_inconclusive: Annotated[int, Shown("inconclusive", "count")]


class GateRow(Part):
    """What one gate rejected first."""

    gate: Annotated[str, Shown("gate", "text")]
    mutants: Annotated[int, Shown("mutants rejected", "count")]
    share: Annotated[Estimate, Shown("share of mutants", "share")]
    cause_right: Annotated[int, Shown("cause right", "count")]
    clean: Annotated[int, Shown("correct rejected", "count")]
    precision: Annotated[Estimate, Shown("precision", "share")]


class BaselineRow(Part):
    """What a simpler check would say of the same arms."""

    check: Annotated[str, Shown("check", "text")]
    meaning: Annotated[str, Shown("accepts", "text")]
    mutants: Annotated[int, Shown("mutants", "count")]
    detected: Annotated[int, Shown("rejected", "count")]
    share: Annotated[Estimate, Shown("share", "share")]
    clean: Annotated[int, Shown("correct", "count")]
    clean_rejected: Annotated[int, Shown("rejected of these", "count")]
    false_alarms: Annotated[Estimate, Shown("false alarms", "share")]


class CauseRow(Part):
    """A mutant that was rejected for another cause than the expected ones."""

    arm: Name
    gate: Annotated[str, Shown("gate", "text")]
    cause: Annotated[str, Shown("cause", "text")]
    expected: Annotated[str, Shown("expected", "text")]


class ArmRow(Part):
    """An arm to look at."""

    arm: Name
    verdict: Annotated[str, Shown("verdict", "text")]
    why: Reason


class ReasonRow(Part):
    """An arm that isn't counted."""

    arm: Name
    why: Reason


class Summary(Part):
    """The counts. Mutants that are equivalent, stop with an error or can't be expressed are in none of the first ones."""

    operators: int
    """That have a mutant which is counted."""
    workloads: int
    emulated: int
    """Arms on emulated targets, of all rows."""
    mutants: int
    """That differ from the correct migration."""
    detected: int
    """Of them rejected."""
    cause_right: int
    """Of those, for an expected cause."""
    clean: int
    """Correct migrations and legitimate rewrites of them."""
    clean_rejected: int
    clean_inconclusive: int
    detection: Estimate
    cause_precision: Estimate
    """Right causes among rejected mutants."""
    false_alarms: Estimate
    """Rejected ones among what is correct."""
    false_alarm_bound: float | None
    """Upper bound of that rate, one-sided, at 95% (Clopper-Pearson)."""
    median_cost_fraction: float | None
    """Of counted mutants: verification over the time of the reference's seeds."""
    worst_tenth_cost_runs: float | None
    """Nine tenths of counted mutants cost less; over one full training of the reference."""
    clean_median_cost_fraction: float | None
    reached: bool
    """At least 95% of mutants rejected, no correct arm and each loud mutant rejected, nothing left to run."""
    by_operator: Table[OperatorRow]
    by_workload: Table[WorkloadRow]
    by_gate: Table[GateRow]
    baselines: Table[BaselineRow]
    missed: Table[ArmRow]
    """Mutants that were not rejected, loud ones too."""
    alarms: Table[ArmRow]
    """Correct arms that were not accepted."""
    wrong_cause: Table[CauseRow]
    loud: Table[ArmRow]
    equivalent: Table[ReasonRow]
    inexpressible: Table[ReasonRow]
    not_run: Table[ReasonRow]


class FaultBench(Part):
    """The document."""

    schema_version: Literal[1] = VERSION
    agentmig: str = __version__
    machine: str
    """What it was made on, in words."""
    summary: Summary
    rows: list[Row]
