"""`agentmig reference`: what the untouched code does, measured, looked at, carried to another machine, removed."""

import asyncio
import json
import signal
import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from agentmig.cli import options
from agentmig.cli.reference_text import print_forecast, print_inspection, short, size
from agentmig.errors import AgentmigError
from agentmig.execution.isolation import Isolation
from agentmig.spec import load_workload
from agentmig.supervisor.reference import Forecast, Site, forecast, references_root, site
from agentmig.supervisor.reference import make as measure
from agentmig.verification.reference_archive import export_reference
from agentmig.verification.reference_cache import BusyError, Entry, Stored, entries, expired, stored
from agentmig.verification.reference_import import import_reference
from agentmig.verification.reference_inspection import Inspection

app = typer.Typer(
    help="Measure the untouched code on its own hardware, once, and use the results in every run.",
    no_args_is_help=True,
    add_completion=False,
)
ArchiveFile = Annotated[Path, typer.Argument(metavar="FILE", help="The archive, such as reference.tar.gz.")]


class ExpiryError(AgentmigError):
    """What is to be removed isn't named, or nobody agreed to it."""


@app.command()
def make(
    workload: options.WorkloadFile,
    target: options.Targets = None,
    goal_only: Annotated[
        bool,
        typer.Option("--goal-only", help="Measure the goal metric alone; a verification makes the rest."),
    ] = False,
    no_isolation: options.NoIsolation = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Measure all that a verification needs of the untouched code; results that are there already stay."""
    inputs = options.inputs(workload, target, None, None)
    isolation = options.isolation(no_isolation)
    console = Console(highlight=False, soft_wrap=True)
    silent = options.quiet(quiet) or as_json
    with site(inputs.workload) as here:
        foreseen = forecast(here, goal_only)
        if not silent:
            print_forecast(console, here.manifest, foreseen, inputs.workload.reference.seeds)
        if foreseen.missing:
            _measure(here, isolation, goal_only, foreseen, console, silent)
        _show(here.inspect(), as_json)


@app.command()
def inspect(workload: options.WorkloadFile, as_json: options.Json = False) -> None:
    """Show what there is of a workload's reference, whether its margin can be shown, and what doesn't apply and why."""
    with site(load_workload(workload)) as here:
        _show(here.inspect(), as_json)


@app.command()
def export(workload: options.WorkloadFile, file: ArchiveFile, as_json: options.Json = False) -> None:
    """Write a reference to one file, to be used on another machine; names this machine and paths on it."""
    with site(load_workload(workload)) as here:
        done = export_reference(here.entry, here.manifest, file)
        missing = [part for part in here.inspect().missing if part not in done.parts]
    if as_json:
        document = {"file": str(file), "key": here.entry.key, "bytes": done.bytes, "parts": done.parts}
        typer.echo(json.dumps({**document, "left_out": done.left_out, "missing": missing}, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{escape(str(file))}: {size(done.bytes)}, {short(done.parts)}")
    for reason in done.left_out:
        console.print(f"  [yellow]left out[/] {escape(reason)}")
    if missing:
        console.print(
            f"  [yellow]note:[/] without {short(missing)}, which the targets need: `agentmig reference make` first, or "
            "they are measured on the machine that imports"
        )


@app.command("import")
def import_(
    workload: options.WorkloadFile,
    file: ArchiveFile,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results of the same reference that are here.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Take over a reference that another machine measured; what was measured of something else is refused."""
    loaded = load_workload(workload)
    with site(loaded) as here:
        import_reference(file, here.entry, here.manifest, loaded.reference.seeds, force)
        _show(here.inspect(), as_json)


@app.command()
def expire(
    workload: Annotated[
        Path | None, typer.Argument(help="Remove what there is of this workload at its present base commit.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All results: of the workload, or of every workload where none is named."),
    ] = False,
    older_than: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Only results that are older.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    as_json: options.Json = False,
) -> None:
    """Remove results of the reference from the cache, after saying which; running measurements stay."""
    if workload is None and not everything:
        raise ExpiryError("name a workload, or give --all for the results of every workload")
    chosen = _chosen(workload, everything, older_than)
    if not as_json:
        _print_chosen(Console(highlight=False, soft_wrap=True), chosen)
    if chosen and not yes:
        _agree(chosen, shown=not as_json)
    removed, kept = _remove(chosen)
    if as_json:
        document = {"removed": [_plain(each) for each in removed], "kept": kept}
        typer.echo(json.dumps({**document, "bytes": sum(each.size for each in removed)}, indent=2))
        return
    for reason in kept.values():
        typer.echo(f"kept: {reason}")
    if removed:
        typer.echo(f"removed {len(removed)} of them, {size(sum(each.size for each in removed))}")


def _measure(
    here: Site, isolation: Isolation, goal_only: bool, foreseen: Forecast, console: Console, silent: bool
) -> None:
    begin = time.monotonic()
    status = Status("", console=console) if console.is_terminal and not silent else None

    def note(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - begin), 60)
        if not silent:
            console.print(f"[dim]{minutes:3d}:{seconds:02d}[/] {escape(text)}")

    def line(text: str) -> None:
        if status and text.strip():
            status.update(f"[dim]{escape(text.strip()[: console.width - 4])}[/]")

    async def whole() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await measure(here, isolation, goal_only, note, line)

    try:
        with status or nullcontext():
            asyncio.run(whole())
    except (KeyboardInterrupt, asyncio.CancelledError):
        left = forecast(here, goal_only).trainings
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"interrupted; {foreseen.trainings - left} of {foreseen.trainings} trainings are kept, "
            "the same command goes on with the rest"
        )
        raise KeyboardInterrupt from None


