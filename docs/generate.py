"""Writes the generated parts of the documentation: `python docs/generate.py`; with `--check` it only compares.

A page may hold parts between the comments `<!-- generated: NAME -->` and `<!-- end of generated -->`. What stands between
them is replaced by what `PARTS[NAME]` makes of the models and of the command line themselves.
"""

import ast
import builtins
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticUndefined

from agentmig.cli.common import EXIT_CODES
from agentmig.cli.main import app
from agentmig.journal.events import Event
from agentmig.policy import Policy, load_policy
from agentmig.settings import Settings
from agentmig.spec import PriceBook, Workload, load_prices

DOCS = Path(__file__).resolve().parent
PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end of generated -->)", re.DOTALL)


class Entry(BaseModel):
    """One key of a model, in words."""

    name: str
    type: str
    default: str
    meaning: str


def main() -> int:
    """Regenerate all pages; returns 1 with `--check` where one differs."""
    check = "--check" in sys.argv[1:]
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        fresh = regenerated(text)
        if fresh != text:
            stale.append(page.relative_to(DOCS.parent))
            if not check:
                page.write_text(fresh, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'is not what the code says; run python docs/generate.py' if check else 'written'}")
    return 1 if check and stale else 0


def regenerated(text: str) -> str:
    """A page with its generated parts made anew.

    Raises:
        KeyError: it names a part that isn't known.
    """
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]().strip()}\n\n{found[3]}", text)


# --- models


