"""What a program prints: each line as literal text with holes for values."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import Formatter

from agentmig.drafting.findings import Place
from agentmig.drafting.module import Module, argument, constant, keyword, unparsed

_LOG = frozenset({"info", "log_info", "print_log"})
_PRINT = frozenset(
    {"print", "pprint", "echo", "secho", "rank_zero_info", "print0", "main_print", "print_rank_0"}
)
_MESSAGE = frozenset({"msg", "message", "text", "string", "str", "s", "line"})
_PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ #0]*(?:\*|\d+)?(?:\.\d+)?)([diouxXeEfFgGcrsa%])")
_LONGEST_LINE = 2000
_WRITES = re.compile(r"\bprint\(|sys\.stdout\.write|\.info\(")


@dataclass(frozen=True)
class Hole:
    """A value inside printed text.

    Attributes:
        node: the expression.
        source: its source text.
        spec: its format, `.4f`; empty for none.
    """

    node: ast.expr | None
    source: str
    spec: str = ""


Piece = str | Hole


@dataclass(frozen=True)
class Line:
    """One printed line.

    Attributes:
        call: the call that prints it.
        module: where that stands.
    """

    pieces: tuple[Piece, ...]
    call: ast.Call
    module: Module

    @property
    def place(self) -> Place:
        """Where it is printed."""
        return self.module.place(self.call)

    @property
    def text(self) -> str:
        """The literal text, holes as `…`."""
        return "".join(piece if isinstance(piece, str) else "…" for piece in self.pieces)


def printed_lines(modules: Sequence[Module]) -> Iterator[Line]:
    """Every line that a program's modules print or log, as far as their source shows it."""
    wrappers = _wrappers(modules)
    for module in modules:
        for call in module.calls:
            last = module.called(call).split(".")[-1]
            if last in _PRINT:
                pieces = _print(module, call)
            elif last in _LOG and isinstance(call.func, ast.Attribute) and call.args:
                pieces = _log(module, call)
            elif (
                last == "write"
                and module.called(call).split(".")[-2:-1] in (["tqdm"], ["stdout"])
                and call.args
            ):
                pieces = _pieces(module, call.args[0])
            elif last in wrappers and (given := argument(call, *wrappers[last])) is not None:
                pieces = _pieces(module, given)
            else:
                continue
            for parts in _lines(pieces):
                line = Line(parts, call, module)
                if len(line.text) <= _LONGEST_LINE:
                    yield line


def _wrappers(modules: Sequence[Module]) -> dict[str, tuple[int, str]]:
    """The project's own functions that print a message: position and name of that parameter."""
    result: dict[str, tuple[int, str]] = {}
    for module in modules:
        if not _WRITES.search(module.text):
            continue
        for name, function in module.functions.items():
            names = [arg.arg for arg in function.args.args]
            names = names[1:] if names[:1] == ["self"] else names
            message = next((arg for arg in names if arg in _MESSAGE), None)
            if (
                message
                and name not in _PRINT | _LOG
                and not name.startswith("__")
                and _prints(module, function)
            ):
                result[name] = (names.index(message), message)
    return result