def _show(found: Inspection, as_json: bool) -> None:
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        print_inspection(Console(highlight=False, soft_wrap=True), found)


def _chosen(workload: Path | None, everything: bool, older_than: float | None) -> list[Stored]:
    name, keys = None, None
    if workload is not None:
        loaded = load_workload(workload)
        if everything:
            name = loaded.name
        else:
            with site(loaded) as here:
                keys = [here.entry.key]
    found = [stored(entry) for entry in entries(references_root())]
    return expired(found, keys=keys, workload=name, older_than_days=older_than, now=datetime.now(UTC))


def _print_chosen(console: Console, chosen: list[Stored]) -> None:
    if not chosen:
        console.print("no such results in the cache")
    for each in chosen:
        name = each.workload or "of a workload that nobody can tell"
        console.print(
            f"  {each.key}  {escape(name)}, newest of {each.newest:%Y-%m-%d %H:%M} UTC, {size(each.size)}"
        )


def _agree(chosen: list[Stored], shown: bool) -> None:
    """Ask before results are removed.

    Raises:
        ExpiryError: nobody is there to ask, or they said no.
    """
    if not _at_terminal():
        raise ExpiryError("nobody is at the terminal to agree: add --yes to remove these results")
    if not shown:
        _print_chosen(Console(stderr=True, highlight=False, soft_wrap=True), chosen)
    total = size(sum(each.size for each in chosen))
    if not typer.confirm(f"Remove {total}? They can only be measured again.", err=True):
        raise ExpiryError("nothing was removed")


def _at_terminal() -> bool:
    return sys.stdin.isatty()


def _remove(chosen: list[Stored]) -> tuple[list[Stored], dict[str, str]]:
    """Remove results; gives those removed, and why others were kept."""
    removed, kept = [], {}
    for each in chosen:
        entry = Entry(references_root(), each.key)
        try:
            with entry.locked_now():
                entry.remove()
        except BusyError as error:
            kept[each.key] = str(error)
        else:
            removed.append(each)
    return removed, kept


def _plain(each: Stored) -> dict[str, Any]:
    return {
        "key": each.key,
        "workload": each.workload,
        "newest": each.newest.isoformat(),
        "bytes": each.size,
    }
