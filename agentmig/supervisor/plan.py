"""What a run will do, how long that takes and what it costs, before anything is spent: with the basis of each figure.

An estimate is a range. Its low end is a migration that goes well at once, its high end one that uses every claim and
every look at the goal; what nobody can know before, such as the agent's own pace, is bounded by the budget instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from pydantic import BaseModel

from agentmig.journal import State
from agentmig.journal.events import Outcome, TargetRecord
from agentmig.spec.workload import Workload
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.targets import reference_record, target_record
from agentmig.verification.gates import GATES
from agentmig.verification.references import GoalReference

STUDY_ATTEMPTS = 7
"""Attempts of an agent in a migration, where nothing better is known: 70 in ten migrations (arXiv 2610.34422)."""

Mode = Literal["migrate", "verify"]


class Range(BaseModel):
    """From the least to the most; `high` is None where nothing bounds it."""

    low: float
    high: float | None

    def times(self, factor: float) -> "Range":
        """The range of a multiple."""
        return Range(low=self.low * factor, high=None if self.high is None else self.high * factor)


def total(ranges: Iterable[Range]) -> Range:
    """The range of a sum."""
    parts = list(ranges)
    highs = [part.high for part in parts]
    return Range(
        low=sum(part.low for part in parts),
        high=None if any(high is None for high in highs) else sum(high for high in highs if high is not None),
    )


class Step(BaseModel):
    """One kind of work."""

    what: str
    where: str
    runs: Range
    seconds: Range
    usd: Range | None
    """None where the price book lacks the accelerator."""
    basis: str
    """Where the figures come from."""


class AgentCost(BaseModel):
    """What the model may cost."""

    usd: Range
    basis: str


class RunPlan(BaseModel):
    """What a run will do."""

    schema_version: Literal[1] = 1
    workload: str
    mode: Mode
    model: str
    base_commit: str
    policy: str
    targets: list[TargetRecord]
    gates: list[str]
    seeds: dict[str, list[int]]
    """Number of trainings of the reference, and of the candidate at each look at the goal."""
    environments_to_build: list[str]
    budget: dict[str, float | int | None]
    steps: list[Step]
    seconds: Range
    """All steps; the agent's own time is not in it."""
    compute_usd: Range | None
    agent: AgentCost | None
    remarks: list[str]
    """What a person should know before agreeing."""
    costs_money: bool
    """A live model is asked, or a real accelerator is used."""


@dataclass(frozen=True)
class Known:
    """What is known before the run.

    Attributes:
        base_commit: of the project, resolved.
        to_build: environments that have to be built first.
        goal: the reference's goal metric, where it is cached.
        missing_traces: records and calibrations of the reference that have to be made.
        history: earlier runs of the same workload.
        uncommitted: changes of the project that no commit holds.
    """

    base_commit: str
    to_build: Sequence[str] = ()
    goal: GoalReference | None = None
    missing_traces: int = 0
    history: Sequence[State] = field(default=())
    uncommitted: Sequence[str] = ()


def plan_run(inputs: Inputs, known: Known, mode: Mode, speaker: str) -> RunPlan:
    """The plan of a run; depends on nothing but its arguments.

    Args:
        inputs: what a person gave.
        known: what is there already.
        mode: with an agent, or the verification of a candidate.
        speaker: `live`, or who speaks for the model instead.
    """
    workload = inputs.workload
    targets = [target_record(name, target, inputs.prices) for name, target in workload.targets.items()]
    reference = reference_record(workload.reference, inputs.prices)
    steps = [*_reference_steps(workload, reference, known)]
    for target in targets:
        steps += _target_steps(workload, target, known, mode)
    dollars = [step.usd for step in steps]
    live = mode == "migrate" and speaker == "live"
    real = any(not each.emulated and each.accelerator != "cpu" for each in [*targets, reference])
    return RunPlan(
        workload=workload.name,
        mode=mode,
        model=workload.agent.model if live else speaker,
        base_commit=known.base_commit,
        policy=inputs.policy.name,
        targets=targets,
        gates=list(GATES),
        seeds={"reference": [workload.reference.seeds], "candidate": list(workload.acceptance.goal.looks)},
        environments_to_build=list(known.to_build),
        budget=workload.budget.model_dump(),
        steps=steps,
        seconds=total(step.seconds for step in steps),
        compute_usd=None if any(usd is None for usd in dollars) else total(usd for usd in dollars if usd),
        agent=_agent(workload, known) if live else None,
        remarks=list(_remarks(workload, targets, known, mode)),
        costs_money=live or real,
    )


def _reference_steps(workload: Workload, reference: TargetRecord, known: Known) -> Iterable[Step]:
    if known.goal is None:
        once, basis = _reference_training(workload, known)
        seeds = workload.reference.seeds
        yield _step(
            "train and evaluate the untouched code", reference, Range(low=seeds, high=seeds), once, basis
        )
    if known.missing_traces:
        once, _ = _reference_training(workload, known)
        count = Range(low=known.missing_traces, high=known.missing_traces)
        short = Range(low=0.0, high=once.high)
        yield _step(
            "record the untouched code's first steps", reference, count, short, "at most a training each"
        )


