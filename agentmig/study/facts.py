"""What a study needs of one migration: a small record taken from its folded journal."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentmig.journal.events import Outcome, TargetRecord, Usage, Verdict
from agentmig.journal.fold import Attempt, Claim, State
from agentmig.journal.store import JournalError
from agentmig.verification.gates import GATES

Voice = Literal["live model", "played words", "by hand"]
"""Who migrated: the live model, words that somebody wrote or recorded before, or a person (`agentmig verify`)."""
VOICES: tuple[Voice, ...] = ("live model", "played words", "by hand")
LEVELS = ("nothing ran", "ran without error", *GATES)
"""The ladder, lowest first; `docs/study.md` defines each rung."""
Word = Literal["accepted", "rejected", "stopped", "inconclusive", "waiting", "running"]

_RAN = (Outcome.OK, Outcome.SILENT, Outcome.UNVERIFIED)


@dataclass(frozen=True)
class Execution:
    """An execution attempt; `outcome` is None while it runs."""

    by: Literal["agent", "verifier"]
    emulated: bool
    outcome: Outcome | None
    cause: str | None

    @property
    def failed(self) -> bool:
        """Whether it is a failure of the code: loud or silent."""
        return self.outcome in (Outcome.LOUD, Outcome.SILENT)


@dataclass(frozen=True)
class Verification:
    """A claim; `verdict` is None until it was verified."""

    verdict: Verdict | None
    cause: str | None


@dataclass(frozen=True)
class Trainings:
    """Whole trainings of an accepted claim on one target, and the reference's.

    Attributes:
        emulated: the target or the reference ran on a stand-in.
        reference_s: seconds of each training of the reference.
        target_s: seconds of each training on the target that ended well.
        reference_rate: samples a second of the reference; None if not measured.
        target_rates: the same for the trainings on the target in which a steady rate was seen.
        usd_per_hour: what the target costs; None if the price book lacks it or it costs nothing.
        reference_usd_per_hour: the same for the reference's hardware.
    """

    target: TargetRecord
    emulated: bool
    hardware: str
    reference_s: tuple[float, ...]
    target_s: tuple[float, ...]
    reference_rate: float | None
    target_rates: tuple[float, ...]
    usd_per_hour: float | None
    reference_usd_per_hour: float | None


@dataclass(frozen=True)
class Migration:
    """One migration.

    Attributes:
        run: its id.
        project: the workload's name; migrations of one name are of one project.
        level: index into `LEVELS`.
        goal_met: a claim was accepted, and its goal gate passed on every target.
        interventions: reason and minutes of each message of a person.
        feedback: number of the supervisor's own messages.
        agent_usd: None where a model that answered has no price.
        compute_usd: None where hardware that was used has no price.
    """

    run: str
    project: str
    voice: Voice
    verdict: Word
    level: int
    goal_met: bool
    targets: tuple[TargetRecord, ...]
    executions: tuple[Execution, ...]
    claims: tuple[Verification, ...]
    interventions: tuple[tuple[str, float], ...]
    feedback: int
    agent_usd: float | None
    compute_usd: float | None
    usage: Usage
    turns: int
    wall_s: float
    trainings: tuple[Trainings, ...]

    @property
    def ended(self) -> bool:
        """Whether nothing more is expected of it: it neither runs nor waits for a person."""
        return self.verdict not in ("running", "waiting")

    @property
    def accepted(self) -> bool:
        """Whether it is a verified success."""
        return self.verdict == "accepted"

    @property
    def emulated(self) -> int:
        """How many of its targets are emulated."""
        return sum(target.emulated for target in self.targets)

    @property
    def human_minutes(self) -> float:
        """Minutes of people's work."""
        return math.fsum(minutes for _, minutes in self.interventions)


def facts(state: State) -> Migration:
    """The facts of a folded journal.

    Raises:
        JournalError: the journal holds no first event yet, or a figure that no run can have.
    """
    started = state.started
    if started is None:
        raise JournalError("the journal is empty: the run was stopped before it began; leave it out")
    _check(state)
    emulated = {target.name: target.emulated for target in started.targets}
    targets = [target.name for target in started.targets]
    return Migration(
        run=started.run_id,
        project=started.workload,
        voice=_voice(started.mode, started.words),
        verdict=state.finished.verdict if state.finished else "running",
        level=_level(state, targets),
        goal_met=any(_goal_met(claim, targets) for claim in state.claims),
        targets=tuple(started.targets),
        executions=tuple(
            _execution(attempt, emulated.get(attempt.started.target, False))
            for attempt in state.attempts.values()
        ),
        claims=tuple(
            Verification(claim.verified.verdict, claim.verified.cause)
            if claim.verified
            else Verification(None, None)
            for claim in state.claims
        ),
        interventions=tuple((i.reason, i.minutes) for i in state.interventions),
        feedback=len(state.feedback),
        agent_usd=None if state.unpriced_models else state.agent_usd,
        compute_usd=_compute_usd(state),
        usage=state.usage,
        turns=len(state.turns),
        wall_s=max(0.0, state.wall_s),  # a clock may be set back
        trainings=tuple(_trainings(state)),
    )


