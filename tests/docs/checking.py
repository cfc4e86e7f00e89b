"""Whether a command that a page shows is one that there is: its program, and for agentmig its options and arguments."""

import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import typer
from typer.exceptions import TyperException

from agentmig.cli.main import app
from tests.docs.pages import REPOSITORY

# What a reader has, beside agentmig itself.
PROGRAMS = {
    *("cat", "cd", "cp", "diff", "export", "grep", "ls", "mkdir", "mv", "python", "rm", "sed"),
    *("apt-get", "docker", "git", "pip", "scp", "ssh", "sudo"),
}
_OPERATORS = {"&&", "||", "|", ";", "&"}
_REDIRECTIONS = {">", ">>", "<", "2>", "2>&1"}
_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)


class CheckError(Exception):
    """A command that can't work, whatever the machine."""


def check(text: str) -> None:
    """Check all commands of a command line.

    Raises:
        CheckError: an unknown program, make target, command or option, or arguments that are too many or too few.
    """
    for words in simple_commands(text):
        words = _without_prefix(words)
        if not words:
            continue
        program, *rest = words
        if program.rsplit("/", 1)[-1] == "agentmig":
            check_agentmig(rest)
        elif program == "make":
            _check_make(rest)
        elif program not in PROGRAMS:
            raise CheckError(f"{program}: not among the programs that readers are asked to have (PROGRAMS)")


def simple_commands(text: str) -> list[list[str]]:
    """The words of each command of a command line, without redirections."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if word in _OPERATORS:
            found.append([])
        elif word in _REDIRECTIONS:
            next(words, None)
        else:
            found[-1].append(word)
    return found


def check_agentmig(words: Sequence[str]) -> None:
    """Parse the arguments of agentmig as the real command line does, without running anything.

    Raises:
        CheckError: with what the command line says against them.
    """
    command: Any = typer.main.get_command(app)
    path, rest = "agentmig", list(words)
    while hasattr(command, "get_command"):
        if rest and rest[0].startswith("-"):
            known = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h"}
            if rest[0] not in known:
                raise CheckError(f"{path}: no option {rest[0]}")
            return
        inner = command.get_command(typer.Context(command), rest[0]) if rest else None
        if inner is None:
            raise CheckError(f"{path}: {'no command ' + rest[0] if rest else 'a command is missing'}")
        command, path, rest = inner, f"{path} {rest[0]}", rest[1:]
    try:
        command.make_context(path, rest)
    except TyperException as error:
        raise CheckError(f"{path}: {error}") from error
    except typer.Exit:  # --help
        return


def synopsis(line: str) -> list[str]:
    """An example call of a line that describes one: `agentmig show [RUN] [--json]   # what for`."""
    words = shlex.split(line, comments=True)
    return [word.strip("[]…") for word in words if word.strip("[]…")][1:]


def _without_prefix(words: list[str]) -> list[str]:
    return words[len(list(takewhile(_ASSIGNMENT.fullmatch, words))) :]


def _check_make(words: list[str]) -> None:
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    for word in words:
        if word not in targets and not _ASSIGNMENT.fullmatch(word):
            raise CheckError(f"make {word}: the Makefile has no such target")
