"""What in the code is known to go wrong when it moves to another backend, with the cause a verification would name."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentmig.drafting.cuda import CudaUse
from agentmig.drafting.findings import Hazard, Place, one_line
from agentmig.drafting.hazard_rules import NAMES, PACKAGES
from agentmig.drafting.module import Module, argument, constant, keyword, unparsed

_ANY_NAME = re.compile("|".join(f"(?:{rule.pattern.pattern})" for rule in NAMES))
_LOADER = re.compile(r"(?:^|\.)(?:utils\.data|dataloader|data)\.DataLoader$")
_TO_HOST = ("item", "cpu", "numpy", "tolist")


@dataclass(frozen=True)
class Seen:
    """One place of a hazard."""

    name: str
    text: str
    cause: str | None
    place: Place


def find_hazards(
    modules: Sequence[Module],
    cuda: Sequence[CudaUse],
    packages: Mapping[str, Place],
    sources: Sequence[str],
    more: Sequence[Seen] = (),
) -> list[Hazard]:
    """The hazards of a program, each kind once with its first place.

    Args:
        modules: that training and evaluation reach, the training program first.
        cuda: where it needs CUDA.
        packages: of others that it imports.
        sources: CUDA source files of the project.
        more: found elsewhere.
    """
    seen = [*more, *(_device(use) for use in cuda)]
    for find in (_by_name, _in_steps, _groups, _last_batches, _late_moves, _seeds):
        seen += [each for module in modules for each in find(module)]
    seen += _clipping(modules, seen)
    seen += [Seen(name, *PACKAGES[name], place) for name, place in packages.items() if name in PACKAGES]
    kernels = "kernels for CUDA have to be written anew with operations that the target has"
    seen += [Seen("CUDA source", kernels, "unsupported_operation", Place(path, 1)) for path in sources]
    kinds: dict[str, list[Seen]] = {}
    for each in seen:
        kinds.setdefault(each.name, []).append(each)
    return [_hazard(each) for each in kinds.values()]


def _hazard(seen: Sequence[Seen]) -> Hazard:
    first = seen[0]
    place = first.place
    return Hazard(
        name=first.name,
        text=first.text,
        cause=first.cause,
        file=one_line(place.file),
        line=place.line,
        count=len(seen),
    )


def _device(use: CudaUse) -> Seen:
    text = f"{use.what}: tensors and modules must go to the target's device"
    return Seen("CUDA device", text, "cuda_unavailable", use.place)


def _by_name(module: Module) -> Iterator[Seen]:
    lines: set[tuple[str, int]] = set()
    for node in module.nodes:
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        dotted = module.dotted(node)
        if "." not in dotted or not _ANY_NAME.search(dotted):
            continue
        rule = next(rule for rule in NAMES if rule.pattern.search(dotted))
        if (rule.name, node.lineno) not in lines:
            lines.add((rule.name, node.lineno))
            yield Seen(rule.name, f"{dotted}: {rule.text}", rule.cause, module.place(node))


def _clipping(modules: Sequence[Module], seen: Sequence[Seen]) -> Iterator[Seen]:
    """Clipping beside a reduction of gradients has an order."""
    wrapped = any(each.name in ("DistributedDataParallel", "accelerate", "horovod") for each in seen)
    for module in modules if wrapped else ():
        for call in module.calls:
            if re.search(r"clip_grad_(?:norm|value)_?$", module.called(call)):
                text = (
                    "clip after the gradients are averaged over the replicas, as DistributedDataParallel does"
                )
                yield Seen("gradient clipping", text, "clip_before_reduction", module.place(call))


def _in_steps(module: Module) -> Iterator[Seen]:
    """Values that travel to the host in each step: inside the innermost loop that calls backward."""
    for call in module.calls:
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in _TO_HOST):
            continue
        loop = next(iter(module.loops(call)), None)
        now_and_then = any("%" in unparsed(guard.test) for guard in module.guards(call))
        if loop is not None and not now_and_then and module.makes_steps(loop):
            text = f".{call.func.attr}() in the training loop waits for the device in each step"
            yield Seen("host sync in each step", text, "host_sync", module.place(call))


def _groups(module: Module) -> Iterator[Seen]:
    for call in module.calls:
        if (
            module.called(call).endswith("init_process_group")
            and constant(argument(call, 0, "backend")) == "nccl"
        ):
            text = "init_process_group asks for a backend that only NVIDIA GPUs have"
            yield Seen("NCCL", text, "process_group", module.place(call))


def _last_batches(module: Module) -> Iterator[Seen]:
    for call in module.calls:
        if not _LOADER.search(module.called(call)):
            continue
        if keyword(call, "drop_last") is None and constant(keyword(call, "shuffle")) is True:
            text = (
                "DataLoader without drop_last: the last batch may have another shape, which is compiled again"
            )
            yield Seen("last batch", text, "recompilation", module.place(call))


def _late_moves(module: Module) -> Iterator[Seen]:
    """An optimizer that is made before its model moves keeps the old parameters on XLA."""
    made: dict[tuple[object, str], int] = {}
    for call in module.calls:
        called = module.called(call)
        function = module.function(call)
        if re.match(r"torch\.optim\.[A-Z]", called):
            owner = next(
                (
                    module.called(c)[: -len(".parameters")]
                    for c in _inside(call)
                    if module.called(c).endswith(".parameters")
                ),
                "",
            )
            made.setdefault((function, owner), call.lineno)
        elif called.endswith((".to", ".cuda")):
            line = made.get((function, called.rsplit(".", 1)[0]))
            if line is not None and line < call.lineno:
                text = "the optimizer is made before the model moves to its device, and won't update what was moved"
                yield Seen("optimizer before the move", text, "parameters_not_updated", module.place(call))


def _inside(call: ast.Call) -> Iterator[ast.Call]:
    return (node for node in ast.walk(call) if isinstance(node, ast.Call) and node is not call)


def _seeds(module: Module) -> Iterator[Seen]:
    for call in module.calls:
        if module.called(call) == "torch.manual_seed":
            text = "torch.manual_seed doesn't seed XLA's generator: torch_xla.manual_seed does"
            yield Seen("seeds of the device", text, "seed_ignored", module.place(call))


def unwatched(modules: Sequence[Module], uses_trainer: bool) -> Iterator[Seen]:
    """What keeps a verification from comparing steps: no DataLoader, or no torch optimizer, in the training program.

    Args:
        modules: of the training program, itself first.
        uses_trainer: a framework makes loader and optimizer.
    """
    names = {module.called(call) for module in modules for call in module.calls}
    place = Place(modules[0].path, 1)
    if not any(re.search(r"(?:DataLoader|[lL]oader)\w*$", name) for name in names) and not uses_trainer:
        text = "training takes its batches from elsewhere than a torch DataLoader, so steps can't be compared"
        yield Seen("no DataLoader", text, "batches_unmatched", place)
    optimizers = any(re.search(r"optim|Optimizer", name, re.IGNORECASE) for name in names)
    if not optimizers and not uses_trainer:
        text = "no torch optimizer makes the steps, and verification watches those"
        yield Seen("no torch optimizer", text, "no_optimizer_step", place)
