"""Emulated XLA chips: several processes of one PJRT CPU device, whose collectives go over gloo.

torch_xla's CPU client knows no other process: there `xr.world_size()` is 1 and collectives do nothing. The functions
below take the places of those that touch the world, in the modules that define them, so the program's (and torch_xla's)
own code above them runs for real: `xm.optimizer_step`, `xm.reduce_gradients`, `xm.mesh_reduce`, `torch.distributed`
with the `xla` backend. MpDeviceLoader, `torch_xla.sync` and compilation stay as they are.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from ..handshake import Identity
from . import gloo
from .xla import Xla

Tensor = Any
Groups = Sequence[Sequence[int]] | None

TIMEOUT_S = 120.0
_LOW = (torch.float16, torch.bfloat16)


def reduce_values(kind: str, parts: Sequence[Tensor]) -> Tensor:
    """Reduce tensors of all ranks as `xm.all_reduce` does.

    Args:
        kind: `sum`, `mul`, `min`, `max`, `and` or `or` (`xm.REDUCE_*`).
        parts: one host tensor a rank, of one shape and dtype; added in the order of ranks, so each rank gets the
            same bits. Half-width floats are added in float32.

    Raises:
        ValueError: another kind.
    """
    dtype = parts[0].dtype
    stack = torch.stack([part.to(torch.float32) if dtype in _LOW else part for part in parts])
    if kind in ("and", "or"):
        result = stack[0]
        for part in stack[1:]:
            result = (result & part) if kind == "and" else (result | part)
        return result
    if dtype == torch.bool:
        return stack.any(0) if kind in ("sum", "max") else stack.all(0)
    if kind == "sum":
        return stack.sum(0).to(dtype)
    if kind == "mul":
        return stack.prod(0).to(dtype)
    if kind == "min":
        return stack.amin(0).to(dtype)
    if kind == "max":
        return stack.amax(0).to(dtype)
    raise ValueError(f"xm.all_reduce knows sum, mul, min, max, and, or; not {kind!r}")


def members(groups: Groups, rank: int, size: int) -> list[int]:
    """The ranks that reduce together with this one; all without groups."""
    if not groups:
        return list(range(size))
    return next((list(group) for group in groups if rank in group), [rank])


class Bridge:
    """The replacements, over one gloo world.

    Args:
        who: this process's place.
        backend: fetches values from the device without counting them as the program's transfers.
        world: the collectives on the host.
    """

    def __init__(self, who: Identity, backend: Xla, world: gloo.GlooWorld) -> None:
        self._who = who
        self._backend = backend
        self._world = world

    def _everyones(self, operation: str, tensor: Tensor, groups: Groups) -> list[Tensor]:
        (value,) = self._backend.to_host([tensor])
        parts = self._world.all_gather(operation, value)
        return [parts[rank] for rank in members(groups, self._who.rank, self._who.world_size)]

    def _reduced(self, kind: str, values: Sequence[Tensor], scale: float, groups: Groups) -> list[Tensor]:
        """Reduce host tensors, those of one dtype in one piece."""
        results: list[Tensor] = [None] * len(values)
        for dtype in dict.fromkeys(value.dtype for value in values):
            where = [index for index, value in enumerate(values) if value.dtype == dtype]
            flat = torch.cat([values[index].reshape(-1) for index in where])
            parts = self._world.all_gather(f"all_reduce {kind}", flat)
            total = reduce_values(
                kind, [parts[r] for r in members(groups, self._who.rank, self._who.world_size)]
            )
            if scale != 1.0:
                total = (total * scale).to(dtype)
            for index, piece in zip(where, total.split([values[i].numel() for i in where]), strict=True):
                results[index] = piece.reshape(values[index].shape)
        return results

    def all_reduce(
        self,
        reduce_type: str,
        inputs: Any,
        scale: float = 1.0,
        groups: Groups = None,
        pin_layout: bool = True,
    ) -> Any:
        """`xm.all_reduce`: a new tensor for a tensor, in place for a list."""
        single = isinstance(inputs, torch.Tensor)
        given = [inputs] if single else list(inputs)
        with torch.no_grad():
            reduced = self._reduced(reduce_type, self._backend.to_host(given), scale, groups)
            if single:
                return reduced[0].to(inputs.device)
            for tensor, value in zip(given, reduced, strict=True):
                tensor.copy_(value)
        return inputs

    def all_gather(
        self,
        value: Any,
        dim: int = 0,
        groups: Groups = None,
        output: Any = None,
        pin_layout: bool = True,
        **_: Any,
    ) -> Any:
        """`xm.all_gather`: the ranks' tensors, one after another along `dim`."""
        if not isinstance(value, torch.Tensor):
            outputs = output or [None] * len(value)
            return [self.all_gather(v, dim, groups, out) for v, out in zip(value, outputs, strict=True)]
        with torch.no_grad():
            gathered = torch.cat(self._everyones("all_gather", value, groups), dim).to(value.device)
            return gathered if output is None else output.copy_(gathered)

    def reduce_scatter(
        self,
        reduce_type: str,
        input: Any,
        scale: float,
        scatter_dim: int,
        shard_count: int,
        groups: Groups = None,
        output: Any = None,
        pin_layout: bool = True,
        **_: Any,
    ) -> Any:
        """`xm.reduce_scatter`: this rank's shard of the reduced tensor."""
        if not isinstance(input, torch.Tensor):
            outputs = output or [None] * len(input)
            pairs = zip(input, outputs, strict=True)
            return [
                self.reduce_scatter(reduce_type, i, scale, scatter_dim, shard_count, groups, o)
                for i, o in pairs
            ]
        with torch.no_grad():
            (total,) = self._reduced(reduce_type, self._backend.to_host([input]), scale, groups)
            place = members(groups, self._who.rank, self._who.world_size).index(self._who.rank)
            shard = total.chunk(shard_count, scatter_dim)[place].to(input.device)
            return shard if output is None else output.copy_(shard)

    def all_to_all(
        self,
        value: Tensor,
        split_dimension: int,
        concat_dimension: int,
        split_count: int,
        groups: Groups = None,
        pin_layout: bool = True,
    ) -> Tensor:
        """`xm.all_to_all`: the i-th piece of each rank goes to the i-th rank."""
        with torch.no_grad():
            parts = self._everyones("all_to_all", value, groups)
            place = members(groups, self._who.rank, self._who.world_size).index(self._who.rank)
            pieces = [part.chunk(split_count, split_dimension)[place] for part in parts]
            return torch.cat(pieces, concat_dimension).to(value.device)

    def collective_permute(self, value: Tensor, pairs: Sequence[Sequence[int]]) -> Tensor:
        """`xm.collective_permute`: only the ranks that the pairs name take part."""
        with torch.no_grad():
            (host,) = self._backend.to_host([value])
            return self._world.exchange(host, pairs).to(value.device)

    def collective_broadcast(
        self, tensors: Sequence[Tensor], root_ordinal: int = 0, groups: Groups = None, pin_layout: bool = True
    ) -> None:
        """`xm.collective_broadcast`: the root's values, in place."""
        with torch.no_grad():
            for tensor in tensors:
                ranks = members(groups, self._who.rank, self._who.world_size)
                parts = self._everyones(f"collective_broadcast from {root_ordinal}", tensor, groups)
                tensor.copy_(parts[ranks.index(root_ordinal)])

    def rendezvous(
        self, tag: str, payload: bytes = b"", replicas: Sequence[int] | None = None
    ) -> list[bytes]:
        """`xm.rendezvous`: wait for all ranks under one tag, exchange payloads."""
        if not isinstance(payload, bytes):
            raise TypeError(f"`payload` must be bytes, not {type(payload)}")
        return self._world.all_gather_bytes(f"rendezvous {tag!r}", payload)


