"""Sees what happens between two optimizer steps: backward passes, clipping, reductions, in their order."""

import functools
import math
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .stress import Stress
from .trace import Trace

Tensor = Any

_SCALAR_ELEMENTS = 8
"""A reduction of so few elements is a metric or a flag, not gradients."""

_SYNC_BATCHNORM = "torch.nn.modules._functions"


@dataclass
class Clip:
    """One call that clips gradients by their norm.

    Attributes:
        max_norm: as the program gave it.
        norm_before: the tensor that the call returned.
        forced: the threshold that took the place of `max_norm` in a provoked run.
    """

    max_norm: Any
    norm_type: float
    norm_before: Tensor
    forced: float | None = None


@dataclass
class Interval:
    """What was seen since the last optimizer step."""

    order: list[str] = field(default_factory=list)
    losses: list[tuple[Tensor | None, Tensor | None]] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)

    def add(self, what: str) -> None:
        """Add an event; a run of the same event is one."""
        if not self.order or self.order[-1] != what:
            self.order.append(what)


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by `make(original)`, unless `make` did so before; nothing where the name isn't there."""
    original = getattr(owner, name, None)
    if original is None or getattr(original, "_agentmig", None) == make:
        return
    replacement = functools.wraps(original)(make(original))
    replacement._agentmig = make  # type: ignore[attr-defined]
    setattr(owner, name, replacement)


