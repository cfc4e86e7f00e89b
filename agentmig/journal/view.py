"""A migration as other programs read it: `agentmig show RUN --json`, schema in `docs/schema/show-1.json`.

Only additions within a schema version; a field that changes its meaning raises it.
"""

import json
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from agentmig.journal.events import GateResult, TargetRecord, Usage
from agentmig.journal.fold import Attempt, Claim, State
from agentmig.journal.store import JournalError

VERSION: Literal[1] = 1
Word = Literal["accepted", "rejected", "stopped", "inconclusive", "waiting", "running"]


class ReferenceView(BaseModel):
    """The unmigrated code, measured."""

    hardware: str
    chips: int
    metric: str
    values: list[float]
    seeds: list[int]
    cached: bool
    wall_s: float
    samples_per_s: float | None


class AttemptView(BaseModel):
    """One execution of migrated code."""

    id: str
    by: Literal["agent", "verifier"]
    target: str
    chips: int
    emulated: bool
    commit: str
    purpose: str
    outcome: str | None = Field(description="ok, loud, silent, unverified, infra; null while it runs")
    cause: str | None = None
    summary: str = ""
    exit_code: int | None = None
    wall_s: float | None = None
    peak_memory_mb: float | None = None
    log: str | None = None


class ClaimView(BaseModel):
    """What the agent claimed, and what was found."""

    id: str
    commit: str
    verdict: str = Field(description="pass, fail, inconclusive, or pending")
    cause: str | None
    summary: str
    seeds: list[int]
    alpha_spent: float
    gates: list[GateResult]


class InterventionView(BaseModel):
    """A person's message."""

    time: datetime
    reason: str
    minutes: float
    text: str


class DecisionView(BaseModel):
    """What the stopping criteria said."""

    time: datetime
    action: str
    rule: str
    reason: str


class UsageView(BaseModel):
    """Tokens by class; `cache_write` adds both lifetimes."""

    input: int
    output: int
    cache_read: int
    cache_write: int


class CostView(BaseModel):
    """What it cost, and where each figure comes from."""

    agent_usd: float
    agent_usd_source: str
    compute_usd: float
    compute_usd_source: str
    human_minutes: float
    human_minutes_source: str
    cli_usd: float | None = Field(description="the CLI's own figure for agent_usd")


class RunView(BaseModel):
    """A migration."""

    schema_version: Literal[1] = VERSION
    run: str
    mode: str
    verdict: Word
    reason: str
    workload: str
    base_commit: str
    words: str = Field(description="who spoke for the model: live, or the transcript played and its origin")
    model: str
    isolation: str
    emulated: bool = Field(description="true if any target is emulated")
    started: datetime
    wall_s: float
    targets: list[TargetRecord]
    reference: ReferenceView | None
    attempts: list[AttemptView]
    claims: list[ClaimView]
    interventions: list[InterventionView]
    decisions: list[DecisionView]
    feedback: list[str]
    denied_tools: int
    question: str | None
    turns: int
    usage: UsageView
    cost: CostView


def view(state: State) -> RunView:
    """The state as a document.

    Raises:
        JournalError: the journal holds no first event yet.
    """
    if state.started is None:
        raise JournalError("the journal is empty: the run was stopped before it began; start it anew")
    started = state.started
    emulated = {target.name: target.emulated for target in started.targets}
    return RunView(
        run=started.run_id,
        mode=started.mode,
        verdict=state.finished.verdict if state.finished else "running",
        reason=state.finished.reason if state.finished else "",
        workload=started.workload,
        base_commit=started.base_commit,
        words=started.words,
        model=started.model,
        isolation=started.isolation,
        emulated=any(emulated.values()),
        started=started.time,
        wall_s=state.wall_s,
        targets=started.targets,
        reference=_reference(state),
        attempts=[_attempt(attempt, emulated) for attempt in state.attempts.values()],
        claims=[_claim(claim) for claim in state.claims],
        interventions=[
            InterventionView(time=i.time, reason=i.reason, minutes=i.minutes, text=i.text)
            for i in state.interventions
        ],
        decisions=[
            DecisionView(time=d.time, action=d.action, rule=d.rule, reason=d.reason) for d in state.decisions
        ],
        feedback=[feedback.text for feedback in state.feedback],
        denied_tools=len(state.denials),
        question=state.question.question if state.question else None,
        turns=len(state.turns),
        usage=usage_view(state.usage),
        cost=_cost(state),
    )


def usage_view(usage: Usage) -> UsageView:
    """Tokens with the two cache lifetimes added."""
    write = usage.cache_write_5m + usage.cache_write_1h
    return UsageView(input=usage.input, output=usage.output, cache_read=usage.cache_read, cache_write=write)


def _reference(state: State) -> ReferenceView | None:
    if state.reference is None:
        return None
    return ReferenceView.model_validate(state.reference.model_dump(include=set(ReferenceView.model_fields)))


def _attempt(attempt: Attempt, emulated: dict[str, bool]) -> AttemptView:
    started, finished = attempt.started, attempt.finished
    fields: dict[str, Any] = {"outcome": None}
    if finished:
        fields = finished.model_dump(include=set(AttemptView.model_fields))
    return AttemptView(
        id=started.attempt,
        by=started.by,
        target=started.target,
        chips=started.chips,
        emulated=emulated.get(started.target, False),
        commit=started.commit,
        purpose=started.purpose,
        **fields,
    )


def _claim(claim: Claim) -> ClaimView:
    verified = claim.verified
    return ClaimView(
        id=claim.made.claim,
        commit=claim.made.commit,
        verdict=verified.verdict.value if verified else "pending",
        cause=verified.cause if verified else None,
        summary=verified.summary if verified else "",
        seeds=verified.seeds if verified else [],
        alpha_spent=verified.alpha_spent if verified else 0.0,
        gates=claim.gates,
    )


def _cost(state: State) -> CostView:
    missing = f"; no price for {', '.join(state.unpriced_models)}" if state.unpriced_models else ""
    sources = {target.price_source for target in state.started.targets} if state.started else set()
    played = state.started is not None and state.started.words != "live"
    return CostView(
        agent_usd=state.agent_usd,
        agent_usd_source="price book x tokens of each distinct response"
        + (" (authored tokens: nobody was billed)" if played else "")
        + missing,
        compute_usd=state.compute_usd,
        compute_usd_source="wall time of each run x price book: " + "; ".join(sorted(sources)),
        human_minutes=state.human_minutes,
        human_minutes_source="as recorded with each intervention",
        cli_usd=state.cli_usd,
    )


def main() -> None:
    """Print the JSON schema of the document, as `docs/schema/show-1.json` holds it."""
    print(json.dumps(RunView.model_json_schema(mode="serialization"), indent=2))


if __name__ == "__main__":
    main()
