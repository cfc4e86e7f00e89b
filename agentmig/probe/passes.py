"""Which samples each pass over a DataLoader takes, and shorter passes where the plan wishes them.

The indices are seen where the loader asks its sampler, so that samples which are never loaded are known too. A shortened
pass takes the first batches and the last ones: a few steps then cross the end of an epoch, with its smaller batch, its
evaluation, its schedule and its checkpoint. The sampler itself runs to its end, so its generator stands where it would.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_MOST_BATCHES = 100_000
"""A sampler that announces more (or doesn't say) is taken for endless, and is neither shortened nor run to its end."""
_CONTENT = 256
"""Samples of one pass whose content is told."""


def rows_of(batch: Any) -> int:
    """Samples in what a sampler yields: a list of indices, or one index."""
    return len(batch) if isinstance(batch, (list, tuple)) else 1


def mixed(index: Any) -> int:
    """64 bits from an index; they are added up, so that a sum names a multiset whatever its order and its ranks."""
    value = hash(index) & _MASK
    value = (value + _MIX) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


@dataclass
class Ledger:
    """What one pass took from its sampler.

    Attributes:
        total: sum of `mixed` over the indices, which names the multiset.
        order: hash that depends on the order.
        complete: the sampler came to its end.
        head: samples in the batches taken from the beginning, in a shortened pass.
        tail: samples in the batches taken from the end.
        content: hashes of samples (numbers and labels apart) by index, the first ones.
    """

    number: int
    batches: int = 0
    samples: int = 0
    total: int = 0
    order: int = 0
    complete: bool = False
    shortened: bool = False
    head: int = 0
    tail: int = 0
    content: dict[int, tuple[str, str]] = field(default_factory=dict)

    def saw(self, batch: Any) -> None:
        """Take in what the sampler yielded."""
        self.batches += 1
        for index in batch if isinstance(batch, (list, tuple)) else [batch]:
            value = mixed(index)
            self.samples += 1
            self.total = (self.total + value) & _MASK
            self.order = (self.order * 1099511628211 + value) & _MASK

    def keep(self, indices: Any, hashes: list[tuple[str, str]]) -> None:
        """Remember the content of samples."""
        for index, pair in zip(indices, hashes, strict=False):
            if type(index) is int and len(self.content) < _CONTENT:
                self.content[index] = pair

    def fields(self) -> dict[str, Any]:
        """For a `pass` line."""
        return {
            "number": self.number,
            "batches": self.batches,
            "samples": self.samples,
            "indices": f"{self.total:016x}",
            "order": f"{self.order:016x}",
            "complete": self.complete,
            "shortened": self.shortened,
            "content": {str(index): list(pair) for index, pair in self.content.items()},
        }


@dataclass(frozen=True)
class Cut:
    """How much of a pass is taken: from its beginning and from its end, in batches or in samples."""

    head: int
    tail: int
    in_samples: bool = False

    def size(self, batch: Any) -> int:
        """What a batch counts."""
        return rows_of(batch) if self.in_samples else 1


class Indices:
    """Stands for a sampler's iterator: tells the ledger all, and hands on what the cut leaves.

    Args:
        source: the sampler's own iterator.
        ledger: of this pass.
        cut: None: everything is handed on.
    """

    def __init__(self, source: Iterator[Any], ledger: Ledger, cut: Cut | None) -> None:
        self.ledger = ledger
        self.pending: deque[Any] = deque()
        self._iterator = self._all(source) if cut is None else self._shortened(source, cut)

    def __iter__(self) -> "Indices":
        return self

    def __next__(self) -> Any:
        batch = next(self._iterator)
        self.pending.append(batch)
        return batch

    def _all(self, source: Iterator[Any]) -> Iterator[Any]:
        for batch in source:
            self.ledger.saw(batch)
            yield batch
        self.ledger.complete = True

    def _shortened(self, source: Iterator[Any], cut: Cut) -> Iterator[Any]:
        ledger = self.ledger
        taken, kept, waiting = 0, 0, deque[Any]()
        for batch in source:
            ledger.saw(batch)
            size = cut.size(batch)
            if taken < cut.head:
                taken += size
                ledger.head += rows_of(batch)
                yield batch
                continue
            waiting.append(batch)
            kept += size
            while kept - cut.size(waiting[0]) >= cut.tail:
                kept -= cut.size(waiting.popleft())
                ledger.shortened = True
        ledger.complete = True
        ledger.tail = sum(map(rows_of, waiting))
        yield from waiting


class Passes:
    """Gives every pass its ledger and its cut.

    Args:
        short: batches from the beginning and from the end of a pass; None: all of it.
        reference: folder of the record whose cuts are followed sample by sample, so that other batch sizes are cut at the
            same samples.
        shares: over how many replicas the record's samples are spread here (1 where it has as many ranks as this run).
    """

    def __init__(
        self, short: tuple[int, int] | None, reference: Path | None, shares: Callable[[], int]
    ) -> None:
        self._short = short
        self._shares = shares
        self._recorded: list[dict[str, int] | None] = []
        file = reference / "passes.json" if reference else None
        if file is not None and file.exists():
            self._recorded = json.loads(file.read_text(encoding="utf-8"))
        self._first: dict[int, Ledger] = {}

    def watch(self, loader_number: int, pass_number: int, sampler: Any, source: Iterator[Any]) -> Indices:
        """The stand-in for a sampler's iterator.

        Args:
            loader_number: which of the program's loaders, in the order of their first passes.
            pass_number: which pass over it.
            sampler: what the iterator comes from; its length tells an endless one.
            source: the sampler's iterator.
        """
        ledger = Ledger(pass_number)
        self._first.setdefault(loader_number, ledger)
        return Indices(source, ledger, self._cut(loader_number, sampler))

    def _cut(self, loader_number: int, sampler: Any) -> Cut | None:
        if self._short is None:
            return None
        try:
            endless = len(sampler) > _MOST_BATCHES
        except TypeError:
            endless = True
        if endless:
            return None
        cut = self._recorded[loader_number] if loader_number < len(self._recorded) else None
        if cut is not None:
            shares = self._shares()
            return Cut(cut["head"] // shares, cut["tail"] // shares, in_samples=True)
        return Cut(*self._short)

    def write(self, out: Path) -> None:
        """Leave the cuts of this run's loaders beside its record."""
        cuts = [
            {"head": ledger.head, "tail": ledger.tail} if ledger.head else None
            for _, ledger in sorted(self._first.items())
        ]
        (out / "passes.json").write_text(json.dumps(cuts), encoding="utf-8")
