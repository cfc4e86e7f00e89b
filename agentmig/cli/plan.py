"""`agentmig plan`: what a run would do and cost, before anything is spent."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli import options
from agentmig.supervisor.foresight import known_before
from agentmig.supervisor.plan import Range, RunPlan, Step, plan_run


def plan(
    workload: options.WorkloadFile,
    target: options.Targets = None,
    policy: options.PolicyFile = None,
    prices: options.PricesFile = None,
    by_hand: Annotated[
        bool, typer.Option("--verify", help="Plan `agentmig verify` instead of `agentmig run`.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what a run would do, how long it would take and what it would cost; starts nothing."""
    inputs = options.inputs(workload, target, policy, prices)
    document = plan_run(
        inputs,
        known_before(inputs.workload),
        "verify" if by_hand else "migrate",
        "nobody" if by_hand else "live",
    )
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
    else:
        print_plan(Console(highlight=False, soft_wrap=True), document)


def print_plan(console: Console, document: RunPlan) -> None:
    """Print a plan for people."""
    console.print(
        f"[bold]plan[/] for {document.workload} at {document.base_commit[:12]} (policy {document.policy})"
    )
    for target in document.targets:
        console.print(f"  target {target.name}: {escape(target.description)}")
    console.print(f"  gates, cheapest first: {', '.join(document.gates)}")
    looks = document.seeds["candidate"]
    console.print(
        f"  seeds: {document.seeds['reference'][0]} of the reference; {', '.join(map(str, looks))} of a claim, "
        "until the goal is decided"
    )
    for step in document.steps:
        _print_step(console, step)
    usd = document.compute_usd
    console.print(f"  in all [bold]{_time(document.seconds)}[/] of runs, compute {_usd(usd)}")
    if document.agent:
        console.print(
            f"  agent ({document.model}): {_usd(document.agent.usd)} [dim]({escape(document.agent.basis)})[/]"
        )
        console.print("  [dim]the agent's own time comes on top[/]")
    elif document.mode == "migrate":
        console.print(f"  words of the model: {escape(document.model)}")
    bounds = ", ".join(f"{name} {value:g}" for name, value in document.budget.items() if value is not None)
    console.print(f"  it stops at: {bounds or 'no bound is set'}")
    for remark in document.remarks:
        console.print(f"  [yellow]note:[/] {escape(remark)}")


def _print_step(console: Console, step: Step) -> None:
    runs = f"{_count(step.runs)} time{'s' if step.runs.high != 1 else ''}"
    console.print(
        f"  {runs:<14} {step.what} on {step.where}: [bold]{_time(step.seconds)}[/], {_usd(step.usd)}"
    )
    console.print(f"{'':<17}[dim]{escape(step.basis)}[/]")


def _count(runs: Range) -> str:
    return _span(runs, lambda value: f"{value:g}")


def _time(seconds: Range) -> str:
    def words(value: float) -> str:
        if value < 90:
            return f"{value:.0f} s"
        return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"

    return _span(seconds, words)


def _usd(usd: Range | None) -> str:
    if usd is None:
        return "not known"
    return _span(usd, lambda value: f"${value:.2f}")


def _span(span: Range, words: Callable[[float], str]) -> str:
    if span.high is None:
        return f"{words(span.low)} or more"
    low, high = words(span.low), words(span.high)
    return high if low == high else f"{low} to {high}"
