"""What a string or path in the code is made of: literal text, options of the command line, and what can't be known."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter

from agentmig.drafting.graph import Reach
from agentmig.drafting.module import Function, Module, argument, constant, written
from agentmig.drafting.options import Option

_DEPTH = 14
_STEPS = 3000
"""Nodes looked at for one expression; strangers' code can refer to itself in endless ways."""
_SAME_PATH = frozenset(
    {
        "abspath",
        "realpath",
        "normpath",
        "expanduser",
        "expandvars",
        "Path",
        "PurePath",
        "str",
        "resolve",
        "absolute",
        "fspath",
    }
)
_PERCENT = re.compile(r"%(?:\((\w+)\))?[-+ #0]*(?:\*|\d+)?(?:\.\d+)?[diouxXeEfFgGcrsa%]")


@dataclass(frozen=True)
class Opt:
    """The value of an option."""

    option: Option


@dataclass(frozen=True)
class Unknown:
    """Text that only running the program would tell; `options` are those that it depends on."""

    options: tuple[Option, ...] = ()


Piece = str | Opt | Unknown
Template = tuple[Piece, ...]


def literal(template: Template) -> str | None:
    """The text of a template without options and unknowns; None for any other."""
    return "".join(str(piece) for piece in template) if all(isinstance(p, str) for p in template) else None


def options_in(template: Template) -> list[Option]:
    """Options that a template holds or depends on, in order."""
    result: list[Option] = []
    for piece in template:
        if isinstance(piece, Opt):
            result.append(piece.option)
        elif isinstance(piece, Unknown):
            result += piece.options
    return list(dict.fromkeys(result))


