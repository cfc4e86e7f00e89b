"""`agentmig report RUN…`: one HTML page and one Markdown document, from the journals alone."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli.common import find_run, run_names
from agentmig.errors import AgentmigError
from agentmig.journal import read_journal
from agentmig.report import report as build_report
from agentmig.report import to_html, to_markdown


class NotWrittenError(AgentmigError):
    """A file of the report can't be written."""


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Folders of runs, their names (or beginnings of them), or `latest`, which is the default. Several give one "
            "document that begins with a table of them.",
            autocompletion=run_names,
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the Markdown here.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report's data as one JSON document, for programs.")
    ] = False,
) -> None:
    """Write a run's report as one HTML file and as Markdown.

    Without --html, --markdown and --json these are report.html and report.md in the run's folder; those of several runs
    lie in the folder that holds the runs, or in the current one.
    """
    folders = list({folder.resolve(): folder for folder in map(find_run, runs or ["latest"])}.values())
    made = build_report([read_journal(folder) for folder in folders])
    if html is None and markdown is None and not as_json:
        home = _home(folders)
        html, markdown = home / "report.html", home / "report.md"
    for file, shown in ((html, to_html), (markdown, to_markdown)):
        if file is not None:
            _write(file, shown(made))
    if as_json:
        typer.echo(made.model_dump_json(indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(escape(made.headline))
    for file in (html, markdown):
        if file is not None:
            console.print(escape(str(file)))


def _home(folders: list[Path]) -> Path:
    """Where the files go that nobody named a place for."""
    if len(folders) == 1:
        return folders[0]
    parents = {folder.resolve().parent for folder in folders}
    return folders[0].parent if len(parents) == 1 else Path()


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except FileNotFoundError as error:
        raise NotWrittenError(f"{file}: there is no folder {file.parent}; make it first") from error
    except OSError as error:
        raise NotWrittenError(f"{file}: {error.strerror}; name a file that can be written") from error
