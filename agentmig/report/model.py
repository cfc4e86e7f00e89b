"""The report's data: what `agentmig report --json` prints, and all that the pages are made of.

NaN and infinities, which JSON lacks, are the strings `NaN`, `Infinity` and `-Infinity`.
"""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agentmig.journal.view import RunView

VERSION: Literal[1] = 1

Number = float | None


class Part(BaseModel):
    """A part of the report."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class Pair(Part):
    """One quantity of one step, by rank; a single value where the ranks agree."""

    reference: list[Number] = []
    candidate: list[Number] = []


class Divergence(Part):
    """Where the runs part first."""

    step: int | None
    quantity: str
    rank: int | None = None
    tensor: str | None = None
    reference: Number = None
    candidate: Number = None
    error: Number = None
    words: str = Field(description="the place and the numbers in one sentence")


class FindingView(Part):
    """A cause that the traces show."""

    cause: str
    step: int | None
    summary: str


class SemanticsView(Part):
    """The float64 pass, step by step: losses are means over the ranks."""

    steps: list[int]
    quantities: dict[str, list[Pair]] = Field(
        description="loss, norms and learning rate, a pair for each step"
    )
    differences: dict[str, list[Number]] = Field(description="largest relative difference over the ranks")
    tolerance: Number
    first_divergence: Divergence | None
    findings: list[FindingView]


class NumericsView(Part):
    """The teacher-forced pass in production precision."""

    reference: list[Number]
    candidate: list[Number]
    errors: dict[str, list[Number]] = Field(description="of loss and gradient, a value for each step")
    calibration_errors: dict[str, list[Number]] = Field(description="the reference against itself, perturbed")
    limits: dict[str, Number]
    medians: dict[str, Number]


class GoalView(Part):
    """The goal metric; differences are positive where the candidate is better."""

    metric: str
    direction: str
    margin: Number
    reference: list[Number]
    candidate: list[Number]
    difference: Number
    low: Number
    high: Number
    level: Number = Field(description="of each of the two one-sided bounds")


class GateReport(Part):
    """A gate of a claim on one target."""

    gate: str
    question: str
    verdict: str
    cause: str | None
    meaning: str | None = Field(description="of the cause, by the taxonomy")
    advice: str | None = Field(description="what to look at, by the taxonomy")
    summary: str
    numbers: list[tuple[str, str]] = Field(description="the evidence, flattened to names and values")


class TargetReport(Part):
    """A claim on one target."""

    target: str
    emulated: bool
    description: str
    verdict: str
    gates: list[GateReport]
    semantics: SemanticsView | None
    numerics: NumericsView | None
    goal: GoalView | None


class ClaimReport(Part):
    """What was claimed, and what was found."""

    id: str
    commit: str
    time: datetime
    words: str = Field(description="what the agent said")
    verdict: str = Field(
        description="pass, fail, inconclusive; pending while the run goes on, else no verdict"
    )
    cause: str | None
    meaning: str | None
    advice: str | None
    summary: str
    targets: list[TargetReport]


Kind = Literal[
    "reference",
    "session",
    "turn",
    "attempt",
    "claim",
    "verification",
    "decision",
    "feedback",
    "intervention",
    "denied",
    "question",
    "away",
    "end",
]


class Entry(Part):
    """Something that happened; seconds count from the first event."""

    kind: Kind
    begin_s: float
    end_s: float | None = Field(
        default=None, description="for what takes time; the newest event's where it still runs"
    )
    label: str
    detail: str = ""
    outcome: str | None = None
    by: Literal["agent", "verifier"] | None = None


class Spent(Part):
    """Tokens and dollars up to one point; `usd` is null as soon as a response had no price."""

    at_s: float
    tokens: dict[str, int]
    usd: float | None
    usd_by_class: dict[str, float] | None = Field(description="null where the journal has no such split")


class BudgetLine(Part):
    """One bound of the budget."""

    name: str
    spent: float
    bound: float | None


class CostLine(Part):
    """One kind of cost."""

    kind: str
    amount: str
    source: str


class Spending(Part):
    """Tokens and money."""

    over_time: list[Spent]
    cli_usd: list[tuple[float, float]] = Field(
        description="the CLI's own figure, summed up: seconds, dollars"
    )
    costs: list[CostLine]
    budget: list[BudgetLine]


class Estimate(Part):
    """Repeated measurements, summed up."""

    values: list[float]
    mean: Number = Field(description="geometric mean")
    low: Number = Field(default=None, description="lower end of the 95% interval; null where there is none")
    high: Number = None
    note: str = Field(default="", description="why there is no interval")


class Side(Part):
    """Whole trainings of one side."""

    name: str
    hardware: str
    emulated: bool
    seconds: Estimate
    usd: Estimate | None = Field(description="a run; null where there is no price")
    usd_note: str
    samples_per_s: Estimate
    usd_to_target: Estimate | None = Field(
        default=None,
        description="dollars until a training reaches the target quality; null where that isn't known",
    )


class SpeedView(Part):
    """The reference against one target; ratios are the target's over the reference's."""

    target: str
    claim: str
    reference: Side
    candidate: Side
    ratios: dict[str, Estimate] = Field(description="of seconds, usd, samples_per_s")


class RunReport(Part):
    """One run."""

    headline: str
    cautions: list[str]
    run: RunView
    claims: list[ClaimReport]
    timeline: list[Entry]
    spending: Spending
    speed: list[SpeedView]
    facts: list[tuple[str, str]] = Field(description="versions, policy, environments and the like")
    last: datetime = Field(description="time of the newest event")


class ReportView(Part):
    """One run or several."""

    schema_version: Literal[1] = VERSION
    headline: str
    runs: list[RunReport]
