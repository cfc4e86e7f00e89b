"""Features: one row of numbers from the state of a migration at one point.

A share is what was spent over its budget; it is 0 where the workload sets no bound.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

from agentmig.journal import State, Verdict
from agentmig.journal.events import Outcome


def features(state: State) -> dict[str, float]:
    """All features of `FEATURES`, by name."""
    return {name: float(compute(state)) for name, compute in FEATURES.items()}


def _share(spent: float, state: State, name: str) -> float:
    budget = state.started.budget.get(name) if state.started else None
    return spent / budget if budget else 0.0


def _same_in_row(values: Sequence[str | None]) -> int:
    """How many of the newest values equal the newest one; 0 without values, or where the newest is None."""
    if not values or values[-1] is None:
        return 0
    return sum(1 for _ in takewhile(lambda value: value == values[-1], reversed(values)))


def _claim_causes(state: State) -> list[str | None]:
    return [
        c.verified.cause if c.verified.verdict is Verdict.FAIL else None for c in state.claims if c.verified
    ]


def _failures(state: State) -> list[str | None]:
    """Cause and summary of the agent's failed attempts, None for one that was fine."""
    mine = [a.finished for a in state.attempts.values() if a.finished and a.started.by == "agent"]
    failed = (Outcome.LOUD, Outcome.SILENT)
    return [
        f"{a.cause}: {a.summary}" if a.outcome in failed else None
        for a in mine
        if a.outcome is not Outcome.INFRA
    ]


def _silent_ends_in_row(state: State) -> int:
    """Ended turns since the newest claim, question or attempt of the agent."""
    times = [claim.made.time for claim in state.claims]
    times += [a.started.time for a in state.attempts.values() if a.started.by == "agent"]
    times += [i.time for i in state.interventions]
    newest = max(times, default=None)
    return sum(
        1 for e in state.session_ends if e.reason == "turn_ended" and (newest is None or e.time > newest)
    )


def _session_errors_in_row(state: State) -> int:
    """Since the run was last resumed: a person who resumes it has dealt with what came before."""
    resumed = state.resumed[-1].time if state.resumed else None
    ends = [end for end in reversed(state.session_ends) if resumed is None or end.time > resumed]
    return sum(1 for _ in takewhile(lambda end: end.reason in ("error", "idle"), ends))


FEATURES: dict[str, Callable[[State], float]] = {
    "turns": lambda s: len(s.turns),
    "tokens": lambda s: s.usage.total,
    "agent_usd": lambda s: s.agent_usd,
    "compute_usd": lambda s: s.compute_usd,
    "human_minutes": lambda s: s.human_minutes,
    "wall_hours": lambda s: s.wall_s / 3600,
    "agent_usd_share": lambda s: _share(s.agent_usd, s, "agent_usd"),
    "compute_usd_share": lambda s: _share(s.compute_usd, s, "compute_usd"),
    "turns_share": lambda s: _share(len(s.turns), s, "turns"),
    "tokens_share": lambda s: _share(s.usage.total, s, "tokens"),
    "wall_hours_share": lambda s: _share(s.wall_s / 3600, s, "wall_hours"),
    "human_minutes_share": lambda s: _share(s.human_minutes, s, "human_minutes"),
    "attempts": lambda s: sum(1 for a in s.attempts.values() if a.started.by == "agent"),
    "failures_in_row": lambda s: s.failures_in_row,
    "same_failure_in_row": lambda s: _same_in_row(_failures(s)),
    "claims": lambda s: len(s.claims),
    "rejected_claims": lambda s: s.rejected_claims,
    "same_cause_in_row": lambda s: _same_in_row(_claim_causes(s)),
    "silent_ends_in_row": _silent_ends_in_row,
    "session_errors_in_row": _session_errors_in_row,
    "denied_tools": lambda s: len(s.denials),
    "interventions": lambda s: len(s.interventions),
}
"""Each feature with how it is read from a state; `docs/policies.md` describes them."""
