"""`agentmig study`: the tables over many migrations, from their journals alone."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from glob import glob, has_magic
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agentmig.cli import options
from agentmig.cli.common import NoRunError, find_run, run_names
from agentmig.errors import AgentmigError
from agentmig.journal.store import FILE
from agentmig.settings import settings
from agentmig.study import TABLES, StudyView, formats, read
from agentmig.study import study as computed
from agentmig.study.layout import Grid
from agentmig.study.reading import UnreadableError

_WIDE = 1000
_DEAREST = 100_000
_SHOWN = 30
"""Rows of a table that people see unless they ask for it alone."""


class OutputError(AgentmigError):
    """The tables can't be written as it was asked for."""


class Format(StrEnum):
    """How tables are written."""

    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"


_SUFFIXES = {".md": Format.MARKDOWN, ".csv": Format.CSV, ".tex": Format.LATEX, ".json": Format.JSON}


def study(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs (folder, name or its beginning), folders of runs, or glob patterns; default: all runs here.",
            autocompletion=run_names,
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format", help="Instead of tables for people; by default what --output's ending says."
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help=f"Only this table: {', '.join(TABLES)}.",
            autocompletion=lambda incomplete: [name for name in TABLES if name.startswith(incomplete)],
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write to this file; for CSV of all tables, to this folder, a file for each."),
    ] = None,
    human_usd_per_hour: Annotated[
        float | None,
        typer.Option(help="Price of an hour of a person; default: the setting. Without one, minutes alone."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Leave out journals that can't be read, and name them.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Tables over many migrations: levels, attempts, causes, interventions, cost, speed."""
    form = _format(form, as_json, table, output)
    price = settings().human_usd_per_hour if human_usd_per_hour is None else human_usd_per_hour
    if price is not None and not 0 <= price <= _DEAREST:
        raise OutputError(f"an hour of a person at ${price:g}: give a price from 0 to {_DEAREST:,}")
    reading = read(_folders(runs or [str(settings().runs)]))
    if reading.unreadable and (not keep_going or not reading.migrations):
        left = "" if reading.migrations else "; no other journal is left"
        raise UnreadableError(
            "\n  ".join(
                [f"journals that can't be read (--keep-going leaves them out{left}):", *reading.unreadable]
            )
        )
    warnings = Console(stderr=True, highlight=False, soft_wrap=True)
    for reason in reading.unreadable:
        warnings.print(f"[yellow]left out:[/] {escape(reason)}")
    document = computed(reading, price)
    if form is None:
        # A terminal folds what is too wide for it; a pipe or a file takes whole lines.
        width = None if sys.stdout.isatty() else _WIDE
        print_study(Console(highlight=False, soft_wrap=True, width=width), document, table)
    elif output is None:
        typer.echo(_text(document, form, table), nl=False)
    else:
        _write(document, form, table, output)


def _format(form: Format | None, as_json: bool, table: str | None, output: Path | None) -> Format | None:
    """The format that was asked for; None for people.

    Raises:
        OutputError: the options contradict each other.
    """
    if as_json and form not in (None, Format.JSON):
        raise OutputError(f"--json and --format {form} are two formats; choose one")
    form = Format.JSON if as_json else form
    if table is not None and table not in TABLES:
        raise OutputError(f"--table {table}: there is no such table; the tables are {', '.join(TABLES)}")
    if form is None and output is not None:
        form = _SUFFIXES.get(output.suffix)
        if form is None:
            raise OutputError(f"{output}: say its format too: --format {', '.join(Format)}")
    if form is Format.JSON and table is not None:
        raise OutputError("--table doesn't go with JSON, which is one document of all tables; leave it out")
    if form is Format.CSV and table is None and output is None:
        raise OutputError(
            "CSV is one file for each table: name a folder with --output, or one table with --table"
        )
    return form


def _folders(names: Iterable[str]) -> list[Path]:
    """The folders of the runs that are named.

    Raises:
        NoRunError: a name leads to none.
    """
    found: list[Path] = []
    for name in names:
        if (Path(name) / FILE).exists():
            found.append(Path(name))
        elif Path(name).is_dir():
            found += _runs_in([Path(name)], f"{name}: no run in this folder (no */{FILE})")
        elif has_magic(name):
            places = [*glob(name), *map(str, settings().runs.glob(name))]  # noqa: PTH207  absolute patterns too
            found += _runs_in(map(Path, places), f"{name}: no run matches, here or in {settings().runs}")
        else:
            found.append(find_run(name))
    return found


def _runs_in(places: Iterable[Path], nothing: str) -> list[Path]:
    """Each place that is a run, or else the runs in it."""
    found: list[Path] = []
    for place in places:
        found += [place] if (place / FILE).exists() else [file.parent for file in place.glob(f"*/{FILE}")]
    if not found:
        raise NoRunError(nothing)
    return found


def _text(document: StudyView, form: Format, table: str | None) -> str:
    if form is Format.JSON:
        return document.model_dump_json(indent=2) + "\n"
    if form is Format.CSV:
        assert table is not None
        return formats.csv_text(formats.table(document, table))
    return formats.WRITERS[form](document, table)


def _write(document: StudyView, form: Format, table: str | None, output: Path) -> None:
    try:
        if form is Format.CSV and table is None:
            output.mkdir(parents=True, exist_ok=True)
            for name, text in formats.csv_files(document).items():
                (output / name).write_text(text, encoding="utf-8")
        else:
            output.write_text(_text(document, form, table), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror}; name a place that can be written") from error


def print_study(console: Console, document: StudyView, only: str | None) -> None:
    """Print the tables for people; long ones are cut, unless a table is asked for alone."""
    headline, *remarks = formats.head(document)
    console.print(f"[bold]{escape(headline)}[/]")
    for remark in remarks:
        console.print(f"[yellow]note:[/] {escape(remark)}")
    for shown in formats.grids(document, only):
        console.print()
        if shown.rows:
            _print_grid(console, shown, len(shown.rows) if only else _SHOWN)
        else:
            console.print(f"[bold]{shown.title}[/]: nothing to show")


def _print_grid(console: Console, shown: Grid, most: int) -> None:
    table = Table(title=shown.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in shown.columns:
        table.add_column(column.header, justify="left" if column.is_text else "right", overflow="fold")
    for row in shown.rows[:most]:
        table.add_row(*map(escape, row))
    console.print(table)
    if len(shown.rows) > most:
        console.print(f"  … {len(shown.rows) - most} more rows: --table {shown.name}")
    for note in shown.notes:
        console.print(f"  [dim]{escape(note)}[/]")
