"""The model's parameters and buffers by name: recorded, loaded, held to the reference's."""

import gc
import itertools
import json
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from . import initial
from .backends import Backend
from .plan import Plan
from .trace import Trace

Tensor = Any
Module = Any
Optimizer = Any

_WRAPPERS = re.compile(r"(^|(?<=\.))(module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")


_LEAST_COPY = 2
"""Elements of the smallest tensor that is taken for a copy of a parameter."""


def strip(name: str) -> str:
    """A parameter's name without the wrappers around its module (DDP, torch.compile, FSDP, checkpointing).

    A model's own child called `module` loses its name too, on both sides alike.
    """
    return _WRAPPERS.sub("", name)


def pair(
    ours: Mapping[str, tuple[int, ...]], reference: Mapping[str, tuple[int, ...]]
) -> dict[str, str] | None:
    """Which of our tensors is which of the reference's.

    Args:
        ours: shapes by name, in the model's order.
        reference: the same of the reference.

    Returns:
        The reference's name for each of ours: by name where all the reference's names are here with their shapes,
        else by order where all shapes agree in order; None where neither holds.
    """
    if all(ours.get(name) == shape for name, shape in reference.items()):
        return {name: name for name in reference}
    if list(ours.values()) == list(reference.values()):
        return dict(zip(ours, reference, strict=True))
    return None


def _core(module: Module) -> Module:
    """The module inside of its wrappers."""
    while True:
        inner = next(
            (part for name, part in module.named_children() if _WRAPPERS.fullmatch(f"{name}.")), None
        )
        if inner is None or len(module._modules) != 1:
            return module
        module = inner


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _ids(tensors: Iterable[Tensor]) -> set[int]:
    return {id(tensor) for tensor in tensors}


def _covering(wanted: set[int]) -> Module | None:
    """The smallest module of the process that holds all of these parameters."""
    modules = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
    sized = [(module, _ids(module.parameters())) for module in modules]
    holding = [(len(ids), index, module) for index, (module, ids) in enumerate(sized) if wanted <= ids]
    return min(holding, key=lambda entry: entry[:2])[2] if holding else None