def _not_emulated(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise gloo.BridgeError(
            f"{name} isn't emulated; use xm.collective_permute or torch.distributed on the CPU"
        )

    return refuse


def _constant(value: int) -> Callable[[], int]:
    return lambda: value


def install(torch_xla: ModuleType, who: Identity, backend: Xla) -> Bridge:
    """Put the bridge in place of torch_xla's own view of the world.

    Args:
        torch_xla: the module, complete.
        who: this process's place, as torchrun gave it.
        backend: this process's readings.
    """
    module: Any = torch_xla
    bridge = Bridge(who, backend, gloo.GlooWorld(who.rank, who.world_size, TIMEOUT_S))
    numbers = {
        "world_size": who.world_size,
        "global_ordinal": who.rank,
        "local_ordinal": who.local_rank,
        "local_process_count": who.local_world_size,
        "global_device_count": who.world_size,
        "global_runtime_device_count": who.world_size,
        "process_index": who.rank,
        "process_count": who.world_size,
    }
    for name, value in numbers.items():
        setattr(module.runtime, name, _constant(value))
    model = module.core.xla_model
    for old, name in (("xrt_world_size", "world_size"), ("get_ordinal", "global_ordinal")):
        if hasattr(model, old):
            setattr(model, old, lambda defval=0, value=numbers[name]: value)
    names = (
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "collective_permute",
        "collective_broadcast",
    )
    for name in names:
        setattr(model, name, getattr(bridge, name))

    def synced(tag: str, payload: bytes = b"", replicas: Sequence[int] | None = None) -> list[bytes]:
        module.sync()
        return bridge.rendezvous(tag, payload, replicas)

    model.rendezvous = synced
    model.xla_rendezvous = lambda payload=b"", ordinals=None, tag=None: synced(tag or "", payload, ordinals)
    model.send = _not_emulated("xm.send")
    model.recv = _not_emulated("xm.recv")

    def spawn(fn: Callable[..., Any], *positional: Any, args: tuple[Any, ...] = (), **_: Any) -> None:
        # torchrun has started the processes: the function runs once in each, with its ordinal.
        fn(who.rank, *(positional[0] if positional else args))

    from torch_xla.distributed import xla_multiprocessing

    xla_multiprocessing.spawn = spawn
    module._internal.pjrt.spawn = lambda fn, nprocs=None, start_method="spawn", args=(): spawn(fn, args=args)
    return bridge
