"""What to do next: a pure function of the journal's state and the policy.

The order is the order of trust: what was proved comes before what was asked, the stopping criteria before anything
that costs, and only then the conversation goes on.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentmig.journal import State, Verdict
from agentmig.journal.fold import Attempt, Claim
from agentmig.policy import Policy, evaluate_row, features


@dataclass(frozen=True)
class Action:
    """What to do, with the reason that goes into the journal.

    Attributes:
        kind: `start` the session, `continue` it, give it `feedback` on a claim, `verify` a claim, `ask` a person,
            `accept`, or `stop`.
        rule: the policy's rule that decided, or the name of the fixed order's step.
        claim: the claim that is to be verified or that the feedback is about.
        attempt: the finished attempt whose result the agent waits for.
        verdict: for `stop`, how the migration ends.
    """

    kind: Literal["start", "continue", "feedback", "verify", "ask", "accept", "stop"]
    rule: str
    reason: str
    claim: Claim | None = None
    attempt: Attempt | None = None
    verdict: Literal["rejected", "stopped", "inconclusive"] = "stopped"


def decide(state: State, policy: Policy) -> Action:
    """The next action; depends on nothing but its arguments."""
    claim = state.claims[-1] if state.claims else None
    verified = claim.verified if claim else None
    if claim and verified and verified.verdict is Verdict.PASS:
        return Action("accept", "verified", verified.summary, claim)

    ruling = evaluate_row(policy, features(state)).rule
    if ruling and ruling.action == "stop":
        # A claim that was rejected, or never verified, is not a success whatever stopped the migration.
        return Action(
            "stop", ruling.name, ruling.reason, verdict="rejected" if state.rejected_claims else "stopped"
        )
    if claim and not verified:
        return Action(
            "verify", "claim", f"{claim.made.claim} claims success at {claim.made.commit[:12]}", claim
        )
    if claim and verified and verified.verdict is Verdict.INCONCLUSIVE:
        return Action("stop", "inconclusive", verified.summary, claim, verdict="inconclusive")
    if state.question:
        return Action("ask", "question", state.question.question)
    if ruling and not _answered(state):
        return Action("ask", ruling.name, ruling.reason)
    return _converse(state, claim)


def _answered(state: State) -> bool:
    """Whether a person spoke since the newest thing that could have moved a rule."""
    if not state.interventions:
        return False
    ends = [end.time for end in state.session_ends]
    return not ends or state.interventions[-1].time > ends[-1]


def _converse(state: State, claim: Claim | None) -> Action:
    if not state.sessions:
        return Action("start", "begin", "the reference is measured; the agent begins")
    told = state.sessions[-1].time
    if claim and claim.verified and claim.verified.time > told:
        return Action(
            "feedback", "rejected", f"{claim.made.claim} was rejected: {claim.verified.cause}", claim
        )
    if attempt := _unreported(state, told):
        return Action(
            "continue",
            "attempt ended",
            f"{attempt.started.attempt} ended after the agent's turn",
            attempt=attempt,
        )
    if state.interventions and state.interventions[-1].time > told:
        return Action("continue", "answered", "a person answered")
    if state.resumed and state.resumed[-1].time > told:
        return Action("continue", "resumed", f"the run was resumed after: {state.resumed[-1].after}")
    return Action("continue", "no claim", "the agent ended its turn without a claim or a question")


def _unreported(state: State, told: datetime) -> Attempt | None:
    """The newest attempt of the agent that ended after its session did."""
    ended = state.session_ends[-1].time if state.session_ends else told
    mine = [
        a
        for a in state.attempts.values()
        if a.started.by == "agent" and a.finished and a.finished.time > ended
    ]
    return mine[-1] if mine else None
