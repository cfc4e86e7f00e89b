"""The events of a migration.

Each is a small frozen model with a literal `kind`. A field added later gets a default, so that old journals still
read; a change of meaning raises `SCHEMA_VERSION`.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

SCHEMA_VERSION: Final = 1


class Verdict(StrEnum):
    """What a gate, or a verification, says."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_REACHED = "not reached"


class Outcome(StrEnum):
    """How an execution attempt ended (the study's classes)."""

    OK = "ok"
    LOUD = "loud"
    """It raised an error."""
    SILENT = "silent"
    """It raised no error, yet a gate fails."""
    UNVERIFIED = "unverified"
    """It raised no error, and no gate could judge it."""
    INFRA = "infra"
    """It failed through no fault of the code."""


class Record(BaseModel):
    """A part of an event."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Record):
    """Tokens of one or more model responses by class, as Anthropic counts them: `input` leaves the cache out."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    @property
    def total(self) -> int:
        """All tokens of all classes."""
        return sum(getattr(self, name) for name in Usage.model_fields)


class GateResult(Record):
    """What one gate found on one target."""

    gate: str
    target: str
    verdict: Verdict
    cause: str | None = None
    """A name of the taxonomy (`agentmig.failures`)."""
    summary: str
    """One or two sentences for people, with the numbers."""
    evidence: dict[str, Any] = {}


class TargetRecord(Record):
    """A target as it was declared when the migration began."""

    name: str
    backend: str
    accelerator: str
    chips: int
    emulated: bool
    description: str
    usd_per_hour: float | None
    """What the runs on it are charged; None where the price book lacks it."""
    price_source: str


class EventBase(Record):
    """What every event carries."""

    schema_version: Literal[1] = SCHEMA_VERSION
    seq: int = 0
    time: AwareDatetime
    """UTC."""


class MigrationStarted(EventBase):
    """The first event: what was asked for."""

    kind: Literal["migration_started"] = "migration_started"
    run_id: str
    mode: Literal["migrate", "verify"]
    workload: str
    workload_file: str
    base_commit: str
    targets: list[TargetRecord]
    reference_target: TargetRecord
    policy: str
    budget: dict[str, float | int | None]
    isolation: Literal["bubblewrap", "none"]
    words: str
    """Who speaks for the model: `live`, or the transcript that is played and its origin."""
    model: str
    versions: dict[str, str]
    play: str | None = None
    """The session file that is played; None for a live model or no agent."""
    candidate: str | None = None
    """What a verification is of: its id in the run's own repository."""


class MigrationResumed(EventBase):
    """A run that ended before a verdict, or whose supervisor went away, goes on."""

    kind: Literal["migration_resumed"] = "migration_resumed"
    after: str
    """How it had ended, in words."""
    budget: dict[str, float | int | None]
    """What may be spent in all from here on."""
    isolation: Literal["bubblewrap", "none"]
    processes_killed: int = 0
    """What the earlier supervisor had left running."""


class EnvironmentReady(EventBase):
    """An environment can be used."""

    kind: Literal["environment_ready"] = "environment_ready"
    name: str
    key: str
    cached: bool
    wall_s: float


class ReferenceMeasured(EventBase):
    """The unmigrated code was run, or an earlier result with the same key was taken from the cache."""

    kind: Literal["reference_measured"] = "reference_measured"
    key: str
    cached: bool
    hardware: str
    chips: int
    metric: str
    values: list[float]
    seeds: list[int]
    wall_s: float
    samples_per_s: float | None
    detail: dict[str, Any] = {}


class SessionStarted(EventBase):
    """The CLI was started or resumed."""

    kind: Literal["session_started"] = "session_started"
    session: str
    resumed: str | None
    cwd: str
    config_dir: str
    cli_version: str
    prompt: str


class Turn(EventBase):
    """One distinct model response."""

    kind: Literal["turn"] = "turn"
    session: str
    message_id: str
    model: str
    text: str
    tools: list[str]
    usage: Usage
    usd: float | None
    """From the price book; None where it lacks the model."""
    usd_by_class: dict[str, float] = {}
    """The same for each field of `usage`; empty where the price book lacks the model."""


class ToolDenied(EventBase):
    """The guard refused a tool call of the agent."""

    kind: Literal["tool_denied"] = "tool_denied"
    tool: str
    reason: str
    input: str


class SessionEnded(EventBase):
    """The CLI is gone, with all of its processes."""

    kind: Literal["session_ended"] = "session_ended"
    session: str
    reason: Literal["turn_ended", "limit", "idle", "error", "interrupted"]
    """`interrupted`: the supervisor itself went away."""
    detail: str = ""
    cli_usd: float | None
    """The CLI's own figure for this stretch (a difference of its running total)."""
    processes_killed: int


class AttemptStarted(EventBase):
    """Migrated code is about to run on a target."""

    kind: Literal["attempt_started"] = "attempt_started"
    attempt: str
    by: Literal["agent", "verifier"]
    target: str
    chips: int
    commit: str
    command: str
    purpose: str


class AttemptFinished(EventBase):
    """An execution attempt ended."""

    kind: Literal["attempt_finished"] = "attempt_finished"
    attempt: str
    outcome: Outcome
    cause: str | None
    summary: str
    exit_code: int | None
    timed_out: bool
    wall_s: float
    peak_memory_mb: float
    usd: float | None
    log: str
    gates: list[GateResult] = []
    """The cheap gates, for an attempt of the agent."""


class ClaimMade(EventBase):
    """The agent says that it is done."""

    kind: Literal["claim_made"] = "claim_made"
    claim: str
    commit: str
    summary: str


class GateFinished(EventBase):
    """One gate of a claim has its verdict."""

    kind: Literal["gate_finished"] = "gate_finished"
    claim: str
    result: GateResult


class ClaimVerified(EventBase):
    """The verification of a claim ended."""

    kind: Literal["claim_verified"] = "claim_verified"
    claim: str
    verdict: Verdict
    cause: str | None
    summary: str
    alpha_spent: float = 0.0
    seeds: list[int] = []


class DecisionMade(EventBase):
    """What the stopping criteria said at one point."""

    kind: Literal["decision_made"] = "decision_made"
    action: Literal["start", "continue", "verify", "feedback", "ask", "stop", "accept"]
    rule: str
    reason: str


class QuestionAsked(EventBase):
    """A person is needed."""

    kind: Literal["question_asked"] = "question_asked"
    question: str
    by: Literal["agent", "policy"]


class Intervention(EventBase):
    """A person's message."""

    kind: Literal["intervention"] = "intervention"
    reason: Literal["environment", "access", "decision", "hint", "correction", "approval"]
    text: str
    minutes: float
    waited_s: float


class FeedbackSent(EventBase):
    """The supervisor's own words to the agent; not an intervention."""

    kind: Literal["feedback_sent"] = "feedback_sent"
    text: str
    about: str


class MigrationFinished(EventBase):
    """The last event."""

    kind: Literal["migration_finished"] = "migration_finished"
    verdict: Literal["accepted", "rejected", "stopped", "inconclusive", "waiting"]
    reason: str


Event = Annotated[
    MigrationStarted
    | MigrationResumed
    | EnvironmentReady
    | ReferenceMeasured
    | SessionStarted
    | Turn
    | ToolDenied
    | SessionEnded
    | AttemptStarted
    | AttemptFinished
    | ClaimMade
    | GateFinished
    | ClaimVerified
    | DecisionMade
    | QuestionAsked
    | Intervention
    | FeedbackSent
    | MigrationFinished,
    Field(discriminator="kind"),
]
