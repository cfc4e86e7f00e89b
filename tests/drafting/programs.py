"""Projects for tests of drafting: in memory where only sources matter, on disk where git and files do."""

from pathlib import Path

from agentmig.drafting.graph import Project
from agentmig.drafting.module import Module
from agentmig.drafting.options import Option, options_of
from agentmig.drafting.survey import Program, Survey
from agentmig.drafting.symbolic import Symbols
from agentmig.drafting.tree import Tree
from tests.execution.projects import write


def tree_of(files: dict[str, str]) -> Tree:
    """A tree that was read, without a disk."""
    tree = Tree(Path("/nowhere"))
    for name, text in files.items():
        tree.names.add(name)
        (tree.python if name.endswith(".py") else tree.texts)[name] = text
    return tree


def program_of(files: dict[str, str] | str, path: str = "train.py") -> Program:
    """One program; a text alone is its only file."""
    project = Project(tree_of({path: files} if isinstance(files, str) else files))
    reach = project.reach(path)
    options = options_of(project, reach)
    return Program(reach, tuple(options), Symbols(reach, options))


def options_in(text: str) -> dict[str, Option]:
    """The options of a program by flag."""
    return {option.flag: option for option in program_of(text).options}


def survey_of(folder: Path, files: dict[str, str], train: str | None = None) -> Survey:
    """A project on disk, outside of any repository of its own."""
    write(folder, files)
    return Survey(folder, train)


def module_of(text: str, path: str = "train.py") -> Module:
    """One parsed file."""
    return Module(path, text)
