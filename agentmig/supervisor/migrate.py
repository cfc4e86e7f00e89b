"""The loop: read the state, decide, write the decision down, perform it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from agentmig.agent.prompts import render
from agentmig.failures.taxonomy import advice
from agentmig.journal import State, Verdict, fold
from agentmig.journal.events import (
    ClaimMade,
    DecisionMade,
    FeedbackSent,
    Intervention,
    MigrationFinished,
    QuestionAsked,
)
from agentmig.journal.fold import Claim
from agentmig.policy import Policy
from agentmig.supervisor.asking import Ask
from agentmig.supervisor.decide import Action, decide
from agentmig.supervisor.setup import Bench

if TYPE_CHECKING:  # they bring in the SDK, which a verification without an agent does not need
    from agentmig.agent.session import Session
    from agentmig.supervisor.toolbox import Toolbox

Final = Literal["accepted", "rejected", "stopped", "inconclusive", "waiting"]


async def migrate(bench: Bench, policy: Policy, session: Session, toolbox: Toolbox, ask: Ask) -> Final:
    """Lead a migration to its end; everything that happens is in the journal.

    Args:
        bench: the run, set up.
        policy: the stopping criteria.
        session: the conversation with the agent.
        toolbox: the agent's tools, as the session has them.
        ask: reaches a person.

    Returns:
        How it ended: `waiting` when a person is needed and none is there.
    """
    while True:
        state = fold(bench.journal.events)
        action = decide(state, policy)
        bench.journal.append(DecisionMade, action=action.kind, rule=action.rule, reason=action.reason)
        match action.kind:
            case "accept":
                return _finish(bench, "accepted", action.reason)
            case "stop":
                return _finish(bench, action.verdict, _why(state, action))
            case "ask":
                if not await _ask(bench, state, action, ask):
                    return _finish(bench, "waiting", action.reason)
            case "verify":
                assert action.claim is not None
                # Only claims that reached the goal have spent some of the chance of a false acceptance.
                number = 1 + sum(1 for c in state.claims if c.verified and c.verified.alpha_spent > 0)
                await bench.verifier.verify(action.claim.made.claim, action.claim.made.commit, number)
            case "start" | "continue" | "feedback":
                message = _message(bench, state, action, toolbox)
                known = next((s.session for s in reversed(state.sessions) if session.has(s.session)), None)
                if state.sessions and known is None:
                    message = _from_the_beginning(bench, state, message)
                await session.converse(message, resume=known)
                await toolbox.settle()


async def verify_candidate(bench: Bench, commit: str) -> Final:
    """Verify one commit without an agent.

    Args:
        bench: the run, set up in mode `verify`.
        commit: the candidate's id in the run's repository.
    """
    if not fold(bench.journal.events).claims:
        bench.journal.append(
            ClaimMade, claim="claim-1", commit=commit, summary="a candidate named on the command line"
        )
    verified = await bench.verifier.verify("claim-1", commit, 1)
    words: dict[Verdict, Final] = {Verdict.PASS: "accepted", Verdict.FAIL: "rejected"}
    return _finish(bench, words.get(verified.verdict, "inconclusive"), verified.summary)


def _why(state: State, action: Action) -> str:
    """The reason of a stop; what ended the session says more than the rule that noticed it."""
    if action.rule == "session errors" and state.session_ends:
        return f"{action.reason}: {state.session_ends[-1].detail}"
    return action.reason


def _finish(bench: Bench, verdict: Final, reason: str) -> Final:
    bench.journal.append(MigrationFinished, verdict=verdict, reason=reason)
    return verdict


async def _ask(bench: Bench, state: State, action: Action, ask: Ask) -> bool:
    if state.question is None:
        bench.journal.append(QuestionAsked, question=action.reason, by="policy")
    asked = datetime.now(UTC)
    answer = await ask(action.reason)
    if answer is None:
        return False
    waited = (datetime.now(UTC) - asked).total_seconds()
    bench.journal.append(
        Intervention, reason="decision", text=answer.text, minutes=answer.minutes, waited_s=waited
    )
    return True


def _message(bench: Bench, state: State, action: Action, toolbox: Toolbox) -> str:
    """The next user message of the conversation; feedback of ours is journalled as such."""
    if action.kind == "start":
        return task_prompt(bench, state)
    if action.kind == "feedback":
        assert action.claim is not None
        return _feedback(bench, rejection(bench, action.claim), action.claim.made.claim)
    if action.attempt and action.attempt.finished:
        return toolbox.report(action.attempt.finished, late=True)
    if action.rule == "answered":
        return render("answer.md.j2", question=_last_question(bench), answer=state.interventions[-1].text)
    if action.rule == "resumed":
        reason = "You were interrupted; your worktree is as you left it."
        return _feedback(bench, render("continue.md.j2", reason=reason), "the interruption")
    return _feedback(bench, render("continue.md.j2", reason=""), "no claim")


def _from_the_beginning(bench: Bench, state: State, message: str) -> str:
    """The message for a session whose record is lost, so that a fresh one has to be told everything."""
    return render("lost.md.j2", task=task_prompt(bench, state), claims=state.claims, message=message)


def _feedback(bench: Bench, text: str, about: str) -> str:
    bench.journal.append(FeedbackSent, text=text, about=about)
    return text


def _last_question(bench: Bench) -> str:
    return next((e.question for e in reversed(bench.journal.events) if isinstance(e, QuestionAsked)), "")


def task_prompt(bench: Bench, state: State) -> str:
    """The first message: the whole task."""
    return render(
        "task.md.j2",
        workload=bench.workload,
        targets=bench.targets,
        worktree=bench.repository.worktree,
        base_commit=bench.repository.base,
        reference=state.reference,
        budget=bench.workload.budget.model_dump(),
    )


def rejection(bench: Bench, claim: Claim) -> str:
    """What the agent is told about a claim that was not accepted."""
    verified = claim.verified
    assert verified is not None
    return render(
        "rejected.md.j2",
        claim=claim.made.claim,
        commit=claim.made.commit,
        results=[
            gate.model_dump(mode="json") for gate in claim.gates if gate.verdict is not Verdict.NOT_REACHED
        ],
        cause=verified.cause,
        advice=advice(verified.cause) if verified.cause else "",
        claims_left=bench.workload.acceptance.goal.claims
        - sum(isinstance(e, ClaimMade) for e in bench.journal.events),
    )
