"""What a program's command line accepts: argparse, click, typer, dataclasses, absl, fire, Hydra, `--key=value`."""

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import Literal

from agentmig.drafting.configs import hydra_values
from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Project, Reach
from agentmig.drafting.module import Function, Module, argument, constant, keyword

_PLAIN = re.compile(r"-{0,2}\w[\w.+-]*", re.ASCII)
Style = Literal["flag", "positional", "assignment", "override"]


@dataclass(frozen=True)
class Option:
    """One thing that the command line accepts.

    Attributes:
        flag: as it is written there: `--seed`, `-net`, a positional's name, or a configuration key.
        name: the attribute that the program reads.
        style: `flag`: `--seed 1`; `assignment`: `--seed=1`; `override`: `seed=1`.
        switch: it takes no value.
        default: what holds without it; None where that isn't a literal.
        aliases: all of its flags.
    """

    flag: str
    name: str
    style: Style
    place: Place
    default: object = None
    required: bool = False
    switch: bool = False
    choices: tuple[str, ...] = ()
    help: str = ""
    aliases: tuple[str, ...] = ()

    def given(self, value: str) -> str:
        """The option with a value, as text for a shell; a switch is only named."""
        if self.style == "positional":
            return value
        if self.switch:
            return self.flag
        return f"{self.flag}={value}" if self.style != "flag" else f"{self.flag} {value}"

    def given_literal(self, value: str) -> str:
        """The same with a value that is quoted for the shell, its braces doubled for the workload file."""
        return self.given(quoted(value))


def quoted(text: str) -> str:
    """A word for a shell command in a workload file, where braces are placeholders."""
    return shlex.quote(text).replace("{", "{{").replace("}", "}}")


def options_of(project: Project, reach: Reach) -> list[Option]:
    """Every option of a program; where a name comes twice, what stands nearest to the program counts."""
    found: list[Option] = []
    main = reach.main
    near = [main, *_option_modules(reach)]
    for module in near:
        found += _argparse(module)
        found += _absl(module)
    for module in reach.modules[:40]:
        found += _click(module)
    found += _typer_and_fire(main)
    found += _dataclasses(reach, near)
    found += _hydra(project, near)
    if not found:
        found += _assignments(project, reach)
    # A flag becomes part of a shell command; one that isn't made of plain characters can't be meant seriously.
    plain = [option for option in found if _PLAIN.fullmatch(option.flag)]
    return list({option.flag: option for option in reversed(plain)}.values())[::-1]


def _option_modules(reach: Reach) -> list[Module]:
    """Modules whose parsers the program uses: those that it imports itself, and others named after options."""
    lines = list(reach.main.imports)
    heads = {part for line in lines for part in (*line.module.split("."), *line.names)}
    found = []
    for module in reach.modules[1:60]:
        stem = module.path.rsplit("/", 1)[-1].removesuffix(".py")
        imported = stem in heads or any(name in heads for name in module.functions)
        if imported and not module.has_main and ("add_argument" in module.text or "DEFINE_" in module.text):
            found.append(module)
    return found


def _argparse(module: Module) -> Iterator[Option]:
    defaults = _defaults(module)
    for call in module.calls:
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"):
            continue
        names = [value for arg in call.args if isinstance(value := constant(arg), str) and value]
        if not names:
            continue
        flags = [name for name in names if name.startswith("-")]
        flag = next((name for name in flags if name.startswith("--")), flags[0] if flags else names[0])
        dest = constant(keyword(call, "dest"))
        name = dest if isinstance(dest, str) else flag.lstrip("-").replace("-", "_")
        action, nargs = constant(keyword(call, "action")), constant(keyword(call, "nargs"))
        action = action if isinstance(action, str) else None
        if action in ("help", "version") or _ends(module, keyword(call, "nargs"), "REMAINDER"):
            continue
        optional = bool(flags) or nargs in ("?", "*") or keyword(call, "default") is not None
        yield Option(
            flag,
            name,
            "flag" if flags else "positional",
            module.place(call),
            default=defaults.get(name, _SWITCHES.get(action, constant(keyword(call, "default")))),
            required=constant(keyword(call, "required")) is True or not optional,
            switch=action in _SWITCHES or _ends(module, keyword(call, "action"), "BooleanOptionalAction"),
            choices=_choices(keyword(call, "choices")),
            help=_text(keyword(call, "help")),
            aliases=tuple(flags),
        )


