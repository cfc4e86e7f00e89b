"""Values in configuration files, read line by line: enough of YAML for plain keys, and Hydra's groups."""

import ast
import re
from dataclasses import dataclass
from posixpath import join, normpath

from agentmig.drafting.findings import Place
from agentmig.drafting.tree import Tree

_KEY = re.compile(r"^(\s*)([A-Za-z_][\w.-]*)\s*:(?:\s+(.*))?$")
_GROUP = re.compile(r"^\s*-\s*(?:override\s+)?/?([\w/]+)\s*:\s*([\w.-]+)\s*$")


@dataclass(frozen=True)
class Value:
    """A key of a configuration file (dotted) and what it says."""

    key: str
    value: object
    place: Place


def read_values(file: str, text: str, prefix: str = "") -> list[Value]:
    """The plain keys of a YAML file, with their dotted names; lists and anything clever are left out.

    Args:
        file: its path, for places.
        text: its content.
        prefix: what stands before each key, `trainer.`.
    """
    values: list[Value] = []
    stack: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _KEY.match(line)
        if not match:
            continue
        depth, key, written = len(match.group(1)), match.group(2), (match.group(3) or "").strip()
        while stack and stack[-1][0] >= depth:
            stack.pop()
        stack.append((depth, key))
        plain = re.sub(r"\s+#.*$", "", written)
        if plain and not plain.startswith("#"):
            name = prefix + ".".join(part for _, part in stack)
            values.append(Value(name, literal(plain), Place(file, number)))
    return values


def hydra_values(tree: Tree, folder: str, name: str) -> list[Value]:
    """The values of a Hydra configuration with the groups that its defaults list names.

    Args:
        tree: the project.
        folder: the configuration folder, relative to the project.
        name: of the main configuration, with or without its suffix.
    """
    file = _existing(tree, folder, name)
    if file is None:
        return []
    text = tree.texts[file]
    values = read_values(file, text)
    for line in text.splitlines():
        if group := _GROUP.match(line):
            part = _existing(tree, join(folder, group.group(1)), group.group(2))
            if part:
                values += read_values(part, tree.texts[part], f"{group.group(1).replace('/', '.')}.")
    return values


def _existing(tree: Tree, folder: str, name: str) -> str | None:
    stem = re.sub(r"\.ya?ml$", "", name)
    for suffix in (".yaml", ".yml"):
        path = normpath(join(folder, stem + suffix))
        if path in tree.texts:
            return path
    return None


def literal(text: str) -> object:
    """A number, a boolean or a string as YAML would read it."""
    words = {"true": True, "false": False, "null": None, "~": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, int | float | str) else text
