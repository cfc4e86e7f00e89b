"""A migration with its agent: the words of the model, the session that hears them, and the loop over both."""

from agentmig.agent.gateway import open_gateway
from agentmig.agent.launch import Places
from agentmig.agent.prompts import render
from agentmig.agent.service import Service
from agentmig.agent.session import Session, SessionSettings
from agentmig.execution.environments import cache_root
from agentmig.execution.isolation import Isolation, interpreter_folders
from agentmig.journal import fold
from agentmig.replay.endpoint import Endpoint
from agentmig.replay.script import Script
from agentmig.supervisor.asking import Ask
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import Final, migrate
from agentmig.supervisor.setup import Bench
from agentmig.supervisor.toolbox import Toolbox


async def conduct(
    bench: Bench,
    inputs: Inputs,
    isolation: Isolation,
    speaker: Script | Service,
    limits: Limits,
    ask: Ask,
) -> Final:
    """Lead a migration that is set up to its end.

    Args:
        bench: the run.
        inputs: policy and prices.
        isolation: of the agent's processes.
        speaker: the script to play, from the first turn that was not played yet, or the live service.
        limits: says when nothing more may be dispatched.
        ask: reaches a person.
    """
    toolbox = Toolbox(bench, limits)
    script = speaker if isinstance(speaker, Script) else None
    played = len(fold(bench.journal.events).turns)
    words = Endpoint(script, bench.repository.worktree, played) if script else speaker
    assert not isinstance(words, Script)
    async with open_gateway(isolation, words) as gateway:
        session = Session(
            _settings(bench, script),
            gateway=gateway,
            isolation=isolation,
            toolbox=toolbox,
            prices=inputs.prices,
            on_event=bench.journal.append,
            may_continue=limits.exceeded,
        )
        try:
            return await migrate(bench, inputs.policy, session, toolbox, ask)
        finally:
            await toolbox.cancel()


def _settings(bench: Bench, script: Script | None) -> SessionSettings:
    """The session's places: it sees its worktree and the environments, and nothing else of the run."""
    built = bench.runner.built
    folders = [folder for each in built.values() for folder in interpreter_folders(each.python)]
    references = cache_root() / "references"
    hidden = [bench.folder, *([references] if references.exists() else [])]
    return SessionSettings(
        places=Places(
            worktree=bench.repository.worktree,
            git_dir=bench.repository.agent,
            folder=bench.folder / "agent",
            readable=tuple(folder for folder in folders if folder.exists()),
            hidden=tuple(hidden),
        ),
        transcript=bench.folder / "transcript",
        model=script.manifest.model if script else bench.workload.agent.model,
        system=render("system.md.j2"),
        protected=tuple(bench.workload.protected),
        idle_s=max(900.0, bench.workload.agent.tool_wait_s),
    )