_SWITCHES: dict[object, bool] = {"store_true": False, "store_false": True}
"""Actions that take no value, and what holds without them."""


def _defaults(module: Module) -> dict[str, object]:
    """What `set_defaults` says, by attribute."""
    calls = (c for c in module.calls if isinstance(c.func, ast.Attribute) and c.func.attr == "set_defaults")
    return {given.arg: constant(given.value) for call in calls for given in call.keywords if given.arg}


def _ends(module: Module, node: ast.expr | None, name: str) -> bool:
    return node is not None and module.dotted(node).split(".")[-1] == name


def _choices(node: ast.expr | None) -> tuple[str, ...]:
    values = constant(node)
    return tuple(str(value) for value in values if value is not None) if isinstance(values, list) else ()


def _text(node: ast.expr | None) -> str:
    value = constant(node)
    return value if isinstance(value, str) else ""


def _absl(module: Module) -> Iterator[Option]:
    for call in module.calls:
        name = module.called(call).split(".")[-1]
        flag = constant(argument(call, 0, "name"))
        if name.startswith("DEFINE_") and isinstance(flag, str) and flag:
            yield Option(
                f"--{flag}",
                flag,
                "assignment",
                module.place(call),
                default=constant(argument(call, 1, "default")),
                required=constant(keyword(call, "required")) is True,
                help=_text(argument(call, 2, "help")),
            )


def _click(module: Module) -> Iterator[Option]:
    for call in module.calls:
        called = module.called(call)
        if not called.startswith("click.") or called.split(".")[-1] not in ("option", "argument"):
            continue
        names = [value for arg in call.args if isinstance(value := constant(arg), str) and value]
        if not names:
            continue
        flag = next((name for name in names if name.startswith("--")), names[0]).split("/")[0]
        given = keyword(call, "default")
        yield Option(
            flag,
            flag.lstrip("-").replace("-", "_").lower(),
            "flag" if flag.startswith("-") else "positional",
            module.place(call),
            default=constant(given),
            required=constant(keyword(call, "required")) is True
            or (not flag.startswith("-") and given is None),
            switch=constant(keyword(call, "is_flag")) is True,
            help=_text(keyword(call, "help")),
        )


def _typer_and_fire(module: Module) -> Iterator[Option]:
    for function, style in _command_functions(module):
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        filled = len(function.args.args) - len(function.args.defaults)
        defaults: list[ast.expr | None] = (
            [None] * filled + list(function.args.defaults) + list(function.args.kw_defaults)
        )
        for parameter, default in zip(
            arguments, defaults[-len(arguments) :] if arguments else [], strict=False
        ):
            if parameter.arg in ("self", "ctx"):
                continue
            flag = parameter.arg.replace("_", "-") if style == "typer" else parameter.arg
            value: object = constant(default)
            called = module.called(default).split(".")[-1] if isinstance(default, ast.Call) else ""
            if isinstance(default, ast.Call):
                value = constant(argument(default, 0, "default"))
            positional = (default is None and style == "typer") or called == "Argument"
            yield Option(
                parameter.arg if positional else f"--{flag}",
                parameter.arg,
                "positional" if positional else "flag",
                module.place(parameter),
                default=None if value is ... else value,
                required=default is None or value is ...,
                switch=isinstance(value, bool) and style == "typer",
            )


def _command_functions(module: Module) -> Iterator[tuple[Function, str]]:
    for function in module.functions.values():
        for decorator in function.decorator_list:
            command = isinstance(decorator, ast.Call) and module.called(decorator).endswith(".command")
            if command and any(line.module == "typer" for line in module.imports):
                yield function, "typer"
    for call in module.calls:
        called = module.called(call)
        if called in ("typer.run", "fire.Fire") and call.args and isinstance(call.args[0], ast.Name):
            named = module.functions.get(call.args[0].id)
            if named:
                yield named, called.split(".")[0]


