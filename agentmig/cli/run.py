"""`agentmig run`: a supervised migration, from the workload file to a verdict."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from agentmig.agent.service import service_from
from agentmig.cli import options
from agentmig.cli.live import Live
from agentmig.cli.plan import print_plan
from agentmig.cli.recording import record
from agentmig.errors import AgentmigError
from agentmig.journal import Journal
from agentmig.replay.script import load_script
from agentmig.supervisor.asking import Answer, Ask
from agentmig.supervisor.foresight import known_before
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.plan import RunPlan, plan_run
from agentmig.supervisor.setup import set_up, voice_of


class NotConfirmedError(AgentmigError):
    """The person did not agree to what it costs."""


def run(
    workload: options.WorkloadFile,
    play: Annotated[
        Path | None, typer.Option(help="Play this session instead of asking a model: no key, no cost.")
    ] = None,
    target: options.Targets = None,
    policy: options.PolicyFile = None,
    prices: options.PricesFile = None,
    no_isolation: options.NoIsolation = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before spending money.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Migrate a workload with Claude Code, and verify every claim by independent runs."""
    inputs = options.inputs(workload, target, policy, prices)
    isolation = options.isolation(no_isolation)
    script = load_script(play) if play else None
    speaker = script or service_from(os.environ)
    voice = voice_of(inputs, script)
    quiet = options.quiet(quiet)
    plan = plan_run(inputs, known_before(inputs.workload), "migrate", voice.words)
    if not (quiet or as_json):
        print_plan(Console(highlight=False, soft_wrap=True), plan)
    if not yes:
        _confirm(plan, str(inputs.workload.file), shown=not (quiet or as_json))

    async def body(folder: Path, journal: Journal, live: Live) -> None:
        from agentmig.supervisor.conduct import (
            conduct,  # with the agent's libraries, seconds that a plan needn't take
        )

        limits = Limits(journal, inputs.policy)
        bench = await set_up(
            inputs,
            folder,
            journal,
            isolation,
            voice,
            "migrate",
            may_continue=limits.exceeded,
            on_note=live.note,
            on_line=live.line,
        )
        await conduct(bench, inputs, isolation, speaker, limits, asker(live))

    record(inputs.workload, as_json, quiet, body)


def asker(live: Live) -> Ask:
    """Reaches the person at the terminal; nobody, where there is none."""

    async def nobody(question: str) -> Answer | None:
        return None

    return live.ask if sys.stdin.isatty() else nobody


def _confirm(plan: RunPlan, file: str, shown: bool) -> None:
    """Ask before a run that costs money.

    Raises:
        NotConfirmedError: nothing bounds the cost, nobody is there to ask, or they said no.
    """
    if not plan.costs_money:
        return
    if plan.agent and plan.agent.usd.high is None:
        raise NotConfirmedError(
            f"{file}: budget.agent_usd is not set, so this run could spend without bound; set it, or add --yes"
        )
    if not sys.stdin.isatty():
        raise NotConfirmedError(
            "this run costs money, and nobody is at the terminal to agree: add --yes (`agentmig plan` shows what it costs)"
        )
    if not shown:
        print_plan(Console(stderr=True, highlight=False, soft_wrap=True), plan)
    if not typer.confirm("Go on?", err=True):
        raise NotConfirmedError("nothing was started")
