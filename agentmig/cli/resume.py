"""`agentmig resume`: going on with a run that was stopped, waits for a person, or lost its supervisor."""

import os
from pathlib import Path
from typing import Annotated

import typer

from agentmig.agent.service import service_from
from agentmig.cli import options
from agentmig.cli.common import find_run
from agentmig.cli.live import Live
from agentmig.cli.recording import go_on
from agentmig.cli.run import asker
from agentmig.errors import AgentmigError
from agentmig.journal import Journal, fold, read_journal
from agentmig.replay.script import load_script
from agentmig.spec.workload import Budget
from agentmig.supervisor.inputs import kept_inputs
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import verify_candidate
from agentmig.supervisor.resume import reopen, resumable, take_up


class BudgetError(AgentmigError):
    """A budget on the command line can't be understood."""


def resume(
    run: options.RunName,
    answer: Annotated[
        str | None, typer.Option(help="What you say to the open question, or to the agent by the way.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=0, help="The minutes that your answer took you; counted as people's work.")
    ] = 0.0,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="A new bound, such as `agent_usd=10`; may be given more than once. Agrees to spend so much."
        ),
    ] = None,
    no_isolation: options.NoIsolation = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Go on with a run: in the same worktree, with the same session, from what its journal holds."""
    folder = find_run(run)
    state = fold(read_journal(folder))
    resumable(state, folder.name)
    assert state.started is not None
    inputs = kept_inputs(folder, Path(state.started.workload_file))
    isolation = options.isolation(no_isolation)
    script = load_script(Path(state.started.play)) if state.started.play else None
    agent = state.started.mode == "migrate"
    speaker = script or (service_from(os.environ) if agent else None)
    bounds = _bounds(budget or [])
    said = (answer, minutes) if answer else None

    async def body(folder: Path, journal: Journal, live: Live) -> None:
        take_up(journal, folder, isolation, bounds, said)
        limits = Limits(journal, inputs.policy)
        bench = await reopen(
            inputs,
            folder,
            journal,
            isolation,
            may_continue=limits.exceeded,
            on_note=live.note,
            on_line=live.line,
        )
        if speaker:
            from agentmig.supervisor.conduct import (
                conduct,  # with the agent's libraries, which no verification needs
            )

            await conduct(bench, inputs, isolation, speaker, limits, asker(live))
        else:
            assert bench.candidate is not None
            await verify_candidate(bench, bench.candidate)

    go_on(folder, inputs.workload, as_json, options.quiet(quiet), body)


def _bounds(given: list[str]) -> dict[str, float | int | None]:
    """New bounds by name.

    Raises:
        BudgetError: not `name=amount`, no such budget, or no amount that it can have.
    """
    bounds: dict[str, float | int | None] = {}
    for text in given:
        name, _, amount = text.partition("=")
        if name not in Budget.model_fields:
            raise BudgetError(
                f"--budget {text}: no budget {name!r}; there are {', '.join(Budget.model_fields)}"
            )
        try:
            value = float(amount)
            getattr(Budget.model_validate({name: int(value) if value.is_integer() else value}), name)
        except ValueError as error:
            raise BudgetError(
                f"--budget {text}: a number greater than 0 is needed, such as {name}=10"
            ) from error
        bounds[name] = int(value) if value.is_integer() else value
    return bounds
