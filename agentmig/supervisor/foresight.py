"""What is known before a run begins: what lies in the caches, and what earlier runs of the workload took."""

from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.journal import State, fold, read_journal
from agentmig.journal.store import FILE
from agentmig.settings import settings
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.plan import Known

_MOST = 50


def known_before(inputs: Inputs) -> Known:
    """What is known of a workload before it is run; nothing is built or run for it."""
    return Known(
        base_commit=inputs.workload.project.base_commit,
        history=history(settings().runs, inputs.workload.name),
    )


def history(runs: Path, workload: str) -> list[State]:
    """The newest earlier runs of a workload; a journal that can't be read tells nothing."""
    found: list[State] = []
    for folder in sorted(runs.glob(f"*-{workload}-*"), reverse=True)[:_MOST]:
        if (folder / FILE).exists():
            try:
                state = fold(read_journal(folder))
            except AgentmigError:
                continue
            if state.started and state.started.workload == workload:
                found.append(state)
    return found
