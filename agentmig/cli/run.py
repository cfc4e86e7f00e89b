"""`agentmig run`: a supervised migration, from the workload file to a verdict."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from agentmig.agent import Places, Service, Session, SessionSettings, open_gateway, render, service_from
from agentmig.cli.live import Live
from agentmig.cli.recording import record
from agentmig.errors import AgentmigError
from agentmig.execution.environments import cache_root
from agentmig.execution.isolation import Isolation, choose_isolation, interpreter_folders
from agentmig.journal import Journal
from agentmig.policy import Policy, load_policy
from agentmig.replay import Endpoint, Script, load_script
from agentmig.spec import PriceBook, Workload, load_prices, load_workload
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import Answer, migrate
from agentmig.supervisor.setup import Bench, Voice, set_up
from agentmig.supervisor.toolbox import Toolbox


class NotConfirmedError(AgentmigError):
    """The person did not agree to what it costs."""


def run(
    workload: Annotated[
        Path, typer.Argument(help="The workload file, or the folder that holds a workload.toml.")
    ],
    play: Annotated[
        Path | None, typer.Option(help="Play this session instead of asking a model: no key, no cost.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Only this target; may be given more than once.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Stopping policy; default policies/default.toml.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Price book; default prices/default.toml.")] = None,
    no_isolation: Annotated[
        bool, typer.Option("--no-isolation", help="Go on where bubblewrap doesn't work.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before spending money.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the final document instead of the story.")
    ] = False,
) -> None:
    """Migrate a workload with Claude Code, and verify every claim by independent runs."""
    spec = load_workload(workload)
    rules, book = load_policy(policy), load_prices(prices)
    isolation = choose_isolation(no_isolation)
    script = load_script(play) if play else None
    service = None if script else service_from(os.environ)
    if service and not yes:
        _confirm(spec)

    async def body(folder: Path, journal: Journal, live: Live) -> None:
        await _migrate(spec, folder, journal, isolation, rules, book, script, service, target, live)

    record(spec, as_json, body)


async def _migrate(
    spec: Workload,
    folder: Path,
    journal: Journal,
    isolation: Isolation,
    rules: Policy,
    book: PriceBook,
    script: Script | None,
    service: Service | None,
    only: list[str] | None,
    live: Live,
) -> None:
    limits = Limits(journal, rules)
    bench = await set_up(
        spec,
        folder,
        journal,
        isolation,
        book,
        _voice(spec, script),
        rules.name,
        "migrate",
        only=only,
        may_continue=limits.exceeded,
        on_note=live.note,
        on_line=live.line,
    )
    toolbox = Toolbox(bench, limits)
    words = Endpoint(script, bench.repository.worktree) if script else service
    assert words is not None
    async with open_gateway(isolation, words) as gateway:
        session = Session(
            _settings(bench, script),
            gateway=gateway,
            isolation=isolation,
            toolbox=toolbox,
            prices=book,
            on_event=journal.append,
            may_continue=limits.exceeded,
        )
        try:
            await migrate(bench, rules, session, toolbox, live.ask if sys.stdin.isatty() else _nobody)
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


def _voice(spec: Workload, script: Script | None) -> Voice:
    if script is None:
        return Voice("live", spec.agent.model)
    return Voice(f"played from {script.description}; no model was asked", script.manifest.model)


def _confirm(spec: Workload) -> None:
    """Say what a live run may spend, and ask."""
    budget = spec.budget
    if budget.agent_usd is None:
        raise NotConfirmedError(
            f"{spec.file}: budget.agent_usd is not set, so this run could spend without bound; set it, or add --yes"
        )
    compute = f"${budget.compute_usd:g}" if budget.compute_usd is not None else "no bound"
    question = f"This asks {spec.agent.model} for up to ${budget.agent_usd:g}, and uses targets for up to {compute}. Go on?"
    if not sys.stdin.isatty():
        raise NotConfirmedError(f"{question} Nobody is at the terminal to answer: add --yes")
    if not typer.confirm(question):
        raise NotConfirmedError("nothing was started")


async def _nobody(question: str) -> Answer | None:
    return None
