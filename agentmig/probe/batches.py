"""The batches that training consumes: recorded, replaced by recorded ones, hashed.

A DataLoader yields to training and to evaluation alike, so each pass over one is judged. While no backward pass has
told, a pass counts as training if gradients are on where it is read and the optimizers' modules are in training mode;
a backward pass after a yield makes the loader a training loader for good. What counts as consumed follows from backward
passes too: a batch that was only looked at is yielded again, and one that a background thread fetched ahead of the
program isn't consumed yet. `passes` tells which samples each pass took, `stream` finds the recorded ones.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from . import leaves, precision
from .passes import Indices, Passes, rows_of
from .plan import Plan
from .state import State
from .stream import Recorded
from .trace import Trace

Tensor = Any


@dataclass
class Batch:
    """One batch as the program's own loader made it."""

    samples: int | None
    hash: str | None
    rows: list[str] | None
    mismatch: dict[str, Any] | None = None
    tensors: list[Tensor] | None = None


@dataclass
class Source:
    """A DataLoader."""

    number: int
    """In the order of the first passes."""
    begun: int = 0
    """Passes, whatever they are for."""
    used: int = 0
    """Passes from which training took something."""
    judged: int = 0
    """Training batches so far."""
    learned: bool = False
    passes: list[list[list[Tensor]]] = field(default_factory=list)


@dataclass
class Pass:
    """One iteration over a DataLoader."""

    source: Source
    number: int
    """Among those from which training takes something."""
    loader: Any
    indices: Indices | None = None
    rows: int = 0
    """Samples yielded so far."""
    batches: list[Batch] = field(default_factory=list)
    waiting: deque[Batch] = field(default_factory=deque)
    training: bool = False
    exhausted: bool = False
    thread: int = 0
    used_at: int = 0
    backwards: int = 0
    ahead: bool = False

    def consumed(self) -> int:
        """How many of its batches the training has used."""
        if not self.backwards:
            return 0
        if self.ahead:
            return min(len(self.batches), self.backwards)
        return len(self.batches) if self.exhausted else self.used_at


