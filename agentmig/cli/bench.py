"""`agentmig bench`: what the verifier is worth, measured with faults whose right answer is known."""

import asyncio
import os
import platform
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.bench.applying import Prepared, prepare
from agentmig.bench.campaign import Campaign, Progress
from agentmig.bench.document import headlines, markdown
from agentmig.bench.examples import Example, load_examples, names_of
from agentmig.bench.manifests import CLEAN, Known, Operator, load_operators
from agentmig.bench.model import FaultBench
from agentmig.bench.summary import document
from agentmig.cli import options
from agentmig.errors import AgentmigError
from agentmig.policy import load_policy
from agentmig.resources import resource
from agentmig.settings import settings
from agentmig.spec import load_prices
from agentmig.study.text import counted

app = typer.Typer(
    help="Measure what the verifier is worth, with faults whose right answer is known.",
    no_args_is_help=True,
    add_completion=False,
)


class BenchError(AgentmigError):
    """The bench can't be run as it was asked for."""


@app.callback()
def _group() -> None:
    """Measure what the verifier is worth, with faults whose right answer is known."""


@app.command()
def faults(
    workload: Annotated[
        list[str] | None, typer.Option(help="Only this example project; may be given more than once.")
    ] = None,
    operator: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Only this operator ({CLEAN}: the correct migrations); may be given more than once."
        ),
    ] = None,
    operators_from: Annotated[
        Path | None, typer.Option(help="Folder of operators; default benchmarks/faults of agentmig.")
    ] = None,
    workloads: Annotated[
        Path | None, typer.Option(help="Folder of example projects; default workloads of agentmig.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for fault-bench.json and fault-bench.md; default docs where all that ships with agentmig is run, else none."
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder in which rows and runs are kept; default bench in the folder of runs."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1, help="So many arms of single-process targets at once; times are then no measurements."
        ),
    ] = 1,
    short: Annotated[bool, typer.Option("--short", help="Only the mutants that are marked `short`.")] = False,
    no_isolation: options.NoIsolation = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Put known faults into correct migrations, verify each, and count what is rejected, and for which cause."""
    place = workloads or _shipped("workloads", "--workloads")
    examples = load_examples(place, workload)
    operators = _operators(operators_from, place, examples, operator)
    chosen = settings()
    folder = work or chosen.runs / "bench"
    _make(folder)
    with_clean = not short and (operator is None or CLEAN in operator)
    prepared = prepare(examples, operators, folder / "projects", with_clean, short)
    if not prepared.arms:
        raise BenchError("no arm is left to run: choose other workloads or operators")
    isolation = options.isolation(no_isolation)
    told = _Told(Console(highlight=False, soft_wrap=True), options.quiet(quiet) or as_json)
    campaign = Campaign(
        prepared=prepared,
        examples=examples,
        policy=load_policy(chosen.policy),
        prices=load_prices(chosen.prices),
        folder=folder,
        isolation=isolation,
        jobs=jobs,
        on_note=told.note,
        on_progress=told.progress,
    )
    told.beginning(campaign, folder)
    try:
        asyncio.run(_until_terminated(campaign))
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"interrupted; {counted(campaign.done, 'arm')} done and kept in {escape(str(folder))}: the same command goes on"
        )
        raise
    machine = f"{platform.system()} {platform.machine()} with {os.cpu_count()} cores"
    made = document(prepared.arms, campaign.found, operators, campaign.problems, machine)
    everything = not (workload or operator or short or workloads or operators_from)
    written = _write(made, out or (Path("docs") if everything else None))
    if as_json:
        sys.stdout.write(made.model_dump_json(indent=2) + "\n")
    else:
        told.end(made, written)
    raise typer.Exit(0 if made.summary.reached else 1)


def _operators(
    folder: Path | None, place: Path, examples: dict[str, Example], only: list[str] | None
) -> list[Operator]:
    known: dict[str, list[str] | None] = dict.fromkeys(names_of(place))
    known |= {name: list(example.migrations) for name, example in examples.items()}
    return load_operators(folder or _shipped("benchmarks/faults", "--operators-from"), Known(known), only)


def _shipped(name: str, option: str) -> Path:
    """A folder that lies beside agentmig in a checkout of its sources.

    Raises:
        BenchError: this is an installation without it.
    """
    try:
        return resource(*name.split("/"))
    except FileNotFoundError as error:
        raise BenchError(
            f"{name} is no part of this installation of agentmig (it is in its sources); name a folder with {option}"
        ) from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise BenchError(
            f"{folder}: {error.strerror}; name a folder that can be written with --work"
        ) from error


async def _until_terminated(campaign: Campaign) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        await campaign.run()
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _write(made: FaultBench, out: Path | None) -> list[Path]:
    if out is None:
        return []
    texts = {"fault-bench.json": made.model_dump_json(indent=2) + "\n", "fault-bench.md": markdown(made)}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(
            f"{out}: {error.strerror}; all rows are kept, name another folder with --out"
        ) from error
    return [out / name for name in texts]


class _Told:
    """What people see while it goes on."""

    def __init__(self, console: Console, silent: bool):
        self._console = console
        self._silent = silent

    def note(self, text: str) -> None:
        if not self._silent:
            self._console.print(f"  [dim]{escape(text)}[/]")

    def beginning(self, campaign: Campaign, folder: Path) -> None:
        if self._silent:
            return
        done = campaign.done
        known = f"; {done} of them are done already, with the same key" if done else ""
        self._console.print(f"{_count(campaign.prepared)}{known} ({escape(str(folder))})")

    def progress(self, progress: Progress) -> None:
        if self._silent:
            return
        width = len(str(progress.total))
        left = (
            ""
            if progress.left_s is None or progress.done == progress.total
            else f", about {duration(progress.left_s)} left"
        )
        self._console.print(
            f"{progress.done:{width}}/{progress.total}  {escape(progress.arm.id)}: {_came_out(progress)} "
            f"[dim]({duration(progress.wall_s)}{left})[/]"
        )

    def end(self, made: FaultBench, written: list[Path]) -> None:
        for line in headlines(made.summary):
            self._console.print(escape(line))
        for words, table in (
            ("missed", made.summary.missed),
            ("not accepted", made.summary.alarms),
            ("not run", made.summary.not_run),
        ):
            for row in table.rows:
                self._console.print(f"  [red]{words}[/] {escape(row.arm)}: {escape(row.why)}")
        for file in written:
            self._console.print(f"wrote {escape(str(file))}")


def _count(prepared: Prepared) -> str:
    mutants = sum(arm.is_mutant for arm in prepared.arms)
    arms = counted(len(prepared.arms), "arm")
    return f"{arms}: {counted(mutants, 'mutant')}, {len(prepared.arms) - mutants} correct"


def _came_out(progress: Progress) -> str:
    row = progress.observation
    if row is None:
        return f"[red]could not be run[/]: {escape(progress.problem or '')}"
    if row.verified is None:
        return f"equivalent: {escape(row.reason)}"
    made = row.verified
    verdict = {"pass": "accepted", "fail": "rejected"}.get(made.verdict, str(made.verdict))
    good = (made.verdict == "fail") == progress.arm.is_mutant and made.verdict in ("pass", "fail")
    by = f" by {made.gate}" if made.gate else ""
    cause = f" ({made.cause})" if made.cause else ""
    return f"[{'green' if good else 'red'}]{verdict}[/]{escape(by + cause)}"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