def _check(state: State) -> None:
    """Sums over a study must stay finite, whatever was written by hand.

    Raises:
        JournalError: names the first figure that isn't one of a run.
    """
    figures: dict[str, list[float | None]] = {
        "minutes of an intervention": [i.minutes for i in state.interventions],
        "dollars of a turn": [turn.usd for turn in state.turns.values()],
        "dollars of an attempt": [end.usd for end in state.ended_attempts],
        "dollars of the compute": [state.compute_usd],
    }
    for name, values in figures.items():
        for value in values:
            if value is not None and not 0 <= value < 1e12:
                raise JournalError(f"the {name} are {value:g}, which can't be; restore the file from a copy")


def _voice(mode: str, words: str) -> Voice:
    if mode == "verify":
        return "by hand"
    return "live model" if words == "live" else "played words"


def _execution(attempt: Attempt, emulated: bool) -> Execution:
    end = attempt.finished
    return Execution(attempt.started.by, emulated, end.outcome if end else None, end.cause if end else None)


def _level(state: State, targets: Sequence[str]) -> int:
    if not any(attempt.outcome in _RAN for attempt in state.ended_attempts):
        return 0
    return 1 + max((gates_passed(claim, targets) for claim in state.claims), default=0)


def gates_passed(claim: Claim, targets: Sequence[str]) -> int:
    """How many gates, from the first on and without a gap, passed on every target."""
    passed = {(result.target, result.gate) for result in claim.gates if result.verdict is Verdict.PASS}
    count = 0
    for gate in GATES:
        if not targets or any((target, gate) not in passed for target in targets):
            break
        count += 1
    return count


def _goal_met(claim: Claim, targets: Sequence[str]) -> bool:
    if claim.verified is None or claim.verified.verdict is not Verdict.PASS or not targets:
        return False
    passed = {r.target for r in claim.gates if r.gate == "goal" and r.verdict is Verdict.PASS}
    return passed.issuperset(targets)


def _compute_usd(state: State) -> float | None:
    """None where a part is unknown, which `State.compute_usd` counts as nothing."""
    reference, started = state.reference, state.started
    free = reference is None or reference.cached
    priced = free or (started is not None and started.reference_target.usd_per_hour is not None)
    return state.compute_usd if priced and all(a.usd is not None for a in state.ended_attempts) else None


def _trainings(state: State) -> Iterable[Trainings]:
    """For each target of an accepted migration, the whole trainings of the commit that was accepted."""
    started, reference = state.started, state.reference
    commits = {
        claim.made.commit
        for claim in state.claims
        if claim.verified and claim.verified.verdict is Verdict.PASS
    }
    if started is None or state.finished is None or state.finished.verdict != "accepted":
        return
    for target in started.targets:
        runs = [
            attempt.finished
            for attempt in state.attempts.values()
            if attempt.finished is not None
            and attempt.finished.outcome is Outcome.OK
            and attempt.started.by == "verifier"
            and attempt.started.target == target.name
            and attempt.started.commit in commits
            and "training" in attempt.started.purpose
        ]
        rates = [
            gate.evidence.get("samples_per_s")
            for run in runs
            for gate in run.gates
            if gate.gate == "performance"
        ]
        yield Trainings(
            target=target,
            emulated=target.emulated or started.reference_target.emulated,
            hardware=reference.hardware if reference else started.reference_target.description,
            reference_s=positive(reference.detail.get("runs_s") if reference else None),
            target_s=positive([run.wall_s for run in runs]),
            reference_rate=_one(reference.samples_per_s) if reference else None,
            target_rates=positive(rates),
            usd_per_hour=_one(target.usd_per_hour),
            reference_usd_per_hour=_one(started.reference_target.usd_per_hour),
        )


def _one(value: float | None) -> float | None:
    return next(iter(positive([value])), None)


def positive(values: Any) -> tuple[float, ...]:
    """The positive numbers of a list that can be measurements; a journal's free-form parts may hold anything."""
    if not isinstance(values, list):
        return ()
    numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    return tuple(float(value) for value in numbers if 1e-9 < value < 1e12)
