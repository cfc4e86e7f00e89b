"""`agentmig init`: a first workload file for a project, drafted from its source, and what only a person can add."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig.cli import options
from agentmig.drafting import Document, DraftingError, draft_workload

_SHOWN = {
    "train_program": "trains",
    "framework": "framework",
    "launcher": "launcher",
    "strategy": "distribution",
    "device": "device",
    "seed": "seed",
    "length": "length",
    "data": "data",
    "download": "downloads",
    "checkpoint": "checkpoint",
    "evaluation": "evaluates",
    "metric": "metric",
    "requirements": "requirements",
    "console_script": "console script",
    "repository": "repository",
    "notebook": "notebook",
}
_PER_KIND = 3
_WIDTH = max(map(len, _SHOWN.values()))


def init(
    path: Annotated[Path, typer.Argument(help="The project's folder; it may lie inside a repository.")],
    output: Annotated[
        Path | None, typer.Option(help="Where to write the draft; default PATH/workload.toml.")
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="The training program, relative to PATH, where there are several.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there already.")] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the draft and write nothing.")] = False,
    as_json: options.Json = False,
) -> None:
    """Draft a workload file for a project, and say what only you can tell.

    The project's source is read; nothing of it is run.
    """
    document = draft_workload(path, output, train)
    if not print_only:
        _write(Path(document.draft_path), document.draft, force)
        document = document.model_copy(update={"written": True})
    if as_json:
        typer.echo(document.model_dump_json(indent=2))
    elif print_only:
        typer.echo(document.draft, nl=False)
    else:
        print_document(Console(highlight=False, soft_wrap=True), document)


def _write(file: Path, text: str, force: bool) -> None:
    """Write the draft in one piece.

    Raises:
        DraftingError: a file is there already, or the folder can't be written.
    """
    if os.path.lexists(file) and not force:
        raise DraftingError(
            f"{file} is there already; add --force to overwrite it, or --output to write elsewhere"
        )
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DraftingError(
            f"{file}: {error.strerror}; name a file that can be written with --output"
        ) from error


def print_document(console: Console, document: Document) -> None:
    """Print for people what was found, what is missing, and what comes next."""
    console.print("[bold]Found[/]")
    for kind, label in _SHOWN.items():
        listed = [finding for finding in document.findings if finding.kind == kind]
        for index, finding in enumerate(listed[:_PER_KIND]):
            where = f" [dim]({_where(finding.file, finding.line)})[/]" if finding.file else ""
            console.print(f"  {label if index == 0 else '':<{_WIDTH}} {escape(finding.value)}{where}")
        if len(listed) > _PER_KIND:
            console.print(f"  {'':<{_WIDTH}} and {len(listed) - _PER_KIND} more")
    if document.hazards:
        _hazards(console, document)
    _questions(console, document)
    for note in document.notes:
        console.print(f"[dim]note: {escape(note)}[/]")
    _next(console, document)


def _hazards(console: Console, document: Document) -> None:
    console.print("\n[bold]Known to go wrong in a migration[/] (causes: docs/causes.md)")
    for hazard in document.hazards:
        more = f", {hazard.count} places" if hazard.count > 1 else ""
        cause = f" [dim]{hazard.cause}[/]" if hazard.cause else ""
        console.print(
            f"  {escape(hazard.name)}: {escape(hazard.text)} ({_where(hazard.file, hazard.line)}{more}){cause}"
        )


def _questions(console: Console, document: Document) -> None:
    missing = [question for question in document.questions if question.kind == "missing"]
    confirm = [question for question in document.questions if question.kind == "confirm"]
    console.print("\n[bold]What is missing[/]" if missing else "\nNothing is missing.")
    for number, question in enumerate(missing, start=1):
        console.print(f"  {number}. [bold]{escape(question.key)}[/]: {escape(question.text)}")
    if confirm:
        console.print("[bold]What to look at[/]")
    for number, question in enumerate(confirm, start=len(missing) + 1):
        console.print(f"  {number}. [bold]{escape(question.key)}[/]: {escape(question.text)}")


def _next(console: Console, document: Document) -> None:
    file = document.draft_path
    console.print(f"\nwritten: {escape(file)}")
    if document.unfilled:
        console.print(f"next: replace FILL-IN in {escape(', '.join(document.unfilled))}, then")
    else:
        console.print("next:")
    for command in ("doctor", "plan", "run"):
        console.print(f"  agentmig {command} {escape(file)}")


def _where(file: str | None, line: int | None) -> str:
    return "" if file is None else escape(f"{file}:{line}" if line else file)