class State:
    """The trained state of this process.

    Args:
        plan: what to do with it.
        trace: for notes.
        rank: whose files to read and write.
        backend: how values come to the host.
        save: torch's own `torch.save`, which the program's checkpoints are told from.
    """

    def __init__(
        self,
        plan: Plan,
        trace: Trace,
        rank: Callable[[], int],
        backend: Callable[[], Backend],
        save: Callable[..., Any],
    ) -> None:
        self.roots: list[Module] = []
        self.optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self.pairing: dict[str, str] = {}
        self.settled = False
        self._plan = plan
        self._trace = trace
        self._rank = rank
        self._backend = backend
        self._save = save
        self._names: dict[int, str] = {}
        self._reference: dict[str, Any] = {}
        self._record: dict[str, Any] | None = None
        self._recorded_bytes = 0
        self._record_world: int | None = None
        self._saw_own = False
        self._cores: set[int] = set()

    def is_core(self, module: Module) -> bool:
        """Whether this is a trained model itself, without the wrappers around it."""
        return id(module) in self._cores

    @property
    def shares(self) -> int:
        """Replicas over which the one rank of the record is spread in this run; 1 where both have the same ranks."""
        if self._plan.reference is None:
            return 1
        if self._record_world is None:
            file = self._plan.reference / "handshake-0.json"
            self._record_world = json.loads(file.read_text())["world_size"] if file.exists() else 0
        size = self._trace.who.world_size
        return size if self._record_world == 1 and size > 1 else 1

    def first_forward(self, module: Module) -> None:
        """Look at a module's forward pass with gradients, before it happens.

        Until the training starts, a pass in evaluation mode is only provisional: the state is taken (or loaded) again
        at the first one in training mode, if it comes before the first backward pass.
        """
        if self.settled or not any(parameter.requires_grad for parameter in module.parameters()):
            return
        self._find_roots(module)
        self.settled = module.training
        if self._plan.values and not self._saw_own:
            self._saw_own = True  # only at the first time: later the state may be the reference's already
            own = self.snapshot()
            self._trace.write("initial", **initial.describe({**own["params"], **own["buffers"]}))
        if self._plan.mode == "match":
            self._load_initial()
        self.disturb(0)
        if self._plan.mode == "record" and self._plan.values:
            self._record = self.snapshot()

    def before_backward(self) -> None:
        """Settle the state at the first backward pass at the latest."""
        if not self.settled:
            self.settled = True
            if not self.roots:
                self._trace.note(
                    "no_training_forward", "no module's forward pass with gradients came before backward"
                )
        if self._record is not None:
            self._write(f"state-{self._rank()}.pt", self._record)
            self._record = None

    def _find_roots(self, module: Module) -> None:
        wanted = [_ids(_parameters(optimizer)) for optimizer in self.optimizers]
        everything: set[int] = set().union(*wanted)
        self.roots = [module]
        covered = _ids(module.parameters())
        if not everything <= covered:
            holder = _covering(everything)
            if holder is not None:
                self.roots = [holder]
            else:
                for ids in wanted:
                    rest = ids - covered
                    other = _covering(rest) if rest else None
                    if other is not None:
                        self.roots.append(other)
                        covered |= _ids(other.parameters())
        self._names = {}
        for name, parameter in self._named("named_parameters"):
            self._names.setdefault(id(parameter), name)
        self._cores = {id(_core(root)) for root in self.roots}

    def _named(self, method: str) -> list[tuple[str, Tensor]]:
        found = []
        for index, root in enumerate(self.roots):
            prefix = f"{index}:" if len(self.roots) > 1 else ""
            for name, tensor in getattr(root, method)(remove_duplicate=False):
                found.append((prefix + strip(name), tensor))
        return found

    def parameters(self) -> dict[str, Tensor]:
        """Parameters of the trained modules by name; a shared one under each of its names."""
        return dict(self._named("named_parameters"))

    def buffers(self) -> dict[str, Tensor]:
        """Buffers of the trained modules by name."""
        return dict(self._named("named_buffers"))

    def owned_by(self, optimizer: Optimizer) -> dict[str, Tensor]:
        """An optimizer's parameters by name, once each; one outside of the modules is named by its place."""
        named: dict[str, Tensor] = {}
        for group_index, group in enumerate(optimizer.param_groups):
            for index, parameter in enumerate(group["params"]):
                named.setdefault(self._names.get(id(parameter), f"group{group_index}.{index}"), parameter)
        return named

    def training(self) -> bool | None:
        """Whether the modules that hold the optimizers' parameters are in training mode; None while unknown."""
        if self.roots:
            # Not the root's own flag: a wrapper such as DDP keeps its own when only the module inside is switched.
            within = itertools.chain.from_iterable(root.modules() for root in self.roots)
            return any(module.training for module in within if module._parameters)
        wanted = _ids(itertools.chain.from_iterable(map(_parameters, self.optimizers)))
        if not wanted:
            return None
        modules = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.nn.Module)]
        holders = [m for m in modules if wanted & _ids(m.parameters(recurse=False))]
        return any(module.training for module in holders) if holders else None

    def snapshot(self) -> dict[str, Any]:
        """Host copies of parameters and buffers: `params`, `buffers`, and the `names` in order."""
        parameters, buffers = self.parameters(), self.buffers()
        host = self._backend().to_host([*parameters.values(), *buffers.values()])
        return {
            "names": list(parameters),
            "params": dict(zip(parameters, host, strict=False)),
            "buffers": dict(zip(buffers, host[len(parameters) :], strict=True)),
        }

    def _write(self, name: str, content: Mapping[str, Any]) -> bool:
        size = sum(
            tensor.numel() * tensor.element_size()
            for part in content.values()
            if isinstance(part, dict)
            for tensor in part.values()
        )
        if not self.afford(size, name):
            return False
        self._save(dict(content), self._plan.out / name)
        return True

    def afford(self, size: int, what: str) -> bool:
        """Whether so many more bytes may be recorded; once they may not, nothing more is."""
        if self._recorded_bytes + size > self._plan.tensor_bytes:
            message = f"the cap of {self._plan.tensor_bytes} bytes is reached: from {what} on only norms are recorded"
            if self._recorded_bytes < self._plan.tensor_bytes:
                self._trace.note("tensor_cap", message)
            self._recorded_bytes = self._plan.tensor_bytes
            return False
        self._recorded_bytes += size
        return True

    def write_step(self, step: int, grads: Mapping[str, Tensor], after: Mapping[str, Any]) -> None:
        """Record one step: the gradients that the optimizer applied, and the state after it."""
        self._write(f"step-{step}-{self._rank()}.pt", {**after, "grads": dict(grads)})

    def read(self, name: str) -> dict[str, Any] | None:
        """A file of the reference; None where the record doesn't hold it (its cap was reached)."""
        assert self._plan.reference is not None
        path: Path = self._plan.reference / name
        return torch.load(path, map_location="cpu", weights_only=True) if path.exists() else None

    def read_of_rank(self, name: str) -> dict[str, Any] | None:
        """A file of the rank of the reference that this one is compared with."""
        return self.read(f"{name}-{self._rank() if self.shares == 1 else 0}.pt")

    def document(self, name: str) -> dict[str, Any] | None:
        """A JSON document of the rank of the reference that this one is compared with; None where there is none."""
        assert self._plan.reference is not None
        path = self._plan.reference / f"{name}-{self._rank() if self.shares == 1 else 0}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def reference_step(self, step: int) -> dict[str, Any] | None:
        """The reference's step; -1 is its initial state."""
        return self.read_of_rank(f"step-{step}" if step >= 0 else "state")

    def _load_initial(self) -> None:
        if not self._reference:
            found = self.reference_step(-1)
            if found is None:
                where = f"{self._plan.reference}/state-{self._rank()}.pt"
                self._trace.note("state_unmatched", f"the reference holds no initial state ({where})")
                return
            self._reference = found
        parameters = {name: tuple(tensor.shape) for name, tensor in self.parameters().items()}
        wanted = {name: tuple(tensor.shape) for name, tensor in self._reference["params"].items()}
        pairing = pair(parameters, wanted)
        if pairing is None:
            missing = sorted(name for name, shape in wanted.items() if parameters.get(name) != shape)
            extra = sorted(name for name, shape in parameters.items() if wanted.get(name) != shape)
            message = f"only the reference has {missing[:5]}, only this model has {extra[:5]}; training goes on unmatched"
            self._trace.note("state_unmatched", message)
            return
        self.pairing = pairing
        copies = self._copies()
        self.load(self._reference)
        with torch.no_grad():
            for tensor, name in copies:
                tensor.copy_(self._reference["params"][pairing[name]])

    def _copies(self) -> list[tuple[Tensor, str]]:
        """Tensors outside of the model that hold just what a parameter holds, and the parameter's name.

        An average of the weights, a target network: they were copied from the program's own initial weights, so they must
        begin with the reference's too. A constant tells nothing and is left alone.
        """
        parameters = self.parameters()
        host = dict(zip(parameters, self._backend().to_host(list(parameters.values())), strict=True))
        by_shape: dict[tuple[int, ...], list[str]] = {}
        for name, value in host.items():
            if value.numel() >= _LEAST_COPY and value.is_floating_point() and value.min() != value.max():
                by_shape.setdefault(tuple(value.shape), []).append(name)
        inside = {id(tensor) for tensor in parameters.values()}
        near = [
            thing
            for thing in gc.get_objects()
            if issubclass(type(thing), torch.Tensor)
            and id(thing) not in inside
            and not thing.is_sparse
            and thing.dtype in (torch.float32, torch.float64)
            and tuple(thing.shape) in by_shape
        ]
        found = []
        for thing, value in zip(near, self._backend().to_host(near), strict=True):
            names = by_shape[tuple(value.shape)]
            same = [name for name in names if torch.equal(host[name], value.to(host[name].dtype))]
            if same:
                found.append((thing, same[0]))
        return found

    def load(self, content: Mapping[str, Any]) -> None:
        """Set parameters and buffers, in place, to a recorded state."""
        parameters, buffers = self.parameters(), self.buffers()
        ours = {name: tuple(tensor.shape) for name, tensor in buffers.items()}
        theirs = {name: tuple(tensor.shape) for name, tensor in content["buffers"].items()}
        buffer_pairing = pair(ours, theirs)
        if buffer_pairing is None:
            self._trace.note(
                "buffers_unmatched", f"this model has buffers {list(ours)[:5]}, not {list(theirs)[:5]}"
            )
        with torch.no_grad():
            for name, other in self.pairing.items():
                parameters[name].copy_(content["params"][other])
            for name, other in (buffer_pairing or {}).items():
                buffers[name].copy_(content["buffers"][other])

    def disturb(self, step: int) -> None:
        """Perturb the parameters by the plan's relative size; the same numbers on every rank."""
        if not self._plan.perturb:
            return
        generator = torch.Generator().manual_seed(7919 * step + 1)
        seen: set[int] = set()
        with torch.no_grad():
            for parameter in self.parameters().values():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                if id(parameter) not in seen and parameter.is_floating_point():
                    seen.add(id(parameter))
                    factor = 1.0 + self._plan.perturb * noise
                    parameter.copy_((parameter.detach().cpu().to(torch.float64) * factor).to(parameter.dtype))

    def hold(self, step: int) -> None:
        """Teacher forcing: after a step, go on from where the reference stood after it."""
        content = self.reference_step(step)
        if content is None:
            self._trace.note(
                "teacher_ended", f"the reference holds no state after step {step}; training runs free"
            )
        elif self.pairing:
            self.load(content)
            self.disturb(step + 1)