def _prints(module: Module, function: ast.AST) -> bool:
    calls = (module.called(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(name == "print" or name.endswith(("stdout.write", ".info")) for name in calls)


def _print(module: Module, call: ast.Call) -> tuple[Piece, ...]:
    between = constant(keyword(call, "sep"))
    joint = between if isinstance(between, str) else " "
    pieces: list[Piece] = []
    for index, arg in enumerate(call.args):
        if index:
            pieces.append(joint)
        pieces += [Hole(None, "")] if isinstance(arg, ast.Starred) else _pieces(module, arg)
    return tuple(pieces)


def _log(module: Module, call: ast.Call) -> tuple[Piece, ...]:
    first = call.args[0]
    text = constant(first)
    if isinstance(text, str) and len(call.args) > 1:
        return _percent(module, text, call.args[1:])
    return _pieces(module, first)


def _pieces(module: Module, node: ast.expr, depth: int = 8) -> tuple[Piece, ...]:
    if depth <= 0:
        return (_hole(node),)
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else (str(node.value),)
    if isinstance(node, ast.JoinedStr):
        return tuple(_formatted_value(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_text(module, node, depth):
        return (*_pieces(module, node.left, depth - 1), *_pieces(module, node.right, depth - 1))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = _text(module, node.left, depth)
        if text is not None:
            return _percent(
                module, text, node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = _text(module, node.func.value, depth)
        if text is not None:
            return _formatted(text, node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and node.args:
        return (_hole(node.args[0]),)
    if isinstance(node, ast.Name):
        value = _before(module, node)
        if value is not None:
            return _pieces(module, value, depth - 1)
    return (_hole(node),)


def _formatted_value(part: ast.expr) -> Piece:
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.FormattedValue):
        return Hole(part.value, _source(part.value), _source_of_spec(part.format_spec))
    return _hole(part)


def _source_of_spec(spec: ast.expr | None) -> str:
    parts = spec.values if isinstance(spec, ast.JoinedStr) else []
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "" for part in parts)


def _is_text(module: Module, node: ast.BinOp, depth: int) -> bool:
    """Whether an addition joins strings: some part of it is one."""
    part: ast.expr = node
    while isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add) and depth > 0:
        depth -= 1
        sides = (part.left, part.right)
        if any(isinstance(side, ast.JoinedStr) or isinstance(constant(side), str) for side in sides):
            return True
        part = part.left
    return (
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Mod)
        and _text(module, part.left, depth) is not None
    )


def _text(module: Module, node: ast.expr, depth: int) -> str | None:
    """Literal text, also by way of a local name or an addition of literals."""
    value = constant(node)
    if isinstance(value, str):
        return value
    if depth <= 0:
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(module, node.left, depth - 1), _text(module, node.right, depth - 1)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Name) and (before := _before(module, node)) is not None:
        return _text(module, before, depth - 1)
    return None


def _before(module: Module, node: ast.Name) -> ast.expr | None:
    """The text expression that a name got last before a line of its function."""
    function = module.function(node)
    values = [
        value
        for at, value in module.assignments.get(node.id, [])
        if module.function(at) is function and value.lineno < node.lineno
    ]
    is_text = values and isinstance(values[-1], ast.JoinedStr | ast.BinOp | ast.Call | ast.Constant)
    return values[-1] if is_text else None


def _percent(module: Module, text: str, values: Sequence[ast.expr]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    end, number = 0, 0
    for match in _PERCENT.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match.group(3) == "%":
            pieces.append("%")
            continue
        node: ast.expr | None = None
        if match.group(1) is None and number < len(values):
            node, number = values[number], number + 1
        spec = "" if match.group(3) in "sra" else match.group(2) + match.group(3)
        pieces.append(Hole(node, _source(node) if node else match.group(1) or "", spec))
    return (*pieces, text[end:])


def _formatted(text: str, call: ast.Call) -> tuple[Piece, ...]:
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return (_hole(call),)
    pieces: list[Piece] = []
    number = 0
    for before, field, spec, _ in fields:
        pieces.append(before)
        if field is None:
            continue
        name = re.split(r"[.\[]", field)[0]
        position = number if name == "" else int(name) if name.isdecimal() and len(name) < 4 else -1
        number += name == ""
        node = argument(call, position, name)
        pieces.append(Hole(node, _source(node) if node else field, spec or ""))
    return tuple(pieces)


def _lines(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """Split pieces at line breaks; lines without a value are left out."""
    line: list[Piece] = []
    for piece in [*pieces, "\n"]:
        if isinstance(piece, Hole):
            line.append(piece)
            continue
        parts = re.split(r"[\n\r]", piece)
        for index, part in enumerate(parts):
            if index:
                if any(isinstance(item, Hole) for item in line):
                    yield tuple(line)
                line = []
            if part:
                if line and isinstance(line[-1], str):
                    line[-1] += part
                else:
                    line.append(part)


def _hole(node: ast.expr) -> Hole:
    return Hole(node, _source(node))


def _source(node: ast.AST | None) -> str:
    return unparsed(node)[:200] if node is not None else ""
