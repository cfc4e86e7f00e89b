"""The recorded batches of a loader as one stream of samples, so that other batch sizes and other ranks find theirs in it."""

from collections.abc import Sequence
from typing import Any

import torch

from . import leaves

Tensor = Any
Batch = list[Tensor]


class Exhausted(Exception):  # noqa: N818  control flow: the record holds no more
    """The record ends before this place."""


class Stream:
    """One recorded loader.

    Args:
        passes: the batches of each pass, as far as training used them.
        shares: replicas over which the record's samples are spread in this run; 1 where both have the same ranks.
        share: which of them this rank takes.
    """

    def __init__(self, passes: list[list[Batch]], shares: int, share: int) -> None:
        self._passes = passes
        self._shares = shares
        self._share = share

    @property
    def width(self) -> int:
        """Tensors in a batch."""
        return len(self._passes[0][0]) if self._passes and self._passes[0] else 0

    def take(self, number: int, offset: int, rows: int) -> Batch:
        """The recorded samples that stand where a batch of this run stands.

        Args:
            number: of the pass.
            offset: samples that this rank took before in this pass.
            rows: samples in the batch. The record may hold fewer from there on: then so many are given.

        Raises:
            Exhausted: the record holds nothing there.
        """
        if number >= len(self._passes):
            raise Exhausted(f"{len(self._passes)} passes were recorded")
        begin = offset * self._shares + self._share * rows
        position = 0
        found: list[Batch] = []
        for batch in self._passes[number]:
            size = leaves.samples(batch) or 1
            low, high = max(begin - position, 0), min(begin + rows - position, size)
            if low < high:
                found.append(
                    batch if (low, high) == (0, size) else [_part(t, low, high, size) for t in batch]
                )
            position += size
        if not found:
            raise Exhausted(f"pass {number} was recorded up to sample {position}")
        return found[0] if len(found) == 1 else _joined(found)


def _part(tensor: Tensor, low: int, high: int, size: int) -> Tensor:
    """The rows of a tensor that has one for each sample; any other tensor whole."""
    return tensor[low:high] if tensor.dim() > 0 and tensor.shape[0] == size else tensor


def _joined(parts: Sequence[Batch]) -> Batch:
    sizes = [leaves.samples(part) for part in parts]
    joined = []
    for tensors in zip(*parts, strict=True):
        rowwise = all(t.dim() > 0 and t.shape[0] == size for t, size in zip(tensors, sizes, strict=True))
        joined.append(torch.cat(list(tensors)) if rowwise else tensors[0])
    return joined
