"""One Python file, parsed and never run: names resolved through its imports, and what a statement depends on."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from agentmig.drafting.findings import Place

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
"""Kinds of nodes without content; the parser uses one object for many places."""


@dataclass(frozen=True)
class Guard:
    """A condition that a node lies under.

    Attributes:
        test: the condition.
        holds: True where the node runs if the condition is true, False where it runs if it is not.
    """

    test: ast.expr
    holds: bool


@dataclass(frozen=True)
class Import:
    """A module that is imported: `torch.nn`, or `.utils` with its dots for a relative import.

    Attributes:
        certain: the import happens whenever the file is run: it stands in no function, condition or `try`.
    """

    module: str
    names: tuple[str, ...]
    line: int
    certain: bool = True


class Module:
    """A Python file.

    Args:
        path: relative to the project, with `/`.
        text: its source.

    Attributes:
        tree: its syntax tree; empty where `error` says why it can't be parsed.
    """

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.tree, self.error = _parse(text)
        self._parents: dict[ast.AST, tuple[ast.AST, str]] = {}
        self._names: dict[ast.AST, str] = {}
        self._stepping: dict[ast.AST, bool] = {}

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        return Place(self.path, getattr(node, "lineno", 1))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes, each before those inside it, statements in their order."""
        found: list[ast.AST] = []
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            found.append(node)
            inner: list[ast.AST] = []
            for name in node._fields:
                value = getattr(node, name, None)
                for child in value if isinstance(value, list) else (value,):
                    if isinstance(child, ast.AST) and not isinstance(child, _SHARED):
                        self._parents[child] = (node, name)
                        inner.append(child)
            waiting += reversed(inner)
        return found

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All calls, in the order of `nodes`."""
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def imports(self) -> list[Import]:
        """Everything that is imported, wherever in the file."""
        result: list[Import] = []
        for node in self.nodes:
            certain = isinstance(self._parents.get(node, (None,))[0], ast.Module)
            if isinstance(node, ast.Import):
                result += [Import(alias.name, (), node.lineno, certain) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                result.append(Import(module, tuple(alias.name for alias in node.names), node.lineno, certain))
        return result

    @cached_property
    def _aliases(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    head = alias.name.split(".")[0]
                    names[alias.asname or head] = alias.name if alias.asname else head
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{module}.{alias.name}"
        return names

    def dotted(self, node: ast.AST) -> str:
        """The full dotted name of a name or attribute, `torch.nn.functional.relu` for `F.relu`.

        What hangs on an expression without a name begins with a dot: `.cuda` for `f().cuda`. Empty for anything else.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self._aliases.get(node.id, node.id))
        elif parts:
            parts.append("")
        return ".".join(reversed(parts))

    def called(self, call: ast.Call) -> str:
        """The dotted name of what is called."""
        name = self._names.get(call)
        if name is None:
            name = self._names[call] = self.dotted(call.func)
        return name

    def ancestors(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """The nodes that hold a node, the nearest first, each with the field that leads to it."""
        _ = self.nodes  # parents are known once all nodes are
        while pair := self._parents.get(node):
            yield pair
            node = pair[0]

    def guards(self, node: ast.AST) -> list[Guard]:
        """The conditions that a node lies under inside its function, the nearest first."""
        result: list[Guard] = []
        for parent, name in self.ancestors(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                break
            if isinstance(parent, ast.If | ast.IfExp) and name in ("body", "orelse"):
                result.append(Guard(parent.test, name == "body"))
        return result

    def function(self, node: ast.AST) -> Function | None:
        """The function that holds a node."""
        for parent, _ in self.ancestors(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                return parent
        return None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that holds a node."""
        return next((parent for parent, _ in self.ancestors(node) if isinstance(parent, ast.ClassDef)), None)

    def loops(self, node: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops around a node inside its function, the nearest first."""
        result = []
        for parent, name in self.ancestors(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                break
            if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and name == "body":
                result.append(parent)
        return result

    def makes_steps(self, loop: ast.AST) -> bool:
        """Whether a loop makes training steps: something in it is called `backward`."""
        if loop not in self._stepping:
            inside = (node.attr for node in ast.walk(loop) if isinstance(node, ast.Attribute))
            self._stepping[loop] = "backward" in inside
        return self._stepping[loop]

    @cached_property
    def calls_by_name(self) -> dict[str, list[ast.Call]]:
        """Calls by the last part of what they call."""
        result: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            result.setdefault(self.called(call).split(".")[-1], []).append(call)
        return result

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions and methods by name; the last of a name counts."""
        return {
            node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes by name."""
        return {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}

    @cached_property
    def has_main(self) -> bool:
        """Whether it says `if __name__ == "__main__"`."""
        return any(
            isinstance(node, ast.If)
            and any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
            for node in self.tree.body
        )

    @cached_property
    def acts_on_import(self) -> bool:
        """Whether importing it runs a program: loops or calls of its own functions at the top level."""
        for node in self.tree.body:
            if isinstance(node, ast.For | ast.While):
                return True
            value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
            if (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id in self.functions
            ):
                return True
            if (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Attribute)
                and value.func.attr == "parse_args"
            ):
                return True
        return False

    @cached_property
    def assignments(self) -> dict[str, list[tuple[ast.AST, ast.expr]]]:
        """Values given to each name (`x`) or attribute (`self.x`), also by `with`, in order, each with its statement."""
        result: dict[str, list[tuple[ast.AST, ast.expr]]] = {}
        for node in self.nodes:
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
                targets = [node.target]
            pairs = [(target, getattr(node, "value", None)) for target in targets]
            if isinstance(node, ast.With | ast.AsyncWith):
                pairs = [(item.optional_vars, item.context_expr) for item in node.items if item.optional_vars]
            for target, value in list(pairs):
                if (
                    isinstance(target, ast.Tuple)
                    and isinstance(value, ast.Tuple)
                    and len(target.elts) == len(value.elts)
                ):
                    pairs += zip(target.elts, value.elts, strict=True)
            for target, value in pairs:
                if value is not None and isinstance(target, ast.Name | ast.Attribute):
                    result.setdefault(written(target), []).append((node, value))
        return result


def written(node: ast.expr) -> str:
    """A name or attribute chain as it is written, `self.x`; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument of a call by position or keyword; None where it isn't given plainly."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position >= 0 and len(call.args) > position:
        value = call.args[position]
        if not any(isinstance(given, ast.Starred) for given in call.args[: position + 1]):
            return value
    return None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """A keyword argument of a call."""
    return argument(call, -1, name)


def constant(node: ast.AST | None) -> object:
    """The value of a literal (also a negative number, or a list or tuple of literals); None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant(node.operand)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.List | ast.Tuple):
        return [constant(item) for item in node.elts]
    return None


def unparsed(node: ast.AST) -> str:
    """The source text of an expression; empty where it is nested too deeply to be written."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ""


def _parse(text: str) -> tuple[ast.Module, str | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strangers' strings
            return ast.parse(text), None
    except SyntaxError as error:
        return ast.Module([], []), f"line {error.lineno or '?'}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), str(error) or type(error).__name__
