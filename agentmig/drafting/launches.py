"""How people start the project's programs: commands in READMEs, shell scripts, Makefiles, docstrings and packaging."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Project
from agentmig.drafting.tree import Tree

_START = re.compile(
    r"(?:^|[\s`$>&;|(\"'])((?:python[\d.]*|torchrun|deepspeed|horovodrun|mpirun|accelerate\s+launch)\s[^`\n]*)"
)
_LAUNCHERS = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "accelerate": "accelerate launch",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed": "deepspeed",
    "horovodrun": "horovodrun",
    "mpirun": "mpirun",
}
_PROCESSES = re.compile(r"--(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus)[=\s]+(\d+)")


@dataclass(frozen=True)
class Launch:
    """A command that starts a program of the project.

    Attributes:
        launcher: `python`, `torchrun`, `torch.distributed.launch`, `accelerate launch`, `deepspeed`, …
        program: the file, relative to the project.
        arguments: words after it.
        processes: how many it starts, where it says so.
        written: the program as the command names it.
    """

    launcher: str
    program: str
    arguments: tuple[str, ...]
    place: Place
    processes: int | None = None
    written: str = ""


@dataclass(frozen=True)
class Script:
    """A console script that packaging installs."""

    name: str
    program: str
    function: str
    place: Place


def documented_launches(tree: Tree) -> list[Launch]:
    """Commands in texts and in the docstrings of modules, those near the root first."""
    result: list[Launch] = []
    for path in sorted(tree.texts, key=lambda name: (name.count("/"), "readme" not in name.lower(), name)):
        if path.startswith(".github/"):
            continue
        result += _in_text(tree, path, tree.texts[path])
    for path, text in tree.python.items():
        if "python" in text or "torchrun" in text:
            result += _in_text(tree, path, "\n".join(_comment_lines(text)))
    return result


def _comment_lines(text: str) -> Iterator[str]:
    """A module's lines, code blanked: what is left are comments and strings that span lines."""
    inside = False
    for line in text.splitlines()[:400]:
        quotes = line.count('"""') + line.count("'''")
        yield line if inside or quotes or line.lstrip().startswith("#") else ""
        inside ^= quotes % 2 == 1


def _in_text(tree: Tree, path: str, text: str) -> Iterator[Launch]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, line = number, lines[number]
        while line.rstrip().endswith("\\") and number + 1 < len(lines) and number - first < 60:
            number += 1
            line = line.rstrip()[:-1] + " " + lines[number]
        number += 1
        if len(line) > 8000:
            continue
        for match in _START.finditer(line):
            launch = _launch(tree, path, first + 1, match.group(1))
            if launch:
                yield launch
                break


def _launch(tree: Tree, path: str, line: int, command: str) -> Launch | None:
    words = _words(command)
    launcher, written = "python", ""
    program: str | None = None
    rest: tuple[str, ...] = ()
    for index, word in enumerate(words):
        if word in _LAUNCHERS:
            launcher = _LAUNCHERS[word]
        if word.endswith(".py"):
            program, rest, written = _locate(tree, path, word), tuple(words[index + 1 :]), word
            break
        if word == "-m" and index + 1 < len(words) and words[index + 1] not in _LAUNCHERS:
            module = words[index + 1].replace(".", "/")
            program = next(
                (
                    p
                    for p in (f"{module}.py", f"{module}/__main__.py", f"src/{module}.py")
                    if p in tree.python
                ),
                None,
            )
            rest = tuple(words[index + 2 :])
            break
    if program is None:
        return None
    count = _PROCESSES.search(command)
    return Launch(launcher, program, rest, Place(path, line), int(count.group(1)) if count else None, written)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    for index, word in enumerate(words):
        if word in ("&&", "||", "|", ";", "&", ">", "2>&1", ">>") or word.startswith(">"):
            return words[:index]
    return words


def _locate(tree: Tree, document: str, word: str) -> str | None:
    """The project's file that a command in a document means."""
    for folder in ("", dirname(document)):
        path = normpath(join(folder, word))
        if path in tree.python:
            return path
    tail = "/" + normpath(word).lstrip("./")
    matching = [path for path in tree.python if path.endswith(tail)]
    return matching[0] if len(matching) == 1 else None


def console_scripts(project: Project) -> list[Script]:
    """Programs that pyproject.toml, setup.cfg or setup.py install."""
    tree = project.tree
    found: list[tuple[str, str, Place]] = []
    for name in ("pyproject.toml", "setup.cfg"):
        text = tree.texts.get(name, "")
        for key, value in _declared(name, text):
            found.append((key, value, _line_of(name, text, value)))
    if "setup.py" in tree.python:
        module = project.module("setup.py")
        for node in module.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):  # noqa: SIM102
                if entry := re.fullmatch(r"\s*([\w.-]+)\s*=\s*([\w.]+:\w+)\s*", node.value):
                    found.append((entry.group(1), entry.group(2), module.place(node)))
    scripts = []
    for name, target, place in found:
        dotted, _, function = target.partition(":")
        base = dotted.strip().replace(".", "/")
        files = (f"{base}.py", f"src/{base}.py", f"{base}/__init__.py", f"{base}/__main__.py")
        program = next((path for path in files if path in tree.python), None)
        if program and function.strip().isidentifier():
            scripts.append(Script(name, program, function.strip(), place))
    return scripts


def _declared(name: str, text: str) -> Iterator[tuple[str, str]]:
    if name == "setup.cfg":
        for entry in re.finditer(r"(?m)^[ \t]+([\w-]+)[ \t]*=[ \t]*([\w.]+:\w+)[ \t]*$", text):
            yield entry.group(1), entry.group(2)
        return
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for path in (("project", "scripts"), ("tool", "poetry", "scripts")):
        table: object = document
        for key in path:
            table = table.get(key) if isinstance(table, dict) else None
        for key, value in table.items() if isinstance(table, dict) else ():
            if isinstance(value, str):
                yield key, value


def _line_of(file: str, text: str, word: str) -> Place:
    lines = text.splitlines()
    return Place(file, next((n for n, line in enumerate(lines, start=1) if word in line), 1))
