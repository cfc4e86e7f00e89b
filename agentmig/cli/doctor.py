"""`agentmig doctor [WORKLOAD]`: whether a run can begin here, and what to do where it can't."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli import options
from agentmig.doctor import TITLES, Examined, Report, Result, State, examine

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warn": ("!", "yellow"),
    "missing": ("✗", "bold red"),
    "broken": ("✗", "bold red"),
    "not needed": ("·", "dim"),
}
_NOT_READY = 2
_SHOWN = 3
"""Checks that are named while they run: as many as fit on a line."""


def doctor(
    workload: Annotated[
        Path | None,
        typer.Argument(
            help="The workload file, or the folder that holds a workload.toml; without one, what every run needs."
        ),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Look at everything that a run needs, and say how to get what is missing or broken.

    Ends with 0 where `agentmig run` can begin, else with 2. Builds and installs nothing, and spends no tokens.
    """
    examined = _examine(workload)
    report = examined.report
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        only_the_end = quiet or (examined.settings is not None and examined.settings.quiet)
        print_report(Console(highlight=False, soft_wrap=True), report, only_the_end)
    if not report.ready:
        raise typer.Exit(_NOT_READY)


def _examine(workload: Path | None) -> Examined:
    console = Console(stderr=True, highlight=False)
    with console.status("looking …") as status:  # shows nothing where there is no terminal

        def running(names: list[str]) -> None:
            if names:
                status.update(f"looking at {escape(', '.join(names[:_SHOWN]))} …")

        return asyncio.run(examine(workload, running))


def print_report(console: Console, report: Report, only_the_end: bool = False) -> None:
    """Print a report for people: a line for each result by groups, then what to do."""
    if not only_the_end:
        width = max((len(result.name) for result in report.results), default=0)
        for group, title in TITLES.items():
            lines = [result for result in report.results if result.group == group]
            if lines:
                console.print(f"[bold]{title}[/]")
            for result in lines:
                console.print(f"  {_line(result, width)}")
    _steps(console, "To do", report.todo)
    _steps(console, "Worth doing", report.suggestions)
    if report.ready:
        console.print("[bold green]ready[/]: nothing that `agentmig run` needs is missing or broken")
    else:
        count = len(report.failing)
        things = (
            "1 thing that `agentmig run` needs is"
            if count == 1
            else f"{count} things that `agentmig run` needs are"
        )
        console.print(f"[bold red]not ready[/]: {things} missing or broken")


def _line(result: Result, width: int) -> str:
    mark, style = _MARKS[result.state]
    state = "" if result.state in ("ok", "warn") else f"{result.state}: "
    seen = escape(" ".join(result.seen.split()))
    text = f"[dim]{state}{seen}[/]" if result.state == "not needed" else f"{state}{seen}"
    return f"[{style}]{mark}[/] {escape(result.name):<{width}}  {text}"


def _steps(console: Console, title: str, steps: list[str]) -> None:
    if steps:
        console.print(f"[bold]{title}[/]")
    for number, step in enumerate(steps, start=1):
        console.print(f"  {number}. {escape(step)}")
