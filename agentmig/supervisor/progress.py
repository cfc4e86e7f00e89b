"""Where a run stands, for whoever watches it: stage, gates reached, what is spent of each budget, time left."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from agentmig.journal import State, Verdict
from agentmig.journal.fold import Attempt, Claim
from agentmig.verification.gates import GATES


@dataclass(frozen=True)
class Spent:
    """One budget; `bound` is None where the workload sets none."""

    name: str
    spent: float
    bound: float | None
    unit: str

    @property
    def share(self) -> float | None:
        """Spent over the bound."""
        return self.spent / self.bound if self.bound else None


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        stage: what is going on, in a few words.
        turns: responses of the model so far.
        gates: for each target, the newest claim's verdict at each gate in their order; None where it isn't there yet.
        budgets: those with a bound first, in the order of how much is spent.
        seconds_left: of the wall budget; None without one.
        verification_left: seconds that the running verification's first look still takes; None where nothing tells.
    """

    stage: str
    turns: int
    gates: dict[str, tuple[Verdict | None, ...]]
    budgets: tuple[Spent, ...]
    seconds_left: float | None
    verification_left: float | None


def progress(state: State, now: datetime, looks: list[int]) -> Progress:
    """The progress of a migration.

    Args:
        state: folded from its journal.
        now: the time, which goes on between events.
        looks: numbers of trainings at which the goal may be decided.
    """
    started = state.started
    claim = state.claims[-1] if state.claims else None
    # Between events only the clock moves.
    wall_s = state.wall_s + ((now - state.last_time).total_seconds() if state.last_time else 0.0)
    hours = started.budget.get("wall_hours") if started else None
    return Progress(
        stage=_stage(state, claim),
        turns=len(state.turns),
        gates={
            target.name: tuple(_verdict(claim, target.name, gate) for gate in GATES)
            for target in (started.targets if started else [])
        },
        budgets=tuple(sorted(_budgets(state, wall_s), key=lambda each: -(each.share or -1.0))),
        seconds_left=None if hours is None else max(0.0, hours * 3600 - wall_s),
        verification_left=_left(state, claim, now, looks),
    )


def _stage(state: State, claim: Claim | None) -> str:
    if state.started is None:
        return "beginning"
    if state.finished:
        return state.finished.verdict
    running = [attempt for attempt in state.attempts.values() if attempt.finished is None]
    if running:
        newest = running[-1].started
        return f"{newest.attempt} on {newest.target}: {newest.purpose}"
    if claim and claim.verified is None and len(state.session_ends) == len(state.sessions):
        return f"verifying {claim.made.claim}"
    if len(state.sessions) > len(state.session_ends):
        return f"the agent works (turn {len(state.turns) + 1})"
    if state.question:
        return "waiting for a person"
    return "preparing" if state.reference is None else "deciding"


def _verdict(claim: Claim | None, target: str, gate: str) -> Verdict | None:
    if claim is None:
        return None
    return next((g.verdict for g in claim.gates if (g.target, g.gate) == (target, gate)), None)


def _budgets(state: State, wall_s: float) -> Iterator[Spent]:
    bounds = state.started.budget if state.started else {}
    values = {
        "agent_usd": (state.agent_usd, "$"),
        "compute_usd": (state.compute_usd, "$"),
        "turns": (float(len(state.turns)), ""),
        "tokens": (float(state.usage.total), ""),
        "wall_hours": (wall_s / 3600, "h"),
        "human_minutes": (state.human_minutes, "min"),
    }
    for name, (spent, unit) in values.items():
        bound = bounds.get(name)
        yield Spent(name, spent, None if bound is None else float(bound), unit)


def _left(state: State, claim: Claim | None, now: datetime, looks: list[int]) -> float | None:
    """From the trainings of this verification so far; the first look's number is what is expected."""
    if claim is None or claim.verified is not None or not looks:
        return None
    mine = [a for a in state.attempts.values() if _trains_for(a, claim.made.claim)]
    seconds = [a.finished.wall_s for a in mine if a.finished]
    if not seconds:
        return None
    mean = fmean(seconds)
    targets = {target.name for target in state.started.targets} if state.started else set()
    left = 0.0
    for target in targets:
        there = [a for a in mine if a.started.target == target]
        done = sum(1 for a in there if a.finished)
        expected = next((look for look in sorted(looks) if look > done), done)
        if _verdict(claim, target, "goal") is None:
            left += mean * (expected - done)
        left -= sum((now - a.started.time).total_seconds() for a in there if a.finished is None)
    return max(0.0, left)


def _trains_for(attempt: Attempt, claim: str) -> bool:
    started = attempt.started
    return (
        started.by == "verifier" and started.purpose.startswith(f"{claim}:") and "training" in started.purpose
    )
