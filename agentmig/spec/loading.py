"""Reading a workload file: every mistake at once, each with its place.

Pydantic finds what is wrong in one table; what spans tables (a target that names an environment) is checked on the
raw document too, so that both kinds are reported together.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from pydantic import ValidationError

from agentmig.errors import AgentmigError
from agentmig.spec.workload import Workload

_TRAIN_FIELDS = {"seed", "out", "chips"}
_EVALUATE_FIELDS = {"checkpoint", "out"}


@dataclass(frozen=True)
class Problem:
    """One mistake in a file."""

    file: Path
    line: int | None
    key: str
    found: str
    allowed: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.key}: found {self.found}; {self.allowed}"


class SpecError(AgentmigError):
    """A file that a person wrote can't be used; `problems` holds every mistake found."""

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        count = f"{len(problems)} mistake{'s' if len(problems) != 1 else ''}"
        super().__init__("\n".join([f"{problems[0].file} has {count}:", *(f"  {p}" for p in problems)]))


def load_workload(path: Path) -> Workload:
    """Read and validate a workload file.

    Args:
        path: the file, or a folder that holds a `workload.toml`.

    Raises:
        SpecError: the file can't be read, isn't TOML, or holds mistakes; all are listed.
    """
    file = path / "workload.toml" if path.is_dir() else path
    text, raw = read_toml(file)
    places = _key_lines(text)
    problems = [*_cross_references(raw)]
    workload = None
    try:
        workload = Workload.model_validate({**raw, "file": file.resolve()})
    except ValidationError as error:
        problems = [*_from_pydantic(error), *problems]
    if problems or workload is None:
        raise SpecError(
            [Problem(file, _line(places, key), key, found, allowed) for key, found, allowed in problems]
        )
    return workload


def read_toml(file: Path) -> tuple[str, dict[str, Any]]:
    """The text and the parsed document of a TOML file.

    Raises:
        SpecError: not there, not readable, not UTF-8, or not TOML.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "bytes that are not UTF-8"
        raise SpecError(
            [Problem(file, None, "(file)", str(reason), "a readable UTF-8 TOML file is needed")]
        ) from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        line = int(match.group(1)) if match else None
        raise SpecError([Problem(file, line, "(syntax)", str(error), "TOML is needed")]) from error


Mistake = tuple[str, str, str]
"""Key, what was found, what is allowed."""


def _from_pydantic(error: ValidationError) -> Iterator[Mistake]:
    for detail in error.errors():
        key = ".".join(str(part) for part in detail["loc"] if part != "[key]")
        if detail["type"] == "missing":
            yield key, "nothing", "this key is required"
        elif detail["type"] == "extra_forbidden":
            yield key, f"an unknown key (value {_shown(detail['input'])})", "remove it or correct its name"
        else:
            yield key, _shown(detail["input"]), detail["msg"][0].lower() + detail["msg"][1:]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _cross_references(raw: dict[str, Any]) -> Iterator[Mistake]:
    environments = _table(raw, "environments")
    machines = {"local", *_table(raw, "machines")}
    secrets = set(_strings(raw.get("secrets")))
    data = {f"data.{name}" for name in _table(raw, "data")}
    users = {"reference": _table(raw, "reference")}
    users |= {
        f"targets.{name}": target
        for name, target in _table(raw, "targets").items()
        if isinstance(target, dict)
    }
    for place, table in users.items():
        yield from _known(f"{place}.environment", table.get("environment"), environments, "[environments.*]")
        yield from _known(f"{place}.machine", table.get("machine"), machines, "[machines.*]")
    for place in ("train", "evaluate", "agent"):
        for name in _strings(_table(raw, place).get("secrets")):
            yield from _known(f"{place}.secrets", name, secrets, "the top-level `secrets`")
    train, evaluate = _table(raw, "train"), _table(raw, "evaluate")
    commands = [
        ("train.command", train.get("command"), _TRAIN_FIELDS | data),
        ("train.checkpoint", train.get("checkpoint"), {"out"}),
    ]
    commands += [("evaluate.command", evaluate.get("command"), _EVALUATE_FIELDS | data)]
    commands += [
        (f"{place}.command", table.get("command"), _TRAIN_FIELDS | data) for place, table in users.items()
    ]
    for key, command, allowed in commands:
        yield from _placeholders(key, command, allowed)
    if isinstance(train.get("command"), str) and "{seed}" not in train["command"]:
        yield (
            "train.command",
            "no {seed}",
            "the seed must reach the program: verification runs with fresh seeds",
        )
    if isinstance(evaluate.get("command"), str) and "{checkpoint}" not in evaluate["command"]:
        yield (
            "evaluate.command",
            "no {checkpoint}",
            "the evaluation must read the checkpoint that it is given",
        )
    yield from _goal_pattern(_table(raw, "goal").get("pattern"))
    for name, environment in environments.items():
        if isinstance(environment, dict):
            yield from _environment(f"environments.{name}", environment)


def _table(raw: dict[str, Any], key: str) -> dict[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _known(key: str, name: object, known: Iterable[str], where: str) -> Iterator[Mistake]:
    names = sorted(known)
    if isinstance(name, str) and name not in names:
        yield key, repr(name), f"it must be one of {where}: {', '.join(names) or 'none is defined'}"


def _placeholders(key: str, command: object, allowed: set[str]) -> Iterator[Mistake]:
    if not isinstance(command, str):
        return
    try:
        fields = [field for _, field, _, _ in Formatter().parse(command) if field is not None]
    except ValueError as error:
        yield key, f"{_shown(command)} ({error})", "braces are placeholders; write {{ and }} for literal ones"
        return
    for field in fields:
        if field not in allowed:
            yield key, f"{{{field}}}", f"known here: {', '.join(f'{{{name}}}' for name in sorted(allowed))}"


def _goal_pattern(pattern: object) -> Iterator[Mistake]:
    if not isinstance(pattern, str):
        return
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        yield "goal.pattern", f"{_shown(pattern)} ({error})", "a regular expression is needed"
        return
    if groups != 1:
        yield "goal.pattern", f"{groups} groups", "exactly one group, around the number, is needed"


def _environment(key: str, table: dict[str, Any]) -> Iterator[Mistake]:
    kind = table.get("kind")
    needed = {"python": "python", "container": "image"}.get(str(kind))
    if needed and not table.get(needed):
        yield f"{key}.{needed}", "nothing", f"an environment of kind {kind!r} needs it"
    if kind in ("pip", "uv", "conda") and not (table.get("requirements") or table.get("requirements_file")):
        yield (
            f"{key}.requirements",
            "nothing",
            f"an environment of kind {kind!r} needs requirements or requirements_file",
        )


def _key_lines(text: str) -> dict[str, int]:
    """Line number of each table header and key, by dotted name; a help for people, so approximate is enough."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = header.group(1).replace('"', "")
            lines.setdefault(table, number)
        elif key := re.match(r'\s*"?([\w.-]+)"?\s*=', line):
            lines.setdefault(f"{table}.{key.group(1)}" if table else key.group(1), number)
    return lines


def _line(lines: dict[str, int], key: str) -> int | None:
    parts = key.split(".")
    for length in range(len(parts), 0, -1):
        if number := lines.get(".".join(parts[:length])):
            return number
    return None
