"""From a folder to a document, or to a message that says why not."""

import os
from pathlib import Path
from posixpath import normpath

from agentmig.drafting.draft import draft, validated
from agentmig.drafting.findings import Document, one_line
from agentmig.drafting.survey import Survey
from agentmig.drafting.tree import Bounds
from agentmig.errors import AgentmigError
from agentmig.spec.unfilled import unfilled


class DraftingError(AgentmigError):
    """Nothing can be drafted for this folder."""


def draft_workload(
    folder: Path, output: Path | None = None, train: str | None = None, bounds: Bounds | None = None
) -> Document:
    """Draft a workload file; nothing is written.

    Args:
        folder: of the project; it may lie inside a repository.
        output: where the file will lie; default `folder/workload.toml`.
        train: the training program, relative to the folder, where a person names it.
        bounds: how much is read.

    Raises:
        DraftingError: no such folder, no Python in it, no PyTorch in that, or no such program.
    """
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise DraftingError(f"{folder}: {what}; name the folder that holds the training code")
    file = output or folder / "workload.toml"
    survey = _survey(folder, train, bounds)
    drafted = draft(survey, _relative(folder, file))
    notes = [
        *survey.tree.notes,
        *(f"not valid Python 3: {one_line(text)}" for text in survey.unreadable[:10]),
    ]
    notes += _about_notebooks(survey)
    return Document(
        project=str(folder),
        draft_path=str(file),
        written=False,
        draft=drafted.text,
        unfilled=unfilled(validated(drafted.text)),
        findings=list(drafted.findings),
        hazards=survey.hazards,
        questions=list(drafted.questions),
        notes=notes,
    )


def _survey(folder: Path, train: str | None, bounds: Bounds | None) -> Survey:
    survey = Survey(folder, normpath(train) if train else None, bounds)
    tree = survey.tree
    if not tree.python:
        notebooks = (
            f" (it holds {len(tree.notebooks)} notebooks: export them as Python files first)"
            if tree.notebooks
            else ""
        )
        raise DraftingError(
            f"{folder}: there is no Python file in it{notebooks}; name the folder that holds the training code"
        )
    if survey.uses_torch() is None:
        raise DraftingError(
            f"{folder}: none of its {len(tree.python)} Python files imports torch; agentmig migrates PyTorch training"
        )
    if train is not None and normpath(train) not in tree.python:
        raise DraftingError(
            f"{folder}: there is no Python file {train!r} in it; --train takes a path relative to the folder"
        )
    return survey


def _relative(folder: Path, file: Path) -> str:
    """The project's path as the workload file says it."""
    try:
        return Path(os.path.relpath(folder.resolve(), file.resolve().parent)).as_posix()
    except ValueError:
        return folder.resolve().as_posix()


def _about_notebooks(survey: Survey) -> list[str]:
    count = len(survey.tree.notebooks)
    return (
        [
            f"{count} notebooks were not read ({survey.tree.notebooks[0]}): what trains there has to be a Python file"
        ]
        if count
        else []
    )
