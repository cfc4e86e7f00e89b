"""Where a program needs CUDA: what moves to it, or names it as a device."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentmig.drafting.findings import Place
from agentmig.drafting.module import Module, unparsed

_GPU_WORDS = re.compile(r"cuda|gpu|device|accel", re.IGNORECASE)
_ASKS = frozenset(
    {
        "torch.accelerator.current_accelerator",
        "torch.accelerator.set_device_index",
        "torch.cuda.current_device",
        "torch.cuda.device",
        "torch.cuda.set_device",
        "torch.cuda.synchronize",
    }
)
_NO_DEVICE = frozenset({"add_argument", "autocast", "GradScaler", "print", "startswith", "option", "field"})
"""Calls whose string arguments are no devices that something is moved to."""


@dataclass(frozen=True)
class CudaUse:
    """A place that needs CUDA; `guarded`: some condition decides whether it runs."""

    what: str
    place: Place
    guarded: bool


def cuda_uses(modules: Iterable[Module]) -> list[CudaUse]:
    """Everything that moves something to CUDA or names it as a device."""
    return [use for module in modules for use in _in_module(module)]


def _in_module(module: Module) -> Iterator[CudaUse]:
    if "cuda" not in module.text and "torch.accelerator" not in module.text:
        return
    for node in module.nodes:
        what = ""
        if isinstance(node, ast.Call):
            called = module.called(node)
            if called in _ASKS or (called.startswith("torch.cuda.") and called.endswith("Tensor")):
                what = called
            elif called.endswith(".cuda") and not called.startswith("torch.cuda"):
                what = ".cuda()"
        elif isinstance(node, ast.Constant) and _is_cuda(node.value) and _names_a_device(module, node):
            what = f'"{node.value!s}"'
        if what:
            yield CudaUse(what, module.place(node), _is_guarded(module, node))


def _is_cuda(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"cuda(:\d*)?", value) is not None


def _names_a_device(module: Module, node: ast.Constant) -> bool:
    """Whether a string is used as a device, not compared with one, not an option's default or help."""
    parent, _ = next(module.ancestors(node), (None, ""))
    if isinstance(parent, ast.Compare | ast.Expr | ast.Dict | ast.Subscript):
        return False
    if isinstance(parent, ast.keyword) and parent.arg in ("help", "choices", "device_type"):
        return False
    call = next((p for p, _ in module.ancestors(node) if isinstance(p, ast.Call)), None)
    called = module.called(call) if call is not None else ""
    return called.split(".")[-1] not in _NO_DEVICE and "Option" not in called


def _is_guarded(module: Module, node: ast.AST) -> bool:
    guards = module.guards(node)
    function = module.function(node)
    if function is not None:
        calls = module.calls_by_name.get(function.name, [])
        guards += [guard for call in calls[:3] for guard in module.guards(call)]
    either = any(isinstance(parent, ast.BoolOp | ast.Try) for parent, _ in module.ancestors(node))
    return either or any(_GPU_WORDS.search(unparsed(guard.test)) for guard in guards)