class Feed:
    """Watches `torch.utils.data.DataLoader`.

    Args:
        plan: this run's orders.
        trace: for notes.
        rank: whose files to read and write.
        state: knows whether the model is in training mode.
        save: torch's own `torch.save`.
        loading: its `on` is True in the thread that fetches a batch, while it does.
    """

    def __init__(
        self,
        plan: Plan,
        trace: Trace,
        rank: Callable[[], int],
        state: State,
        save: Callable[..., Any],
        loading: threading.local,
    ) -> None:
        self._loading = loading
        self._plan = plan
        self._trace = trace
        self._rank = rank
        self._state = state
        self._save = save
        self._lock = threading.RLock()
        self._sources: weakref.WeakKeyDictionary[Any, Source] = weakref.WeakKeyDictionary()
        self._order: list[Source] = []
        self._passes: weakref.WeakKeyDictionary[Any, Pass] = weakref.WeakKeyDictionary()
        self._current: dict[int, Pass] = {}
        self._recent: list[Pass] = []
        self._active: list[Pass] = []
        self._looked: tuple[Pass, Batch] | None = None
        self._step: list[Batch] = []
        self._recorded = Recorded(trace, state, rank)
        self._passes_of = Passes(plan.short, plan.reference, lambda: state.shares)
        self._making = threading.local()

    def install(self) -> None:
        """Hook the loader and its iterators, so that the program keeps torch's own objects."""
        loader_class = torch.utils.data.DataLoader
        iterator_class = torch.utils.data.dataloader._BaseDataLoaderIter
        make, advance, next_index = (
            loader_class.__iter__,
            iterator_class.__next__,
            iterator_class._next_index,
        )

        def iterate(loader: Any) -> Any:
            with self._trace.guard("DataLoader"):
                self._making.source = self._source(loader)
            iterator = make(loader)  # a loader with workers asks for its first indices in here
            with self._trace.guard("DataLoader.__iter__"):
                self._begin(loader, iterator)
            return iterator

        def asking(iterator: Any) -> Any:
            if not isinstance(iterator._sampler_iter, Indices):
                with self._trace.guard("DataLoader's indices"):
                    self._watch(iterator)
            return next_index(iterator)

        def following(iterator: Any) -> Any:
            self._loading.on = True
            try:
                data = advance(iterator)
            except StopIteration:
                with self._trace.guard("DataLoader end"):
                    self._end(iterator)
                raise
            finally:
                self._loading.on = False
            with self._trace.guard("DataLoader.__next__"):
                data = self._yielded(iterator, data)
            return data

        loader_class.__iter__ = iterate
        iterator_class.__next__ = following
        if self._plan.values:
            iterator_class._next_index = asking

    def _source(self, loader: Any) -> Source:
        with self._lock:
            found: Source | None = self._sources.get(loader)
            if found is None:
                found = self._sources[loader] = Source(len(self._sources))
            return found

    def _watch(self, iterator: Any) -> None:
        """Put our indices in the place of the sampler's, unless it is a stream without any."""
        source: Source | None = getattr(self._making, "source", None)
        if source is not None and iterator._dataset_kind == 0:
            iterator._sampler_iter = self._passes_of.watch(
                source.number, source.begun, iterator._index_sampler, iterator._sampler_iter
            )

    def _begin(self, loader: Any, iterator: Any) -> None:
        with self._lock:
            source = self._source(loader)
            earlier = self._current.pop(id(source), None)
            if earlier is not None:
                self._finish(earlier)
            if self._plan.values and not isinstance(iterator._sampler_iter, Indices):
                self._watch(iterator)
            started = Pass(source, source.used, weakref.ref(loader))
            if isinstance(iterator._sampler_iter, Indices):
                started.indices = iterator._sampler_iter
            source.begun += 1
            self._passes[iterator] = started
            self._current[id(source)] = started

    def _finish(self, ended: Pass) -> None:
        """Settle what a pass consumed; only that is recorded."""
        count = ended.consumed()
        if count:
            ended.source.used += 1
            kept = [batch.tensors for batch in ended.batches[:count] if batch.tensors is not None]
            if kept:
                ended.source.passes.append(kept)
        if ended.indices is not None:
            self._trace.write(
                "pass",
                loader=ended.source.number,
                training=ended.training,
                **ended.indices.ledger.fields(),
            )
        self._recent = [other for other in self._recent if other is not ended]

    def _end(self, iterator: Any) -> None:
        with self._lock:
            ended = self._passes.get(iterator)
            if ended is not None:
                ended.exhausted = True

    def _looks_like_training(self, current: Pass) -> bool:
        loader = current.loader()
        stashed = True if loader is None else loader.__dict__.get("_agentmig_grad", True)
        if not (torch.is_grad_enabled() and stashed):
            return False
        return current.source.learned or bool(self._state.training())

    def _yielded(self, iterator: Any, data: Any) -> Any:
        with self._lock:
            current = self._passes.get(iterator)
            if current is None:
                return data
            current.training = current.training or self._looks_like_training(current)
            current.thread = threading.get_ident()
            found = leaves.tensors(data)
            batch = self._judged(current, found)
            current.batches.append(batch)
            if current.training:
                current.waiting.append(batch)
                if all(other is not current for other in self._recent):
                    self._recent.append(current)
                if self._plan.mode == "match":
                    data = self._replaced(current, data, found, batch)
            else:
                self._look(current, batch)
            current.rows += batch.samples or 0
        if self._plan.precision == "float64":
            data = leaves.rebuild(data, precision.widen)
        return data

    def _look(self, current: Pass, batch: Batch) -> None:
        """Remember the one batch that a backward pass may yet show to be training's."""
        if self._looked is not None and not self._looked[0].training:
            self._looked[1].tensors = None
        self._looked = (current, batch)

    def _judged(self, current: Pass, found: list[Tensor]) -> Batch:
        """What is to be known of a batch, before anything is changed in it."""
        batch = Batch(leaves.samples(found), None, None)
        index = current.source.judged
        current.source.judged += current.training
        wanted = current.training and index < self._plan.rows
        if current.indices is not None and current.indices.pending:
            indices = current.indices.pending.popleft()
            if self._plan.values and rows_of(indices) == batch.samples:
                current.indices.ledger.keep(indices, leaves.content_hashes(found))
        if wanted:
            batch.rows = leaves.row_hashes(found)
        if wanted or (self._plan.values and current.training):
            batch.hash = leaves.batch_hash(found)
        if self._plan.mode == "record" and self._plan.values:
            size = sum(tensor.numel() * tensor.element_size() for tensor in found)
            # A batch of an evaluation is dropped at the next one: it takes nothing of the cap.
            if not current.training or self._state.afford(size, f"batch {index}"):
                batch.tensors = [tensor.detach().to("cpu", copy=True) for tensor in found]
        return batch

    def _replaced(self, current: Pass, data: Any, found: list[Tensor], batch: Batch) -> Any:
        wanted = self._recorded.take(
            current.source.number, current.number, current.rows, batch.samples or 1, len(found)
        )
        if wanted is None:
            return data
        own, reference = leaves.shapes(found), leaves.shapes(wanted)
        if own != reference:
            batch.mismatch = {"own": own, "reference": reference}
        replacements = iter(wanted)
        return leaves.rebuild(data, lambda tensor: as_the_programs(next(replacements), tensor))

    def saw_backward(self) -> None:
        """A backward pass begins: the batches yielded for it are training's."""
        with self._lock:
            if self._recent:
                going_on = [
                    current for current in self._recent if not current.exhausted or self._is_ahead(current)
                ]
                self._active = going_on or self._recent
                self._recent = []
            elif not self._active and self._looked is not None:
                self._learn(*self._looked)
            for current in self._active:
                current.ahead = current.ahead or self._is_ahead(current)
                current.source.learned = True
                current.backwards += 1
                current.used_at = len(current.batches)
                if all(source is not current.source for source in self._order):
                    self._order.append(current.source)
                if current.ahead:
                    if current.waiting:
                        self._step.append(current.waiting.popleft())
                else:
                    self._step += current.waiting
                    current.waiting.clear()

    def _is_ahead(self, current: Pass) -> bool:
        return current.thread != threading.get_ident()

    def _learn(self, current: Pass, batch: Batch) -> None:
        """A loader that looked like evaluation (a model trained in evaluation mode) feeds training after all."""
        current.training = True
        current.waiting.append(batch)
        self._active = [current]
        self._looked = None
        self._trace.note(
            "late_loader",
            "the first batch was taken for evaluation: the model trains in evaluation mode, or no "
            "optimizer was known yet; it could be neither hashed nor replaced",
        )

    def take_step(self, backwards: int) -> dict[str, Any]:
        """Fields of the step that ends now: `samples`, `batch`, `batch_shape`, `rows`.

        Args:
            backwards: backward passes since the last step; without one there is nothing to miss.
        """
        with self._lock:
            fed, self._step = self._step, []
            if backwards and not fed and not self._active:
                self._trace.note(
                    "no_loader", "no torch DataLoader fed this step: batches can be neither seen nor matched"
                )
            hashes = [batch.hash for batch in fed if batch.hash is not None]
            rows = [row for batch in fed for row in batch.rows or []]
            counts = [batch.samples for batch in fed if batch.samples is not None]
            complete = bool(fed) and len(hashes) == len(fed)
            combined = hashes[0] if len(hashes) == 1 else leaves.digest([item.encode() for item in hashes])
            return {
                "samples": sum(counts) if counts else None,
                "batch": combined if complete else None,
                "batch_shape": next((batch.mismatch for batch in fed if batch.mismatch), None),
                "rows": rows or None,
            }

    def write(self) -> None:
        """Tell of the passes that go on, and record what training consumed."""
        if not self._plan.values:
            return
        with self._lock:
            for current in list(self._current.values()):
                self._finish(current)
            self._current = {}
            if self._plan.mode != "record":
                return
            loaders = [source.passes for source in self._order if source.passes]
            if loaders:
                self._save({"loaders": loaders}, self._plan.out / f"batches-{self._rank()}.pt")
            if self._rank() == 0:
                self._passes_of.write(self._plan.out)


def as_the_programs(recorded: Tensor, own: Tensor) -> Tensor:
    """A recorded tensor in the place of the program's own: its device, its pinned memory, its width of numbers."""
    same_kind = (
        recorded.is_floating_point() == own.is_floating_point() and recorded.is_complex() == own.is_complex()
    )
    value = recorded.to(own.dtype) if same_kind and own.dtype != torch.bool else recorded.clone()
    if own.device.type != "cpu":
        return value.to(own.device)
    return value.pin_memory() if own.is_pinned() else value.clone()