class Observer:
    """Collects an `Interval`.

    Args:
        trace: for errors of our own.
        values: whether losses and norms may be kept (as tensors, not read here).
        stress: the thresholds of a provoked run.
        before_backward: called at the beginning of each outermost backward pass.
    """

    def __init__(
        self, trace: Trace, values: bool, stress: Stress, before_backward: Callable[[], None]
    ) -> None:
        self.interval = Interval()
        self._stress = stress
        self._trace = trace
        self._values = values
        self._before_backward = before_backward
        self._depth = 0
        self._depth_lock = threading.Lock()
        self._scale: Tensor | None = None
        self._ddp: weakref.WeakSet[Any] = weakref.WeakSet()

    def take(self) -> Interval:
        """The interval that ends now."""
        taken, self.interval = self.interval, Interval()
        return taken

    def install(self) -> None:
        """Hook torch."""
        wrap(torch.autograd, "backward", self._backward)
        wrap(torch.amp.GradScaler, "scale", self._scaling)
        self.hook_clipping()
        if torch.distributed.is_available():
            from torch.distributed import distributed_c10d
            from torch.nn.parallel import DistributedDataParallel

            for owner in (torch.distributed, distributed_c10d):
                for name in ("all_reduce", "all_reduce_coalesced", "reduce_scatter_tensor", "reduce"):
                    wrap(owner, name, self._reducing)
            wrap(DistributedDataParallel, "forward", self._ddp_forward)

    def hook_clipping(self) -> None:
        """Hook `torch.nn.utils`; again after torch_xla, which puts its own function there."""
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            wrap(owner, "clip_grad_norm_", self._clipping)
            wrap(owner, "clip_grads_with_norm_", self._clipping_with_norm)
            wrap(owner, "clip_grad_value_", self._clipping_values)

    def hook_xla(self, xla_model: Any) -> None:
        """Hook `torch_xla.core.xla_model`."""
        self.hook_clipping()
        wrap(xla_model, "all_reduce", self._reducing_xla)
        wrap(xla_model, "reduce_scatter", self._reducing_xla)
        wrap(xla_model, "reduce_gradients", self._reducing_gradients)

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
            with self._depth_lock:  # a checkpoint's backward runs inside, in a thread of the autograd engine
                self._depth += 1
                outermost = self._depth == 1
            try:
                if outermost:
                    with self._trace.guard("before backward"):
                        self._saw_backward(tensors, grad_tensors)
                result = original(tensors, grad_tensors, *args, **kwargs)
                if outermost:
                    with self._trace.guard("after backward"):
                        self._saw_ddp()
            finally:
                with self._depth_lock:
                    self._depth -= 1
            return result

        return backward

    def _saw_backward(self, tensors: Any, grad_tensors: Any) -> None:
        self._before_backward()
        self.interval.add("backward")
        scale, self._scale = self._scale, None
        losses = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        if not self._values or any(loss.numel() != 1 for loss in losses):
            self.interval.losses.append((None, None))
            return
        for loss in losses:
            self.interval.losses.append((loss.detach().clone(), scale))

    def _saw_ddp(self) -> None:
        for module in list(self._ddp):
            self.interval.add("all_reduce")
            self._ddp.discard(module)

    def _ddp_forward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            # no_sync() counts where the forward pass runs: that is when DDP prepares its reducer.
            if torch.is_grad_enabled() and module.require_backward_grad_sync:
                self._ddp.add(module)
            return original(module, *args, **kwargs)

        return forward

    def _scaling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            scaled = original(scaler, outputs)
            if scaler.is_enabled():
                self._scale = scaler._scale
            return scaled

        return scale

    def _reducing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reducing(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__") != _SYNC_BATCHNORM:
                with self._trace.guard("reduction"):
                    self._saw_reduction(args[0] if args and isinstance(args[0], torch.Tensor) else tensor)
            return original(tensor, *args, **kwargs)

        return reducing

    def _reducing_xla(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reducing(reduce_type: str, *args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else kwargs.get("inputs", kwargs.get("input"))
            if isinstance(given, (list, tuple, torch.Tensor)):
                with self._trace.guard("reduction"):
                    self._saw_reduction(given)
            return original(reduce_type, *args, **kwargs)

        return reducing

    def _reducing_gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reduce_gradients(*args: Any, **kwargs: Any) -> Any:
            self.interval.add("all_reduce")  # also in a world of one, where nothing is left to do
            return original(*args, **kwargs)

        return reduce_gradients

    def _saw_reduction(self, given: Any) -> None:
        tensors = [given] if isinstance(given, torch.Tensor) else list(given)
        small = sum(tensor.numel() for tensor in tensors) <= _SCALAR_ELEMENTS
        self.interval.add("reduce_scalar" if small else "all_reduce")

    def _clipping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_norm_(
            parameters: Any, max_norm: Any, norm_type: Any = 2.0, *args: Any, **kwargs: Any
        ) -> Any:
            limit = None
            if self._stress.on:
                parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
                limit = self._limit("norm", max_norm, lambda: original(parameters, math.inf, norm_type))
            norm = original(parameters, max_norm if limit is None else limit, norm_type, *args, **kwargs)
            with self._trace.guard("clip"):
                self._saw_clip(max_norm, norm_type, norm, limit)
            return norm

        return clip_grad_norm_

    def _clipping_with_norm(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grads_with_norm_(
            parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any
        ) -> Any:
            limit = self._limit("norm", max_norm, lambda: total_norm)
            with self._trace.guard("clip"):
                self._saw_clip(max_norm, 2.0, total_norm, limit)
            return original(parameters, max_norm if limit is None else limit, total_norm, *args, **kwargs)

        return clip_grads_with_norm_

    def _clipping_values(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_value_(parameters: Any, clip_value: Any, *args: Any, **kwargs: Any) -> Any:
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
            grads = [p.grad for p in parameters if p.grad is not None]
            limit = (
                self._limit("value", clip_value, lambda: max(grad.abs().max() for grad in grads))
                if grads
                else None
            )
            self.interval.add("clip_value")
            return original(parameters, clip_value if limit is None else limit, *args, **kwargs)

        return clip_grad_value_

    def _limit(self, kind: str, given: Any, measure: Callable[[], Any]) -> float | None:
        """The threshold of a provoked run for this call; calls of a step are told apart by their number."""
        limit = None
        if self._stress.on:
            with self._trace.guard("stress"):
                number = (
                    len(self.interval.clips) if kind == "norm" else self.interval.order.count("clip_value")
                )
                limit = self._stress.limit(f"{kind}-{number}", float(given), measure)
        return limit

    def _saw_clip(self, max_norm: Any, norm_type: Any, norm: Tensor, forced: float | None) -> None:
        self.interval.add("clip")
        kept = norm.detach().clone() if self._values and isinstance(norm, torch.Tensor) else None
        self.interval.clips.append(Clip(max_norm, float(norm_type), kept, forced))