def tables(model: type[BaseModel], key: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """A model and all models inside it, each with its TOML header; `""` for the top of the file."""
    yield key, model
    for name, field in model.model_fields.items():
        here = f"{key.strip('[]')}.{name}".strip(".")
        inner = next((m for m in _models(field.annotation)), None)
        if inner is None or field.exclude:
            continue
        match get_origin(field.annotation):
            case builtins.list:
                yield from tables(inner, f"[[{here}]]")
            case builtins.dict:
                yield from tables(inner, f"[{here}.NAME]")
            case _:
                yield from tables(inner, f"[{here}]")


def entries(model: type[BaseModel]) -> list[Entry]:
    """The keys of a model that are no tables of their own."""
    docs = docstrings(model)
    return [
        Entry(
            name=name,
            type=type_words(_resolved(model, name)),
            default=default_words(model, name),
            meaning=docs.get(name, ""),
        )
        for name, field in model.model_fields.items()
        if not field.exclude and not any(_models(field.annotation))
    ]


def docstrings(model: type[BaseModel]) -> dict[str, str]:
    """The strings below the fields of a model and of what it inherits from, by field."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not issubclass(cls, BaseModel) or cls.__module__.startswith("pydantic"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, after in zip(body.body, body.body[1:], strict=False):
            text = after.value if isinstance(after, ast.Expr) else None
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(text, ast.Constant)
                and isinstance(text.value, str)
            ):
                found[statement.target.id] = " ".join(text.value.split())
    return found


def type_words(shape: dict[str, Any]) -> str:
    """A JSON schema in words, with its constraints."""
    if "anyOf" in shape:
        return " or ".join(type_words(each) for each in shape["anyOf"] if each.get("type") != "null")
    if "const" in shape or "enum" in shape:
        return ", ".join(f"`{json.dumps(value)}`" for value in shape.get("enum", [shape.get("const")]))
    words = {"string": "text", "number": "number", "integer": "integer", "boolean": "true or false"}
    kind = shape.get("type")
    if kind == "array":
        items = type_words(shape.get("items", {}))
        return f"list of: {items}" if items else "list"
    if kind == "object":
        inner = next(iter(shape.get("patternProperties", {}).values()), shape.get("additionalProperties"))
        return f"table of: {type_words(inner)}" if isinstance(inner, dict) and inner else "table"
    if formatted := {"path": "path", "date": "date", "date-time": "time"}.get(shape.get("format", "")):
        return formatted
    limits = [
        f"{word} {shape[key]:g}"
        for key, word in (
            ("exclusiveMinimum", "greater than"),
            ("minimum", "at least"),
            ("exclusiveMaximum", "less than"),
            ("maximum", "at most"),
        )
        if key in shape
    ]
    if "pattern" in shape:
        limits.append(f"matches `{shape['pattern']}`")
    if shape.get("minLength"):
        limits.append("not empty")
    return ", ".join([words.get(str(kind), ""), *limits]).strip(", ")


def default_words(model: type[BaseModel], name: str) -> str:
    """The default of a field as TOML would say it."""
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    if field.default is PydanticUndefined:
        return "see above"
    value = field.default
    if value is None:
        return "none"
    return f"`{json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)}`"


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _resolved(model: type[BaseModel], name: str) -> dict[str, Any]:
    """The JSON schema of one field, with references followed."""
    schema = model.model_json_schema()

    def follow(shape: Any) -> Any:
        if isinstance(shape, dict):
            if "$ref" in shape:
                return follow(schema["$defs"][shape["$ref"].rsplit("/", 1)[1]])
            return {key: follow(value) for key, value in shape.items()}
        return [follow(each) for each in shape] if isinstance(shape, list) else shape

    found = follow(schema["properties"].get(name, {}))
    assert isinstance(found, dict)
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *[[_cell(cell) for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _summary(thing: Any) -> str:
    """A docstring up to the sections for programmers, as one paragraph for each of its own."""
    text = re.split(r"\n\s*(?:Args|Attributes|Returns|Raises):", inspect.cleandoc(thing.__doc__ or ""))[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _of_model(model: type[BaseModel], top: str) -> str:
    """All tables of a file that a person writes."""
    parts = []
    for header, each in tables(model):
        rows = [[f"`{e.name}`", e.type, e.default, e.meaning] for e in entries(each)]
        parts.append(f"### {f'`{header}`' if header else top}\n\n{_summary(each)}")
        if rows:
            parts.append(_table(["key", "type", "default", "meaning"], rows))
    return "\n\n".join(parts)


# --- the parts


def workload() -> str:
    """Every table and key of a workload file."""
    return _of_model(Workload, "Top of the file")


def prices() -> str:
    """Every table and key of a price book, and what the shipped one holds."""
    book = load_prices()
    models = [
        [f"`{name}`", *(f"{getattr(p, kind):g}" for kind in _TOKENS), str(p.date), p.source]
        for name, p in book.models.items()
    ]
    chips = [
        [f"`{name}`", f"{p.usd_per_chip_hour:g}", str(p.date), p.source]
        for name, p in book.accelerators.items()
    ]
    words = [name.replace("_", " ") for name in _TOKENS]
    return "\n\n".join(
        [
            _of_model(PriceBook, "Top of the file"),
            "## The price book that ships with agentmig",
            "US dollars for a million tokens:",
            _table(["model", *words, "read on", "source"], models),
            "US dollars for an hour of one chip:",
            _table(["accelerator", "price", "read on", "source"], chips),
        ]
    )


_TOKENS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def policy() -> str:
    """Every table and key of a policy file."""
    return _of_model(Policy, "Top of the file")


def default_policy() -> str:
    """The rules that ship with agentmig."""
    rows = []
    for rule in load_policy().rule:
        conditions = [
            f"`{c.feature}` {word} {bound:g}"
            for c in rule.when
            for word, bound in (("at least", c.at_least), ("below", c.below))
            if bound is not None
        ]
        rows.append([rule.name, " and ".join(conditions), rule.action, rule.reason])
    return _table(["rule", "when", "action", "reason"], rows)


def settings() -> str:
    """Every setting with its variable."""
    rows = [
        [f"`{e.name}`", f"`AGENTMIG_{e.name.upper()}`", e.type, e.default, e.meaning]
        for e in entries(Settings)
    ]
    return _table(["key", "variable", "type", "default", "meaning"], rows)


def events() -> str:
    """Every event of a journal."""
    kinds = list(get_args(get_args(Event)[0]))
    common = set(kinds[0].__mro__[1].model_fields)
    parts = [_summary(kinds[0].__mro__[1]), _fields(kinds[0].__mro__[1], set())]
    for kind in kinds:
        parts.append(f"### `{kind.model_fields['kind'].default}`\n\n{_summary(kind)}")
        if rest := _fields(kind, {*common, "kind"}):
            parts.append(rest)
    parts.append("## Parts of events")
    for part in dict.fromkeys(part for kind in kinds for part in _inner(kind)):
        parts += [f"### `{part.__name__}`\n\n{_summary(part)}", _fields(part, set())]
    return "\n\n".join(parts)


def _inner(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            yield inner
            yield from _inner(inner)


def _fields(model: type[BaseModel], without: set[str]) -> str:
    docs = docstrings(model)
    rows = []
    for name, field in model.model_fields.items():
        if name not in without:
            inner = next(_models(field.annotation), None)
            many = "list of: " if inner and _resolved(model, name).get("type") == "array" else ""
            shape = f"{many}[`{inner.__name__}`](#{inner.__name__.lower()})" if inner else None
            rows.append([f"`{name}`", shape or type_words(_resolved(model, name)), docs.get(name, "")])
    return _table(["field", "type", "meaning"], rows) if rows else ""


def exit_codes() -> str:
    """Verdicts by exit code."""
    codes: dict[int, list[str]] = {}
    for verdict, code in EXIT_CODES.items():
        codes.setdefault(code, []).append(verdict)
    return _table(
        ["exit code", "verdicts of a run"],
        [[f"{c}", ", ".join(f"`{v}`" for v in vs)] for c, vs in codes.items()],
    )


def cli() -> str:
    """Every command, argument and option."""
    return "\n\n".join(part for path, command in commands() for part in _command(path, command))


def commands(
    group: Any = None, path: tuple[str, ...] = ("agentmig",)
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the command line with its path, a group before what it holds."""
    group = group or typer.main.get_command(app)
    yield path, group
    if hasattr(group, "list_commands"):
        context = typer.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), (*path, name))


