"""Where a program saves its model and where it loads one, as far as its source tells."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Reach
from agentmig.drafting.module import Guard, Module, argument, constant, keyword, unparsed
from agentmig.drafting.options import Option
from agentmig.drafting.symbolic import Opt, Symbols, Template, Unknown

_SAVES = {"torch.save": 1, "torch_xla.core.xla_model.save": 1, "accelerator.save": 1}
_FOLDER_SAVES = {
    "save_pretrained": "model.safetensors",
    "save_state": "model.safetensors",
    "save_model": "model.safetensors",
}
_ASIDE = re.compile(
    r"optim|sched|scaler|loader|replay|buffer|embedd?ing|feature|cache|dataset|stats|metric|history|sample|(?<![a-z])ema|code",
    re.IGNORECASE,
)
_DICTIONARY = "a dictionary"
_BEST = re.compile(r"(?<![a-z])(?:best|final|last)", re.IGNORECASE)


@dataclass(frozen=True)
class Saved:
    """A line that saves a model.

    Attributes:
        path: where to.
        what: source text of what is saved.
        guards: conditions around it.
        place: of the line.
        folder: the path names a folder, in which `model.safetensors` is written.
    """

    path: Template
    what: str
    guards: tuple[Guard, ...]
    module: Module
    place: Place
    folder: bool = False


@dataclass(frozen=True)
class Loaded:
    """A line that loads a checkpoint."""

    path: Template
    guards: tuple[Guard, ...]
    module: Module
    place: Place


def saves(reach: Reach, symbols: Symbols) -> list[Saved]:
    """Lines that save a model, the likeliest one first."""
    found = [saved for module in reach.modules for saved in _saves(module, symbols)]
    for wrapper, owner in _wrappers(reach, "torch.save"):
        for module in reach.modules:
            for call in module.calls:
                if module.called(call).split(".")[-1] == wrapper and call is not owner:
                    found.append(_saved(module, call, 1, "f", symbols))
    return sorted(found, key=lambda saved: (-_weight(saved), saved.place))


def _saves(module: Module, symbols: Symbols) -> Iterator[Saved]:
    for call in module.calls:
        called = module.called(call)
        last = called.split(".")[-1]
        if called in _SAVES and not any(isinstance(arg, ast.Starred) for arg in call.args):
            yield _saved(module, call, 1, "f", symbols)
        elif last == "save_checkpoint" and called.startswith(("trainer.", "self.trainer.")) and call.args:
            yield _saved(module, call, 0, "filepath", symbols)
        elif (
            last in _FOLDER_SAVES
            and call.args
            and isinstance(call.func, ast.Attribute)
            and "tokenizer" not in called
        ):
            path = (*symbols.evaluate(module, call.args[0]), "/" + _FOLDER_SAVES[last])
            if not isinstance(path[0], Unknown):
                yield Saved(path, called, tuple(module.guards(call)), module, module.place(call), folder=True)


def _saved(module: Module, call: ast.Call, position: int, name: str, symbols: Symbols) -> Saved:
    what = _content(module, call.args[0]) if call.args else ""
    path = symbols.evaluate(module, argument(call, position, name))
    return Saved(path, what, tuple(_guards(module, call)), module, module.place(call))


def _content(module: Module, node: ast.expr) -> str:
    """What is saved, in words: the expression, and the keys where it is a dictionary."""
    value = node
    if isinstance(node, ast.Name):
        value = next(
            (v for _, v in reversed(module.assignments.get(node.id, [])) if v.lineno <= node.lineno), node
        )
    if isinstance(value, ast.Dict):
        keys = [str(key) for item in value.keys if (key := constant(item)) is not None]
        return f"{_DICTIONARY} with {', '.join(keys[:6])}"[:120] if keys else _DICTIONARY
    return unparsed(node)[:80]


def _guards(module: Module, call: ast.Call) -> list[Guard]:
    """Conditions around a call, and around the calls of the function that it stands in (one level, same module)."""
    guards = list(module.guards(call))
    function = module.function(call)
    if function:
        callers = module.calls_by_name.get(function.name, [])
        if len(callers) == 1:
            guards += module.guards(callers[0])
    return guards


def _wrappers(reach: Reach, target: str) -> Iterator[tuple[str, ast.Call]]:
    """The project's own functions that pass all of their arguments on to a function."""
    for module in reach.modules:
        for call in module.calls:
            function = module.function(call)
            starred = any(isinstance(arg, ast.Starred) for arg in call.args)
            if module.called(call) == target and starred and function:
                yield function.name, call


def _weight(saved: Saved) -> float:
    first = saved.path[0] if saved.path else Unknown()
    text = " ".join(piece for piece in saved.path if isinstance(piece, str))
    weight = 3.0 if isinstance(first, Opt) else 2.0 if isinstance(first, str) else 0.0
    weight -= sum(isinstance(piece, Unknown) for piece in saved.path) * 0.5
    weight += 2.0 if isinstance(first, Unknown) and first.options else 0.0
    weight -= (
        3.0
        if re.search(r"hub|export|convert|onnx|deploy|strip|quant|benchmark", saved.place.file, re.IGNORECASE)
        else 0.0
    )
    weight -= (
        4.0
        if _ASIDE.search(text if saved.what.startswith(_DICTIONARY) else f"{text} {saved.what.split('.')[0]}")
        else 0.0
    )
    weight -= 5.0 if not saved.path else 0.0
    weight += 1.0 if _BEST.search(text) else 0.0
    weight += (
        1.0
        if re.search(r"model|net|state|ckpt|checkpoint|snapshot", f"{saved.what} {text}", re.IGNORECASE)
        else 0.0
    )
    weight -= (
        1.0 if re.search(r"(?<![a-z])net[_]?d|discriminator", f"{saved.what} {text}", re.IGNORECASE) else 0.0
    )
    return weight


def loads(reach: Reach, symbols: Symbols) -> list[Loaded]:
    """Lines that load a checkpoint."""
    found: list[Loaded] = []
    names = {
        "torch.load": (0, "f"),
        "load_checkpoint": (-1, "checkpoint_path"),
        "safetensors.torch.load_file": (0, "filename"),
    }
    for module in reach.modules:
        for call in module.calls:
            called = module.called(call)
            if called in names:
                given = argument(call, *names[called])
            elif called.endswith(".load_from_checkpoint") and call.args:
                given = call.args[0]
            else:
                given = keyword(call, "ckpt_path")
                given = given if constant(given) is None else None
            if given is not None:
                path, guards = symbols.evaluate(module, given), tuple(_guards(module, call))
                found.append(Loaded(path, guards, module, module.place(call)))
    return found


def switches(guards: Sequence[Guard], symbols: Symbols) -> list[tuple[Option, str | None]]:
    """Options that must be given so that a guarded line runs: a switch (None), or an option with a value."""
    result: list[tuple[Option, str | None]] = []
    for guard in guards:
        tests = (
            guard.test.values
            if isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.And)
            else [guard.test]
        )
        for test in tests if guard.holds else []:
            result += _switch(test, symbols)
    return list(dict.fromkeys(result))


def _switch(test: ast.expr, symbols: Symbols) -> Iterator[tuple[Option, str | None]]:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        option, value = symbols.option(test.left), constant(test.comparators[0])
        if option and isinstance(value, str) and option.default != value:
            yield option, value
        return
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return
    option = symbols.option(test)
    if option and option.default is False:
        yield option, None if option.switch else "True"
