"""The state of a migration: a pure fold over its events.

`fold(events)` depends on nothing but the events, so a journal read back tomorrow gives the state that the supervisor
decided on today. `apply` mutates the state that it is given; only `fold` and the live view call it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    Event,
    FeedbackSent,
    GateFinished,
    GateResult,
    Intervention,
    MigrationFinished,
    MigrationResumed,
    MigrationStarted,
    Outcome,
    QuestionAsked,
    ReferenceMeasured,
    SessionEnded,
    SessionStarted,
    ToolDenied,
    Turn,
    Usage,
    Verdict,
)


@dataclass
class Attempt:
    """An execution attempt; `finished` is None while it runs."""

    started: AttemptStarted
    finished: AttemptFinished | None = None


@dataclass
class Claim:
    """A claim with what its gates said so far; `verified` is None until the verification ended."""

    made: ClaimMade
    gates: list[GateResult] = field(default_factory=list)
    verified: ClaimVerified | None = None


@dataclass
class State:
    """Everything known of a migration at one point of its journal."""

    started: MigrationStarted | None = None
    finished: MigrationFinished | None = None
    """None while it runs, also when it runs again."""
    resumed: list[MigrationResumed] = field(default_factory=list)
    idle_s: float = 0.0
    """Seconds between the end of one supervisor and the beginning of the next."""
    last_time: datetime | None = None
    reference: ReferenceMeasured | None = None
    attempts: dict[str, Attempt] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)
    """By message id: a response that arrives twice counts once, its last form."""
    sessions: list[SessionStarted] = field(default_factory=list)
    session_ends: list[SessionEnded] = field(default_factory=list)
    denials: list[ToolDenied] = field(default_factory=list)
    decisions: list[DecisionMade] = field(default_factory=list)
    interventions: list[Intervention] = field(default_factory=list)
    feedback: list[FeedbackSent] = field(default_factory=list)
    question: QuestionAsked | None = None
    """The open question, until it is answered."""

    @property
    def usage(self) -> Usage:
        """Tokens of all distinct responses."""
        return sum((turn.usage for turn in self.turns.values()), Usage())

    @property
    def agent_usd(self) -> float:
        """Agent cost by the price book; responses of models it lacks count nothing (see `unpriced_models`)."""
        return sum(turn.usd or 0.0 for turn in self.turns.values())

    @property
    def unpriced_models(self) -> list[str]:
        """Models that answered and that the price book lacks."""
        return sorted({turn.model for turn in self.turns.values() if turn.usd is None})

    @property
    def cli_usd(self) -> float | None:
        """Agent cost as the CLI counts it, where it said so."""
        known = [end.cli_usd for end in self.session_ends if end.cli_usd is not None]
        return sum(known) if known else None

    @property
    def ended_attempts(self) -> list[AttemptFinished]:
        """Attempts that ended, in their order."""
        return [attempt.finished for attempt in self.attempts.values() if attempt.finished]

    @property
    def compute_usd(self) -> float:
        """Cost of runs on targets and of the reference (which is free when it came from the cache)."""
        usd = sum(attempt.usd or 0.0 for attempt in self.ended_attempts)
        if self.reference and self.started and not self.reference.cached:
            usd += (self.started.reference_target.usd_per_hour or 0.0) * self.reference.wall_s / 3600
        return usd

    @property
    def human_minutes(self) -> float:
        """Minutes of people's work; waiting is not work."""
        return sum(intervention.minutes for intervention in self.interventions)

    @property
    def wall_s(self) -> float:
        """Seconds from the first event to the newest, without those in which no supervisor was there."""
        if self.started is None or self.last_time is None:
            return 0.0
        return (self.last_time - self.started.time).total_seconds() - self.idle_s

    @property
    def failures_in_row(self) -> int:
        """Attempts of the agent since the last one that was ok, failed ones only; infra is nobody's failure."""
        count = 0
        for attempt in reversed(self.attempts.values()):
            if (
                attempt.finished is None
                or attempt.started.by != "agent"
                or attempt.finished.outcome is Outcome.INFRA
            ):
                continue
            if attempt.finished.outcome not in (Outcome.LOUD, Outcome.SILENT):
                break
            count += 1
        return count

    @property
    def rejected_claims(self) -> int:
        """Claims that were verified and not accepted."""
        return sum(
            1 for claim in self.claims if claim.verified and claim.verified.verdict is not Verdict.PASS
        )

    @property
    def alpha_spent(self) -> float:
        """Chance of a false acceptance spent on the claims so far."""
        return sum(claim.verified.alpha_spent for claim in self.claims if claim.verified)


def fold(events: Iterable[Event]) -> State:
    """The state after `events`."""
    state = State()
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Event) -> None:
    """Move `state` on by one event, in place."""
    before, state.last_time = state.last_time, event.time
    match event:
        case MigrationStarted():
            state.started = event
        case MigrationFinished():
            state.finished = event
        case MigrationResumed():
            _resume(state, event, before)
        case ReferenceMeasured():
            state.reference = event
        case AttemptStarted():
            state.attempts[event.attempt] = Attempt(event)
        case AttemptFinished():
            state.attempts[event.attempt].finished = event
        case ClaimMade():
            state.claims.append(Claim(event))
        case GateFinished():
            _judge(_claim(state, event.claim), event.result)
        case ClaimVerified():
            _claim(state, event.claim).verified = event
        case Turn():
            state.turns[event.message_id] = event
        case SessionStarted():
            state.sessions.append(event)
        case SessionEnded():
            state.session_ends.append(event)
        case ToolDenied():
            state.denials.append(event)
        case DecisionMade():
            state.decisions.append(event)
        case QuestionAsked():
            state.question = event
        case Intervention():
            state.interventions.append(event)
            state.question = None
        case FeedbackSent():
            state.feedback.append(event)
        case _:
            pass  # environments are for people who watch


def _resume(state: State, event: MigrationResumed, before: datetime | None) -> None:
    state.resumed.append(event)
    state.finished = None
    if before:
        state.idle_s += (event.time - before).total_seconds()
    if state.started:
        state.started = state.started.model_copy(update={"budget": event.budget})


def _judge(claim: Claim, result: GateResult) -> None:
    """A gate that is judged again, by a later run or after an interruption, keeps its place."""
    for index, known in enumerate(claim.gates):
        if (known.target, known.gate) == (result.target, result.gate):
            claim.gates[index] = result
            return
    claim.gates.append(result)


def _claim(state: State, name: str) -> Claim:
    return next(claim for claim in state.claims if claim.made.claim == name)
