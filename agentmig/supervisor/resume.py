"""Going on with a run that ended before a verdict: stopped, waiting for a person, or its supervisor went away.

What is in the journal counts, and nothing else. An attempt whose end nobody saw is written down as lost, a stretch of
the session without an end as interrupted, and what the earlier supervisor left running is ended first.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from agentmig.errors import AgentmigError
from agentmig.execution.isolation import Isolation
from agentmig.execution.processes import end_tree, marked
from agentmig.execution.repository import Repository
from agentmig.journal import Journal, State, fold
from agentmig.journal.events import AttemptFinished, Intervention, MigrationResumed, Outcome, SessionEnded
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.setup import Bench, equip

_RESUMABLE = ("stopped", "waiting")


class ResumeError(AgentmigError):
    """The run can't be resumed; says why."""


def resumable(state: State, name: str) -> None:
    """See that a run can be gone on with.

    Raises:
        ResumeError: it never began, or has its verdict.
    """
    if state.started is None:
        raise ResumeError(f"{name} was stopped before it began: there is nothing to resume, start it anew")
    if state.finished and state.finished.verdict not in _RESUMABLE:
        raise ResumeError(
            f"{name} has ended: {state.finished.verdict} ({state.finished.reason}); only a run that was stopped, that "
            "waits for a person, or whose supervisor went away can be resumed"
        )


def take_up(
    journal: Journal,
    folder: Path,
    isolation: Isolation,
    budget: dict[str, float | int | None],
    answer: tuple[str, float] | None,
) -> None:
    """Write down what became of the earlier supervisor's work, and that another one goes on.

    Args:
        journal: of the run, open.
        folder: of the run.
        isolation: from here on.
        budget: what may be spent in all, where it differs from before.
        answer: what a person says to the open question (or by the way), and the minutes it took them.
    """
    state = fold(journal.events)
    assert state.started is not None
    killed = end_leftovers(folder)
    if len(state.session_ends) < len(state.sessions):
        detail = "the supervisor went away"
        journal.append(
            SessionEnded,
            session=state.sessions[-1].session,
            reason="interrupted",
            detail=detail,
            cli_usd=None,
            processes_killed=killed,
        )
    for name, attempt in state.attempts.items():
        if attempt.finished is None:
            journal.append(AttemptFinished, **_lost(name, folder))
    journal.append(
        MigrationResumed,
        after=state.finished.reason if state.finished else "the supervisor went away",
        budget={**state.started.budget, **budget},
        isolation=isolation.mode,
        processes_killed=killed,
    )
    if answer:
        text, minutes = answer
        asked = state.question
        waited = (journal.events[-1].time - asked.time).total_seconds() if asked else 0.0
        reason = "decision" if asked else "hint"
        journal.append(Intervention, reason=reason, text=text, minutes=minutes, waited_s=waited)


async def reopen(
    inputs: Inputs,
    folder: Path,
    journal: Journal,
    isolation: Isolation,
    *,
    may_continue: Callable[[], str | None],
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> Bench:
    """Make a run ready to go on, after `take_up`.

    Args:
        inputs: as they were kept.
        folder: the run's folder.
        journal: the run's journal.
        isolation: for every run of the project's code.
        may_continue: None, or why nothing more may be spent.
        on_note: gets a line for people at each step.
        on_line: gets the output of whatever runs.

    Raises:
        AgentmigError: something of the run is gone, or can't be built again.
    """
    started = fold(journal.events).started
    assert started is not None
    repository = Repository.reopen(folder, started.base_commit)
    return await equip(inputs, folder, journal, isolation, repository, may_continue, on_note, on_line)


def end_leftovers(folder: Path) -> int:
    """End processes of agentmig that work in a run's folder; returns how many there were.

    Only for a run whose journal this process holds: no other supervisor can be theirs. A person's own shell or editor in
    that folder is left alone.
    """
    root = folder.resolve()
    return sum(end_tree(process.pid) for process in marked(None) if _works_in(process, root))


def _works_in(process: psutil.Process, root: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(root)
    except (psutil.Error, OSError):
        return False


def _lost(name: str, folder: Path) -> dict[str, Any]:
    logs = sorted(folder.glob(f"attempts*/{name}/log.txt"))
    return {
        "attempt": name,
        "outcome": Outcome.INFRA,
        "cause": "supervisor_gone",
        "summary": "agentmig was interrupted while this ran, so nobody saw its end",
        "exit_code": None,
        "timed_out": False,
        "wall_s": 0.0,
        "peak_memory_mb": 0.0,
        "usd": None,
        "log": str(logs[-1]) if logs else "",
    }
