"""The recorded batches of a loader as one stream of samples, so that other batch sizes and other ranks find theirs in it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import leaves
from .state import State
from .trace import Trace

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


class Recorded:
    """All recorded loaders, each given to the program's loader that is like it.

    Args:
        trace: for notes.
        state: finds the record.
        rank: which share of the samples is this run's, where the record has one rank and this run several.
    """

    def __init__(self, trace: Trace, state: State, rank: Callable[[], int]) -> None:
        self._trace = trace
        self._state = state
        self._rank = rank
        self._streams: list[Stream] | None = None
        self._given: dict[int, int] = {}

    def take(self, loader: int, number: int, offset: int, rows: int, width: int) -> Batch | None:
        """The recorded samples in the place of a batch; None where there are none, which is noted.

        Args:
            loader: number of the program's loader.
            number: of its pass.
            offset: samples that were taken before in this pass.
            rows: samples in the batch.
            width: tensors in the batch.
        """
        streams = self._read()
        if not streams:
            return None
        if loader not in self._given:
            taken = set(self._given.values())
            alike = [n for n, stream in enumerate(streams) if n not in taken and stream.width == width]
            if not alike:
                message = f"no recorded loader yields {width} tensors a batch, as this program's does"
                self._trace.note("batch_structure", message)
                return None
            self._given[loader] = alike[0]
        try:
            return streams[self._given[loader]].take(number, offset, rows)
        except Exhausted as end:
            self._trace.note("batches_exhausted", f"{end}; the program's further batches are its own")
            return None

    def _read(self) -> list[Stream]:
        if self._streams is None:
            found = self._state.read_of_rank("batches")
            if found is None:
                message = "the reference holds no batches: those of the program itself are used"
                self._trace.note("batches_missing", message)
            shares = self._state.shares
            share = self._rank() if shares > 1 else 0
            self._streams = [
                Stream(passes, shares, share) for passes in (found or {"loaders": []})["loaders"]
            ]
        return self._streams


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