_PARSERS = {"cli": "-", "HfArgumentParser": "_", "TrlParser": "_", "parse": "_", "add_arguments": "_"}


def _dataclasses(reach: Reach, near: Iterable[Module]) -> Iterator[Option]:
    """Fields of the dataclasses that a parser is made of."""
    for module in near:
        for call in module.calls:
            called = module.called(call)
            last = called.split(".")[-1]
            known = last in ("HfArgumentParser", "TrlParser", "add_arguments") or called in (
                "tyro.cli",
                "simple_parsing.parse",
            )
            if not known or not call.args:
                continue
            first = call.args[0]
            for item in first.elts if isinstance(first, ast.Tuple | ast.List) else [first]:
                name = module.dotted(item).split(".")[-1]
                if name in ("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig"):
                    yield from _training_arguments(module.place(call))
                for owner in reach.modules:
                    if name in owner.classes:
                        yield from _fields(owner, owner.classes[name], _PARSERS[last])
                        break


def _fields(module: Module, kind: ast.ClassDef, joint: str) -> Iterator[Option]:
    for node in kind.body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        value = node.value
        default: object = constant(value)
        required = value is None
        if isinstance(value, ast.Call):
            default = constant(keyword(value, "default"))
            required = not any(given.arg in ("default", "default_factory") for given in value.keywords)
        name = node.target.id
        switch = isinstance(default, bool) and not default
        yield Option(
            "--" + (name.replace("_", "-") if joint == "-" else name),
            name,
            "flag",
            module.place(node),
            default=default,
            required=required,
            switch=switch,
        )


def _training_arguments(place: Place) -> Iterator[Option]:
    """The options that transformers' own dataclass adds."""
    yield Option("--output_dir", "output_dir", "flag", place, required=True)
    yield Option("--seed", "seed", "flag", place, default=42)
    yield Option("--num_train_epochs", "num_train_epochs", "flag", place, default=3.0)
    yield Option("--max_steps", "max_steps", "flag", place, default=-1)
    yield Option("--do_train", "do_train", "flag", place, default=False, switch=True)
    yield Option("--do_eval", "do_eval", "flag", place, default=False, switch=True)


def _hydra(project: Project, near: Iterable[Module]) -> Iterator[Option]:
    for module in near:
        for call in module.calls:
            if module.called(call) != "hydra.main":
                continue
            folder = constant(argument(call, 0, "config_path"))
            name = constant(argument(call, 1, "config_name"))
            if not isinstance(name, str):
                continue
            where = normpath(join(dirname(module.path), folder if isinstance(folder, str) else "."))
            for value in hydra_values(project.tree, where, name):
                missing = value.value == "???"
                default = None if missing else value.value
                yield Option(value.key, value.key, "override", value.place, default=default, required=missing)


def _assignments(project: Project, reach: Reach) -> Iterator[Option]:
    """Constants that code overrides from words like `--name=value` on the command line."""
    if not any(_splits_words(module.text) for module in [*reach.modules, *_executed(project, reach.main)]):
        return
    module = reach.main
    for name, values in module.assignments.items():
        node, value = values[0]
        at_top = node in module.tree.body
        plain = constant(value)
        if not isinstance(plain, int | float | str):
            continue
        if at_top and name.isidentifier() and not name.startswith("_"):
            yield Option(f"--{name}", name, "assignment", module.place(node), default=plain)
        elif "." in name and not at_top and not name.startswith("self."):
            key = name.split(".", 1)[1]
            yield Option(f"--{key}", key, "assignment", module.place(node), default=plain)


_SPLITS = re.compile(r"""\.(?:split|partition)\(\s*['"]=['"]""")


def _splits_words(text: str) -> bool:
    return bool(_SPLITS.search(text)) and "'--'" in text.replace('"', "'")


def _executed(project: Project, module: Module) -> Iterator[Module]:
    """Files of the project that a program runs by `exec(open("file.py").read())`."""
    for call in module.calls:
        if module.called(call) == "exec":
            for node in ast.walk(call):
                name = constant(node)
                path = normpath(join(dirname(module.path), name)) if isinstance(name, str) else ""
                if path in project.tree.python:
                    yield project.module(path)
