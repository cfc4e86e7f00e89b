"""The example projects that faults are put into: a workload file, and a correct migration for each of some targets."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.spec import Workload, load_workload

MIGRATIONS = "migrations"
"""Folder beside the projects, with a folder of patches for each: `migrations/digits/xla.patch` for its target `xla`.

Beside them, since whoever migrates a project must not find the answer in it."""


class ExampleError(AgentmigError):
    """Example projects can't be used; every mistake is listed."""


@dataclass(frozen=True)
class Example:
    """A project with its correct migrations.

    Attributes:
        folder: holds its files.
        migrations: patches by target, in the order of the workload file.
    """

    name: str
    folder: Path
    workload: Workload
    migrations: dict[str, Path]


def names_of(folder: Path) -> list[str]:
    """Names of the projects in a folder: its folders with a workload file.

    Raises:
        ExampleError: there is no such folder, or no project in it.
    """
    names = sorted(file.parent.name for file in folder.glob("*/workload.toml"))
    if not names:
        raise ExampleError(
            f"{folder}: no project in this folder (no */workload.toml); name one with --workloads"
        )
    return names


def load_examples(folder: Path, only: Iterable[str] | None = None) -> dict[str, Example]:
    """The projects in a folder, by name.

    Args:
        folder: holds a folder for each.
        only: names of the projects to use.

    Raises:
        ExampleError: no such project, or mistakes in some; all are listed.
    """
    there = names_of(folder)
    wanted = sorted(set(only)) if only is not None else there
    mistakes = [f"{folder}: no project {n!r}; there are {', '.join(there)}" for n in wanted if n not in there]
    examples: dict[str, Example] = {}
    for name in (name for name in wanted if name in there):
        try:
            examples[name] = load_example(folder / name)
        except AgentmigError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ExampleError("\n".join(mistakes))
    return examples


def load_example(folder: Path) -> Example:
    """One project.

    Raises:
        AgentmigError: its workload file holds mistakes, its name isn't its folder's, or a patch is for no target.
    """
    workload = load_workload(folder)
    if workload.name != folder.name:
        raise ExampleError(
            f"{workload.file}: name: found {workload.name!r}; it must be the folder's, {folder.name!r}"
        )
    patches = {
        patch.stem: patch for patch in sorted((folder.parent / MIGRATIONS / folder.name).glob("*.patch"))
    }
    if strange := sorted(set(patches) - set(workload.targets)):
        raise ExampleError(
            f"{patches[strange[0]]}: {workload.name} has no target {strange[0]!r}; it has {', '.join(workload.targets)}"
        )
    ordered = {target: patches[target] for target in workload.targets if target in patches}
    return Example(workload.name, folder.resolve(), workload, ordered)