def _reference_training(workload: Workload, known: Known) -> tuple[Range, str]:
    if known.goal:
        return _exactly(known.goal.run_s), f"mean of {len(known.goal.values)} trainings of the reference"
    seen = [
        float(state.reference.detail["run_s"])
        for state in known.history
        if state.reference and "run_s" in state.reference.detail
    ]
    if seen:
        return Range(
            low=min(seen), high=max(seen)
        ), f"trainings of the reference in earlier runs ({len(seen)})"
    bound = workload.train.timeout_s
    return Range(
        low=0.0, high=bound
    ), f"not measured yet: at most train.timeout_s ({bound:g} s) each (`agentmig reference make` measures it)"


def _target_steps(workload: Workload, target: TargetRecord, known: Known, mode: Mode) -> Iterable[Step]:
    once, basis = _training(workload, target, known)
    short = Range(low=0.0, high=once.high)
    looks, claims = (
        workload.acceptance.goal.looks,
        workload.acceptance.goal.claims if mode == "migrate" else 1,
    )
    if mode == "migrate":
        most, source = _attempts(known)
        yield _step(
            "run what the agent wants to try",
            target,
            Range(low=1, high=most),
            short,
            f"{source}; at most a training each",
        )
    yield _step(
        "compare a claim's first steps (semantics, numerics)",
        target,
        Range(low=2, high=2 * claims),
        short,
        "at most a training each",
    )
    yield _step(
        "train a claim with fresh seeds (runs, hardware, performance, goal)",
        target,
        Range(low=looks[0], high=looks[-1] * claims),
        once,
        f"{basis}; {looks[0]} trainings where the first look decides, {looks[-1]} for each of {claims} claims at most",
    )


def _training(workload: Workload, target: TargetRecord, known: Known) -> tuple[Range, str]:
    seen = [
        attempt.finished.wall_s
        for state in known.history
        for attempt in state.attempts.values()
        if attempt.finished
        and attempt.finished.outcome is Outcome.OK
        and attempt.started.by == "verifier"
        and attempt.started.target == target.name
        and "training" in attempt.started.purpose
    ]
    if seen:
        return Range(low=min(seen), high=max(seen)), f"trainings on it in earlier runs ({len(seen)})"
    once, _ = _reference_training(workload, known)
    return once, "assumed as long as the reference's, never run on this target yet"


def _attempts(known: Known) -> tuple[float, str]:
    counts = [
        sum(1 for attempt in state.attempts.values() if attempt.started.by == "agent")
        for state in known.history
        if state.sessions
    ]
    if counts:
        return float(max(1, *counts)), f"most of them in one of the earlier runs ({len(counts)})"
    return float(STUDY_ATTEMPTS), f"{STUDY_ATTEMPTS} a migration in a published study (arXiv 2610.34422)"


def _agent(workload: Workload, known: Known) -> AgentCost:
    bound = workload.budget.agent_usd
    spent = [state.agent_usd for state in known.history if state.started and state.started.words == "live"]
    if not spent:
        why = "budget.agent_usd" if bound is not None else "budget.agent_usd is not set: nothing bounds it"
        return AgentCost(usd=Range(low=0.0, high=bound), basis=f"no earlier live run; at most {why}")
    return AgentCost(
        usd=Range(low=min(spent), high=bound),
        basis=f"${fmean(spent):.2f} on average in earlier live runs ({len(spent)}); at most budget.agent_usd",
    )


def _remarks(workload: Workload, targets: list[TargetRecord], known: Known, mode: Mode) -> Iterable[str]:
    if known.uncommitted:
        shown = ", ".join(known.uncommitted[:5]) + (", …" if len(known.uncommitted) > 5 else "")
        count = len(known.uncommitted)
        yield (
            f"{count} uncommitted change{'s' if count != 1 else ''} of the project {'are' if count != 1 else 'is'} not part "
            f"of {workload.project.base_commit} and will not be seen: {shown}"
        )
    for target in targets:
        if target.emulated:
            yield f"{target.name} is emulated on this machine's CPU: no time or price of it is the accelerator's"
        if target.usd_per_hour is None:
            yield f"{target.name}: {target.price_source}, so its cost is not known (see --prices)"
    for name in known.to_build:
        yield f"environment {name} has to be built first (PyTorch: some minutes, about 7 GB)"
    if mode == "migrate" and workload.budget.wall_hours is None:
        yield "budget.wall_hours is not set: nothing bounds the time"


def _step(what: str, where: TargetRecord, runs: Range, once: Range, basis: str) -> Step:
    high = None if runs.high is None or once.high is None else runs.high * once.high
    seconds = Range(low=runs.low * once.low, high=high)
    price = where.usd_per_hour
    return Step(
        what=what,
        where=where.name,
        runs=runs,
        seconds=seconds,
        usd=None if price is None else seconds.times(price / 3600),
        basis=basis,
    )


def _exactly(value: float) -> Range:
    return Range(low=value, high=value)
