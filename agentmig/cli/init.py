"""`agentmig init`: a draft of a project's workload file, and the questions that only a person can answer."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli import options
from agentmig.drafting import Document, DraftingError, draft_workload


def init(
    path: Annotated[Path, typer.Argument(help="The folder that holds the training code.")],
    train: Annotated[
        str | None,
        typer.Option(help="The program that trains, relative to PATH, where the wrong one is found."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where to write the draft; default PATH/workload.toml.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the draft; write nothing.")] = False,
    as_json: options.Json = False,
) -> None:
    """Draft a workload file for a project, and say what only you can tell."""
    document = draft_workload(path, output, train)
    if not only_print:
        _write(Path(document.draft_path), document.draft, force)
        document = document.model_copy(update={"written": True})
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
    elif only_print:
        typer.echo(document.draft)
    else:
        _print(Console(highlight=False, soft_wrap=True), document)


def _write(file: Path, text: str, force: bool) -> None:
    """Write the draft.

    Raises:
        DraftingError: a file is there already, or the folder can't be written.
    """
    try:
        with file.open("w" if force else "x", encoding="utf-8") as handle:
            handle.write(text)
    except FileExistsError as error:
        raise DraftingError(
            f"{file} is there already: write over it with --force, or name another place with --output"
        ) from error
    except OSError as error:
        raise DraftingError(f"{file}: {error.strerror}; name another place with --output") from error


def _print(console: Console, document: Document) -> None:
    console.print(f"[bold]drafted[/] {escape(document.draft_path)}\n\n[bold]found[/]")
    for finding in document.findings:
        where = f" [dim]{escape(finding.file)}:{finding.line}[/]" if finding.file else ""
        console.print(f"  {finding.kind:<16} {escape(finding.value)}{where}")
    if document.hazards:
        console.print("\n[bold]what is known to go wrong in a migration[/]")
    for hazard in document.hazards:
        cause = f" ({hazard.cause})" if hazard.cause else ""
        more = f", {hazard.count} places" if hazard.count > 1 else ""
        console.print(
            f"  [yellow]{escape(hazard.name)}[/]{cause}: {escape(hazard.text)} [dim]{escape(hazard.file)}:{hazard.line}{more}[/]"
        )
    for note in document.notes:
        console.print(f"  [yellow]note:[/] {escape(note)}")
    console.print("\n[bold]what is missing[/]" if document.questions else "\nnothing is missing")
    for number, question in enumerate(document.questions, start=1):
        where = f" [dim]{escape(question.file)}:{question.line}[/]" if question.file else ""
        style = "bold red" if question.kind == "missing" else "yellow"
        console.print(f"  {number}. [{style}]{escape(question.key)}[/]: {escape(question.text)}{where}")
    file = escape(document.draft_path)
    console.print(f"\nnext: answer these in {file}, then")
    for command in ("doctor", "plan", "run"):
        console.print(f"  agentmig {command} {file}")