def _command(path: tuple[str, ...], command: Any) -> Iterator[str]:
    yield f"{'#' * (len(path) + 1)} `{' '.join(path)}`"
    yield _help(command.help or "")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = [_argument(p) for p in arguments] + (["COMMAND …"] if hasattr(command, "list_commands") else [])
    yield f"```text\n{' '.join([*path, *(['[OPTIONS]'] if options else []), *usage])}\n```"
    rows = [
        [f"`{_argument(p)}`", "argument", _default(p), _help(getattr(p, "help", None) or "")]
        for p in arguments
    ]
    for p in options:
        names = ", ".join(f"`{name}`" for name in [*p.opts, *p.secondary_opts])
        rows.append([names, _option_type(p), _default(p), _help(p.help or "")])
    if rows:
        yield _table(["", "type", "default", "meaning"], rows)


def _argument(parameter: Any) -> str:
    name = f"{parameter.name}".upper() + ("…" if parameter.nargs != 1 else "")
    return name if parameter.required else f"[{name}]"


def _option_type(parameter: Any) -> str:
    if parameter.is_flag:
        return "flag"
    annotation = parameter.type_descriptor.annotation
    kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    words = type_words(TypeAdapter(kind).json_schema())
    limits = [
        f"{word} {bound:g}"
        for word, bound in (("at least", parameter.min), ("at most", parameter.max))
        if bound is not None
    ]
    return ", ".join([words, *limits, *(["repeatable"] if parameter.multiple else [])])


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value in (None, False, ()) or callable(value) else f"`{value}`"


def _help(text: str) -> str:
    """A help text as running text; what a terminal shows as it stands is shown so here too."""
    first, *rest = inspect.cleandoc(text).split("\b")
    shown = [f"```text\n{inspect.cleandoc(part).strip()}\n```" for part in rest]
    return "\n\n".join([" ".join(first.split()), *shown])


PARTS: dict[str, Callable[[], str]] = {
    "workload": workload,
    "prices": prices,
    "policy": policy,
    "default-policy": default_policy,
    "settings": settings,
    "events": events,
    "exit-codes": exit_codes,
    "cli": cli,
}

if __name__ == "__main__":
    sys.exit(main())
