"""Tensors inside whatever a program puts them in: found in a fixed order, replaced, hashed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

Tensor = Any
"""A `torch.Tensor`; the type checker of agentmig has no torch."""


def rebuild(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Copy a nest of containers with each tensor changed; what isn't a container or a tensor stays as it is.

    Args:
        value: tensors in dicts, lists, tuples, named tuples, and objects that are mappings (copied where they can be
            built from a dict, changed in place otherwise).
        change: called on each tensor, in order.
    """
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        items = {key: rebuild(item, change) for key, item in value.items()}
        if type(value) is dict:
            return items
        for key, item in items.items():
            value[key] = item  # type: ignore[index]  # a BatchEncoding, an OrderedDict: keep the object
        return value
    if isinstance(value, tuple):
        parts = [rebuild(item, change) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [rebuild(item, change) for item in value]
    return value


def tensors(value: Any) -> list[Tensor]:
    """All tensors of a nest, in the order of `rebuild`."""
    found: list[Tensor] = []

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, Mapping):
            for item in value.values():
                collect(item)
        elif isinstance(value, (tuple, list)):
            for item in value:
                collect(item)

    collect(value)
    return found


def shapes(found: Sequence[Tensor]) -> list[list[int]]:
    """The tensors' shapes."""
    return [list(tensor.shape) for tensor in found]


def samples(found: Sequence[Tensor]) -> int | None:
    """Size of the first dimension that a batch's tensors have (of the first tensor that has one)."""
    return next((int(tensor.shape[0]) for tensor in found if tensor.dim() > 0), None)


def _canonical(tensor: Tensor) -> Tensor:
    """The values in one width for a kind of number, so that a program's wider copy of the same data hashes alike."""
    tensor = tensor.detach().cpu()
    if tensor.is_complex():
        return torch.view_as_real(tensor.to(torch.complex64).resolve_conj())
    wide = torch.float32 if tensor.is_floating_point() else torch.int64
    return tensor.to(wide).contiguous()


def _bytes(tensor: Tensor) -> bytes:
    return bytes(tensor.contiguous().view(torch.uint8).numpy().tobytes()) if tensor.numel() else b""


def content(tensor: Tensor) -> bytes:
    """Values of a tensor, whatever its float or integer width."""
    return _bytes(_canonical(tensor).reshape(-1))


def digest(parts: Sequence[bytes]) -> str:
    """16 hexadecimal digits over byte strings."""
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def batch_hash(found: Sequence[Tensor]) -> str:
    """Hash of a batch: shapes and values of all its tensors, whatever their float or integer width."""
    parts: list[bytes] = []
    for tensor in found:
        parts += [repr(tuple(tensor.shape)).encode(), content(tensor)]
    return digest(parts)


def row_hashes(found: Sequence[Tensor]) -> list[str]:
    """Hash of each sample: the i-th row of every tensor that has as many rows as the batch has samples."""
    count = samples(found) or 0
    rows = [_canonical(tensor) for tensor in found if tensor.dim() > 0 and tensor.shape[0] == count]
    return [digest([_bytes(tensor[index].reshape(-1)) for tensor in rows]) for index in range(count)]


def content_hashes(found: Sequence[Tensor]) -> list[tuple[str, str]]:
    """Hashes of each sample: of its numbers and of its labels (floats and integers), which augmentation parts."""
    count = samples(found) or 0
    rows = [_canonical(tensor) for tensor in found if tensor.dim() > 0 and tensor.shape[0] == count]
    kinds = [
        [tensor for tensor in rows if tensor.is_floating_point() is floating] for floating in (True, False)
    ]
    return [
        (
            digest([_bytes(tensor[index].reshape(-1)) for tensor in kinds[0]]) if kinds[0] else "",
            digest([_bytes(tensor[index].reshape(-1)) for tensor in kinds[1]]) if kinds[1] else "",
        )
        for index in range(count)
    ]
