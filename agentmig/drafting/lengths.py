"""How long a program trains: the option that says so, or the number that is written in a loop."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Reach
from agentmig.drafting.module import Module, constant
from agentmig.drafting.options import Option
from agentmig.drafting.symbolic import Symbols, literal

_EPOCHS = re.compile(
    r"(?:^|[._])(?:(?:num|n|max|total|nb|number_of|train)_?)*(?:train_)?(?:epochs?)$|^nepochs?$|(?:^|\.)niter$",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"(?:^|[._])(?:(?:num|n|max|total|nb|train)_?)+(?:train(?:ing)?_)?(?:iters?|iterations?|steps|updates?|timesteps|batches)$|^(?:iterations|iters|timesteps|steps)$",
    re.IGNORECASE,
)
_NOT_A_LENGTH = re.compile(
    r"warm|min_|eval|val|log|save|resume|start|decay|milestone|cool|sample|print|update_epochs|accum|rollout|finetune_from",
    re.IGNORECASE,
)
LONG_EPOCHS = 5
LONG_STEPS = 2000


@dataclass(frozen=True)
class Length:
    """How long a program trains.

    Attributes:
        unit: epochs or steps.
        option: what sets it; None where it is written in the code.
        value: its number; None where it can't be told.
    """

    unit: str
    option: Option | None
    value: float | None
    place: Place

    @property
    def is_long(self) -> bool:
        """Whether a verification, which trains many times, would take long."""
        return self.value is not None and self.value > (LONG_EPOCHS if self.unit == "epochs" else LONG_STEPS)

    @property
    def is_endless(self) -> bool:
        """Whether the default means no end at all."""
        return self.option is not None and self.value is not None and self.value <= 0


def find_lengths(reach: Reach, options: Sequence[Option], symbols: Symbols) -> list[Length]:
    """What decides how long training takes, the most direct one first."""
    found: dict[str, Length] = {}
    whole_first = sorted(
        options, key=lambda option: (not re.search(r"total|max", option.name), len(option.name))
    )
    for unit, pattern in (("epochs", _EPOCHS), ("steps", _STEPS)):
        for option in whole_first:
            if pattern.search(option.name) and not _NOT_A_LENGTH.search(option.name) and not option.switch:
                value = option.default if isinstance(option.default, int | float) else None
                found.setdefault(option.flag, Length(unit, option, value, option.place))
    # A limit that is off (-1) beside another one that is on is no limit.
    lengths = list(found.values())
    ending = [length for length in lengths if not length.is_endless]
    return ending or lengths or _written(reach, symbols)


def _written(reach: Reach, symbols: Symbols) -> list[Length]:
    """Numbers in loops over epochs, and in a Trainer's arguments."""
    found = []
    for module in reach.modules[:40]:
        for node in module.nodes:
            if (
                isinstance(node, ast.For)
                and isinstance(node.target, ast.Name)
                and "epoch" in node.target.id.lower()
            ):
                number = _bound(module, node.iter, symbols)
                if number is not None:
                    found.append(Length("epochs", None, number, module.place(node)))
            elif isinstance(node, ast.keyword) and node.arg in (
                "max_epochs",
                "num_train_epochs",
                "max_steps",
            ):
                value = constant(node.value)
                if isinstance(value, int | float):
                    unit = "steps" if node.arg == "max_steps" else "epochs"
                    found.append(Length(unit, None, value, module.place(node.value)))
    return found


def _bound(module: Module, node: ast.expr, symbols: Symbols) -> float | None:
    """The number of turns of `range(200)`, `range(start, start + 200)` or `range(EPOCHS)`."""
    while (
        isinstance(node, ast.Call)
        and module.called(node).split(".")[-1] in ("tqdm", "trange", "enumerate")
        and node.args
    ):
        if module.called(node).endswith("trange"):
            break
        node = node.args[0]
    if (
        not isinstance(node, ast.Call)
        or module.called(node).split(".")[-1] not in ("range", "trange")
        or not node.args
    ):
        return None
    end = node.args[1] if len(node.args) > 1 else node.args[0]
    numbers = [_number(module, part, symbols) for part in ast.walk(end)]
    plain = [number for number in numbers if number is not None]
    return max(plain, default=None)


def _number(module: Module, node: ast.AST, symbols: Symbols) -> float | None:
    if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return None
    text = literal(symbols.evaluate(module, node)) or ""
    return float(text) if re.fullmatch(r"\d{1,12}(?:\.\d*)?", text) else None
