"""How a seed reaches a program: an option, an environment variable, a constant, or not at all."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Reach
from agentmig.drafting.module import Module, argument, constant
from agentmig.drafting.options import Option
from agentmig.drafting.symbolic import Symbols

_NAME = re.compile(
    r"(?:^|[._])(?:(?:random|manual|rng|global|torch|train|base|init)_?)?seed(?:_everything)?$", re.IGNORECASE
)
_SEEDING = re.compile(
    r"(?:^|\.)(?:manual_seed(?:_all)?|seed_everything|set_\w*seeds?|seed_all|init_seeds|fix_seed|same_seeds?|set_all_seeds?)$"
)
_LIBRARIES = ("random.seed", "numpy.random.seed", "torch.seed")


@dataclass(frozen=True)
class Seeding:
    """A line that seeds a generator.

    Attributes:
        call: what is called.
        constant: the seed where it is written in the code; None where it is computed or given.
        options: options that the seed comes from.
    """

    call: str
    place: Place
    constant: str | None
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Seeds:
    """All about seeds.

    Attributes:
        option: the option that takes the seed.
        variable: the environment variable that does, with the line that reads it.
        lines: where generators are seeded.
    """

    option: Option | None
    variable: tuple[str, Place] | None
    lines: tuple[Seeding, ...]


def find_seeds(reach: Reach, options: Sequence[Option], symbols: Symbols) -> Seeds:
    """How a seed reaches a program."""
    lines = []
    for module in reach.modules:
        for call in module.calls:
            called = module.called(call)
            if not (_SEEDING.search(called) or called in _LIBRARIES):
                continue
            if called.endswith(".manual_seed") and not called.startswith(("torch.", "torch_xla.")):
                continue  # a generator of its own, for a split or for samples
            given = argument(call, 0, "seed")
            value = _written(module, given) if given is not None else None
            within = tuple(symbols.options_within(module, given)) if given is not None else ()
            lines.append(Seeding(called, module.place(call), value if not within else None, within))
    return Seeds(_option(options, lines), _variable(reach), tuple(lines))


def _written(module: Module, given: ast.expr) -> str | None:
    """The seed that the code itself writes: a number, a name for one, or a number to which something is added."""
    if isinstance(given, ast.BinOp):  # `1337 + rank`: the rank is no choice
        return next((str(v) for node in ast.walk(given) if isinstance(v := constant(node), int)), None)
    if isinstance(given, ast.Name):
        values = module.assignments.get(given.id, [])
        given = values[-1][1] if values else given
    value = constant(given)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _option(options: Sequence[Option], lines: Sequence[Seeding]) -> Option | None:
    """The option that is called a seed, the one that reaches a generator first; else one that reaches a generator."""
    reaching = {option.name: option for line in lines for option in line.options if not option.switch}
    named = [option for option in options if _NAME.search(option.name) and not option.switch]
    if not named:
        return next(iter(reaching.values()), None)
    return min(
        named, key=lambda option: (option.name not in reaching, option.name.count("."), len(option.name))
    )


def _variable(reach: Reach) -> tuple[str, Place] | None:
    for module in reach.modules:
        for node in module.nodes:
            name: object = None
            if isinstance(node, ast.Call) and module.called(node) in ("os.environ.get", "os.getenv"):
                name = constant(argument(node, 0, "key"))
            elif (
                isinstance(node, ast.Subscript)
                and module.dotted(node.value) == "os.environ"
                and isinstance(node.ctx, ast.Load)
            ):
                name = constant(node.slice)
            plain = isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
            if plain and _NAME.search(str(name)) and "HASHSEED" not in str(name):
                return str(name), module.place(node)
    return None
