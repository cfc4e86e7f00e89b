"""`agentmig show RUN`: a migration as its journal tells it."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli import options
from agentmig.cli.common import EXIT_CODES, find_run
from agentmig.cli.story import RUN_STYLE, gate_line
from agentmig.journal import Event, fold, read_journal
from agentmig.journal.view import RunView, view


def show(
    run: options.RunName = "latest",
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with the code of the run's verdict instead of 0.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show a run: verdict, reference, attempts, claims with their gates, decisions, cost."""
    document = view(fold(read_journal(find_run(run))))
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
    else:
        print_run(Console(highlight=False, soft_wrap=True), document)
    if exit_code:
        raise typer.Exit(EXIT_CODES[document.verdict])


def conclude(events: list[Event], console: Console, folder: Path, as_json: bool) -> NoReturn:
    """End a command that made a run: show the run, and end with the exit code of its verdict."""
    document = view(fold(events))
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
    else:
        console.print()
        print_run(console, document)
        console.print(f"\nkept in {folder}; see it again: agentmig show {folder.name}")
        if document.verdict == "waiting":
            console.print(f"answer, and go on: agentmig resume {folder.name} --answer '…' --minutes 5")
        if document.verdict == "stopped":
            console.print(f"go on: agentmig resume {folder.name} (with --budget where one is spent)")
    raise typer.Exit(EXIT_CODES[document.verdict])


def print_run(console: Console, run: RunView) -> None:
    """Print a run for people."""
    style = RUN_STYLE.get(run.verdict, "yellow")
    console.print(f"[{style}]{run.verdict.upper()}[/] {escape(run.reason)}")
    console.print(
        f"run {run.run}: {run.mode} of {run.workload} at {run.base_commit[:12]}, {run.wall_s:.0f} s"
    )
    console.print(f"words of the model: {escape(run.words)}; isolation: {run.isolation}")
    for target in run.targets:
        console.print(f"target {target.name}: {escape(target.description)}")
    if run.reference:
        values = ", ".join(f"{value:.4f}" for value in run.reference.values)
        console.print(f"reference: {escape(run.reference.hardware)}: {escape(run.reference.metric)} {values}")
    if run.attempts:
        _attempts(console, run)
    for claim in run.claims:
        console.print(f"\n[bold]{claim.id}[/] at {claim.commit[:12]}: {claim.verdict} {claim.cause or ''}")
        for gate in claim.gates:
            console.print(f"  {gate_line(gate)}")
    if run.question:
        console.print(f"[bold yellow]a person is needed:[/] {escape(run.question)}")
    _cost(console, run)


def _attempts(console: Console, run: RunView) -> None:
    console.print("\n[bold]execution attempts[/]")
    width = max(len(f"{a.target} (emulated)") for a in run.attempts)
    for a in run.attempts:
        target = f"{a.target} (emulated)" if a.emulated else a.target
        chips = f"{a.chips} chip{'s' if a.chips != 1 else ''}"
        end = "running"
        if a.outcome:
            code = "time-out" if a.exit_code is None else f"exit {a.exit_code}"
            end = f"{a.outcome:<10} {code}, {a.wall_s:.0f} s, {a.peak_memory_mb:.0f} MB"
        cause = f" ({a.cause})" if a.cause else ""
        console.print(
            f"  {a.id:<11} {a.by:<9} {target:<{width}} {chips:<8} {end}{cause}; {escape(a.purpose)}"
        )


def _cost(console: Console, run: RunView) -> None:
    tokens = run.usage
    console.print(
        f"\n{run.turns} turns; tokens: {tokens.input} in, {tokens.output} out, {tokens.cache_read} cache read, "
        f"{tokens.cache_write} cache write; {len(run.interventions)} interventions; {run.denied_tools} tool calls denied"
    )
    cost = run.cost
    console.print(f"agent ${cost.agent_usd:.4f} [dim]({escape(cost.agent_usd_source)})[/]")
    console.print(f"compute ${cost.compute_usd:.4f} [dim]({escape(cost.compute_usd_source)})[/]")
    console.print(f"people {cost.human_minutes:g} min")