class Symbols:
    """Evaluates expressions of a program as far as its source tells.

    Args:
        reach: the program.
        options: of its command line.
    """

    def __init__(self, reach: Reach, options: Sequence[Option]):
        self._reach = reach
        self._options = {option.name: option for option in reversed(options)}
        self._tails = {
            name.rsplit(".", 1)[-1]: option for name, option in self._options.items() if "." in name
        }
        self._globals = {o.name for o in options if o.style == "assignment"}
        self._calls = _calls_by_name(reach)
        self._steps = 0

    def evaluate(self, module: Module, node: ast.expr | None) -> Template:
        """What an expression is made of."""
        self._steps = _STEPS
        return _joined(self._value(module, node, _DEPTH))

    def option(self, node: ast.AST) -> Option | None:
        """The option that an expression reads directly: `args.seed`, `args["seed"]`, or a name of that kind."""
        if isinstance(node, ast.Attribute):
            name = written(node)
            dotted = name.split(".", 1)[1] if "." in name else node.attr
            return self._options.get(dotted) or self._options.get(node.attr) or self._tails.get(node.attr)
        if isinstance(node, ast.Subscript):
            key = constant(node.slice)
            return self._options.get(key) or self._tails.get(key) if isinstance(key, str) else None
        if isinstance(node, ast.Name) and node.id in self._globals:
            return self._options.get(node.id)
        return None

    def options_within(self, module: Module, node: ast.AST) -> list[Option]:
        """Options that anything inside an expression reads, local names followed."""
        found: list[Option] = []
        waiting, seen = [node], {node}
        while waiting and len(seen) < _STEPS:
            for part in ast.walk(waiting.pop()):
                if option := self.option(part):
                    found.append(option)
                elif isinstance(part, ast.Name):
                    value = self._assigned(module, part, part.id)
                    if value is not None and value not in seen:
                        seen.add(value)
                        waiting.append(value)
        return list(dict.fromkeys(found))

    def _value(self, module: Module, node: ast.expr | None, depth: int) -> Template:
        self._steps -= 1
        if node is None or depth <= 0 or self._steps <= 0:
            return (Unknown(),)
        if isinstance(node, ast.Constant):
            known = isinstance(node.value, str | int | float) and not isinstance(node.value, bool)
            return (str(node.value),) if known else (Unknown(),)
        if option := self.option(node):
            return (Opt(option),)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._name(module, node, depth)
        if isinstance(node, ast.JoinedStr):
            return tuple(piece for part in node.values for piece in self._value(module, part, depth - 1))
        if isinstance(node, ast.FormattedValue):
            return self._value(module, node.value, depth - 1) if node.format_spec is None else (Unknown(),)
        if isinstance(node, ast.BinOp):
            return self._operation(module, node, depth)
        if isinstance(node, ast.Call):
            return self._call(module, node, depth)
        if isinstance(node, ast.IfExp):
            return self._value(module, node.body, depth - 1)
        if isinstance(node, ast.BoolOp):
            return self._value(module, node.values[0], depth - 1)
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            return self._value(module, node.elts[0], depth - 1)
        return self._unknown(module, node)

    def _unknown(self, module: Module, node: ast.AST) -> Template:
        return (Unknown(tuple(self.options_within(module, node))),)

    def _operation(self, module: Module, node: ast.BinOp, depth: int) -> Template:
        left = self._value(module, node.left, depth - 1)
        if isinstance(node.op, ast.Mod) and (text := literal(left)) is not None:
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return self._percent(module, text, values, depth)
        right = self._value(module, node.right, depth - 1)
        if isinstance(node.op, ast.Add):
            return (*left, *right)
        if isinstance(node.op, ast.Div):
            return (*left, "/", *right)
        return self._unknown(module, node)

    def _percent(self, module: Module, text: str, values: Sequence[ast.expr], depth: int) -> Template:
        pieces: list[Piece] = []
        end, number = 0, 0
        for match in _PERCENT.finditer(text):
            pieces.append(text[end : match.start()])
            end = match.end()
            if match.group().endswith("%"):
                pieces.append("%")
            elif match.group().endswith("s") and match.group(1) is None and number < len(values):
                pieces += self._value(module, values[number], depth - 1)
                number += 1
            else:
                pieces.append(Unknown())
                number += 1
        return (*pieces, text[end:])

    def _call(self, module: Module, node: ast.Call, depth: int) -> Template:
        called = module.called(node)
        last = called.split(".")[-1]
        if last in ("join", "joinpath") and ("path" in called or last == "joinpath"):
            parts = [self._value(module, arg, depth - 1) for arg in node.args]
            if last == "joinpath" and isinstance(node.func, ast.Attribute):
                parts.insert(0, self._value(module, node.func.value, depth - 1))
            return tuple(
                piece for index, part in enumerate(parts) for piece in (("/", *part) if index else part)
            )
        if last in _SAME_PATH:
            inner = (
                node.args[0]
                if node.args
                else node.func.value
                if isinstance(node.func, ast.Attribute)
                else None
            )
            parts = [
                self._value(module, arg, depth - 1) for arg in ([inner, *node.args[1:]] if inner else [])
            ]
            return tuple(
                piece for index, part in enumerate(parts) for piece in (("/", *part) if index else part)
            )
        if last == "format" and isinstance(node.func, ast.Attribute):
            return self._formatted(module, self._value(module, node.func.value, depth - 1), node, depth)
        if last == "open" and node.args:
            return self._value(module, node.args[0], depth - 1)
        return self._unknown(module, node)

    def _formatted(self, module: Module, template: Template, call: ast.Call, depth: int) -> Template:
        pieces: list[Piece] = []
        number = 0
        for piece in template:
            if not isinstance(piece, str):
                pieces.append(piece)
                continue
            try:
                fields = list(Formatter().parse(piece))
            except ValueError:
                return self._unknown(module, call)
            for before, field, spec, _ in fields:
                pieces.append(before)
                if field is None:
                    continue
                position = (
                    number if field == "" else int(field) if field.isdecimal() and len(field) < 4 else -1
                )
                number += field == ""
                value = argument(call, position, field) if not spec else None
                pieces += self._value(module, value, depth - 1) if value else (Unknown(),)
        return tuple(pieces)

    def _name(self, module: Module, node: ast.Name | ast.Attribute, depth: int) -> Template:
        name = written(node)
        if isinstance(node, ast.Attribute) and node.attr == "name" and not name.startswith("self."):
            return self._unknown(module, node)
        value = self._assigned(module, node, name)
        if value is not None and value is not node:
            return self._value(module, value, depth - 1)
        if isinstance(node, ast.Name):
            for loop in module.loops(node):
                if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == name:
                    items = (
                        self._assigned(module, loop, written(loop.iter)) if written(loop.iter) else loop.iter
                    )
                    if isinstance(items, ast.List | ast.Tuple):
                        return self._value(module, items, depth - 1)
            function = module.function(node)
            if function:
                return self._parameter(module, function, name, depth)
        elif name.startswith("self."):
            return self._field(module, node, name.removeprefix("self."), depth)
        elif isinstance(node, ast.Attribute):
            return self._elsewhere(node.attr, depth)
        return (Unknown(),)

    def _assigned(self, module: Module, node: ast.AST, name: str) -> ast.expr | None:
        """The value that a name got last before a line, in the same function or else at the top of the module."""
        values = module.assignments.get(name, [])
        function = module.function(node)
        line = getattr(node, "lineno", 0)
        here = [value for at, value in values if module.function(at) is function and value.lineno < line]
        if here:
            return here[-1]
        if "." in name:  # an attribute lives longer than the function that sets it
            return values[0][1] if values else None
        top = [value for at, value in values if module.function(at) is None and value is not node]
        return top[-1] if top else None

    def _parameter(self, module: Module, function: Function, name: str, depth: int) -> Template:
        """A parameter: what the first caller gives it, or its default."""
        names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
        if name not in names:
            return (Unknown(),)
        owner = module.class_of(function)
        target = owner.name if owner and function.name == "__init__" else function.name
        position = names.index(name) - (owner is not None and names[0] in ("self", "cls"))
        for caller, call in self._calls.get(target, []):
            given = argument(call, position, name)
            if given is not None:
                return self._value(caller, given, depth - 1)
        index = names.index(name) - (len(names) - len(function.args.defaults))
        return self._value(module, function.args.defaults[index], depth - 1) if index >= 0 else (Unknown(),)

    def _field(self, module: Module, node: ast.Attribute, name: str, depth: int) -> Template:
        """An attribute that is a parameter of its class's constructor, or a field of a dataclass."""
        kind = module.class_of(node)
        for item in kind.body if kind else []:
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and item.target.id == name
            ):
                for owner, call in self._calls.get(kind.name if kind else "", []):
                    if (given := argument(call, -1, name)) is not None:
                        return self._value(owner, given, depth - 1)
                return self._value(module, item.value, depth - 1)
        return (Unknown(),)

    def _elsewhere(self, name: str, depth: int) -> Template:
        """An attribute of another object: a dataclass's default, or the constant that is given to it anywhere."""
        for module in self._reach.modules[:60]:
            for kind in module.classes.values():
                for item in kind.body:
                    if (
                        (
                            isinstance(item, ast.AnnAssign)
                            and isinstance(item.target, ast.Name)
                            and item.target.id == name
                        )
                        and isinstance(item.value, ast.Constant)
                        and isinstance(item.value.value, str)
                    ):
                        return (item.value.value,)
            for key in (name, *(key for key in module.assignments if key.endswith(f".{name}"))):
                node, value = module.assignments.get(key, [(module.tree, None)])[-1]
                at_top = node in module.tree.body
                if isinstance(value, ast.Constant) and (at_top or "." in key):
                    return self._value(module, value, depth - 1)
        return (Unknown(),)


def _calls_by_name(reach: Reach) -> dict[str, list[tuple[Module, ast.Call]]]:
    """Calls of what may be the project's own, by the last part of the name."""
    result: dict[str, list[tuple[Module, ast.Call]]] = {}
    for module in reach.modules:
        for call in module.calls:
            head, *rest = module.called(call).split(".")
            # `torch.save(...)` is no call of a function `save` of the project's own.
            if not (rest and head in reach.packages):
                result.setdefault((rest or [head])[-1], []).append((module, call))
    return result


def _joined(template: Template) -> Template:
    """Neighbouring texts as one, neighbouring unknowns as one, no empty text."""
    pieces: list[Piece] = []
    for piece in template:
        last = pieces[-1] if pieces else None
        if piece == "":
            continue
        if isinstance(piece, str) and isinstance(last, str):
            pieces[-1] = last + piece
        elif isinstance(piece, Unknown) and isinstance(last, Unknown):
            pieces[-1] = Unknown(tuple(dict.fromkeys([*last.options, *piece.options])))
        else:
            pieces.append(piece)
    return tuple(pieces)
