"""What is known before a run begins: what lies in the caches, and what earlier runs of the workload took."""

from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.execution.changes import uncommitted
from agentmig.execution.environments import find
from agentmig.journal import State, fold, read_journal
from agentmig.journal.store import FILE
from agentmig.settings import settings
from agentmig.spec.workload import Workload
from agentmig.supervisor.plan import Known
from agentmig.supervisor.reference import Site, site
from agentmig.verification.reference_cache import GOAL, needed_parts
from agentmig.verification.reference_key import read_document
from agentmig.verification.references import GoalReference

_NEWEST = 50


def known_before(workload: Workload) -> Known:
    """What is known of a workload before it is run; nothing is built or run for it.

    Raises:
        AgentmigError: the project or its base commit isn't there, or an environment can't be built.
    """
    with site(workload) as here:
        there = here.entry.parts()
        return Known(
            base_commit=here.repository.source_commit,
            to_build=_to_build(here),
            goal=read_document(GoalReference, here.entry.goal_file),
            missing_traces=sum(1 for part in needed_parts(workload) if part not in there and part != GOAL),
            history=history(settings().runs, workload.name),
            uncommitted=uncommitted(workload.project.path, workload.file.parent),
        )


def history(runs: Path, workload: str) -> list[State]:
    """The newest earlier runs of a workload; a journal that can't be read tells nothing."""
    found: list[State] = []
    for folder in sorted(runs.glob(f"*-{workload}-*"), reverse=True)[:_NEWEST]:
        if not (folder / FILE).exists():
            continue
        try:
            state = fold(read_journal(folder))
        except AgentmigError:
            continue
        if state.started and state.started.workload == workload:
            found.append(state)
    return found


def _to_build(here: Site) -> list[str]:
    workload = here.workload
    needed = [workload.reference.environment, *(target.environment for target in workload.targets.values())]
    code = here.repository.checkout(here.repository.base, here.folder / "requirements")
    return [name for name in dict.fromkeys(needed) if find(name, workload.environments[name], code) is None]
