"""One fingerprint for each optimizer step, taken by torch's own hooks around `Optimizer.step`."""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import batches, observe
from .backends import Backend
from .fingerprint import OpenStep, Values, clip_fields, describe, scalar
from .modes import Modes
from .plan import Plan
from .state import State
from .stress import Stress
from .trace import Trace

Optimizer = Any

_VALUES = ("loss", "grad_norm", "update_norm", "param_norm")
_ERRORS = ("grad_error", "grad_worst", "update_error", "param_error")


def _on_stack(wanted: FrameType) -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame is wanted:
            return True
        frame = frame.f_back
    return False


class Steps:
    """The hooks around `Optimizer.step`.

    Args:
        plan: this run's orders.
        trace: where fingerprints go.
        observer: what happened since the last step.
        state: the model by name.
        feed: the batches that fed the step.
        backend: the readings of the backend in use.
        modes: in which way the model was run.
        stress: makes one step a large one.
        training: told at each step that the process trains.
        stop: called when the wished number of steps is done.
    """

    def __init__(
        self,
        plan: Plan,
        trace: Trace,
        observer: observe.Observer,
        state: State,
        feed: batches.Feed,
        backend: Callable[[], Backend],
        modes: Modes,
        stress: Stress,
        training: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        self.count = 0
        self.last_optimizer: Optimizer | None = None
        self._plan = plan
        self._trace = trace
        self._observer = observer
        self._state = state
        self._feed = feed
        self._backend = backend
        self._values = Values(plan, trace, state, backend, modes)
        self._stress = stress
        self._training = training
        self._stop = stop
        self._open: OpenStep | None = None
        self._known: list[Optimizer] = []

    def install(self) -> None:
        """Register the hooks; torch calls them around the step of every optimizer, whatever its class."""
        register_optimizer_step_pre_hook(self._before)
        register_optimizer_step_post_hook(self._after)

    def _before(self, optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
        if self._open is not None and self._open.frame is not None and _on_stack(self._open.frame):
            return None  # a step inside of a step: a wrapping optimizer, or `super().step()`
        self._open = None
        with self._trace.guard("before step"):
            self._training()
            rates = [scalar(group.get("lr")) for group in optimizer.param_groups]
            # Frame 1 is torch's wrapper around this one call of `step`; the hook after it has the same.
            self._open = step = OpenStep(optimizer, sys._getframe(1), rates)
            if self._plan.values:
                closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
                step.keep_before()
                step.own_rates = self._stress.raise_rates(optimizer, self.count)
                if callable(closure):
                    return self._with_closure(step, closure, args, kwargs)
                step.keep_grads()
                if self._plan.replay:
                    self._values.replay(self.count, step)
        return None

    def _with_closure(self, step: OpenStep, closure: Callable[[], Any], args: Any, kwargs: Any) -> Any:
        """The optimizer computes the gradients inside its step: look after each time it does."""
        seen = False

        def watched() -> Any:
            nonlocal seen
            result = closure()
            with self._trace.guard("closure"):
                if not seen:
                    step.keep_before()  # the first forward pass, which may load the reference's state, was in there
                    seen = True
                step.keep_grads()
            return result

        if "closure" in kwargs:
            return args, {**kwargs, "closure": watched}
        return (args[0], watched, *args[2:]), kwargs

    def _after(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        step = self._open
        if step is None or step.frame is not sys._getframe(1):
            return
        self._open = None
        step.frame = None
        self._stress.restore_rates(optimizer, step.own_rates)
        with self._trace.guard("after step"):
            self.last_optimizer = optimizer
            self._write(step)
            if self._plan.mode == "match" and self._plan.teacher_forced:
                self._state.hold(self.count)
        self.count += 1
        if self._plan.steps is not None and self.count >= self._plan.steps:
            self._stop()

    def _index(self, optimizer: Optimizer) -> int:
        for index, known in enumerate(self._known):
            if known is optimizer:
                return index
        self._known.append(optimizer)
        index = len(self._known) - 1
        self._trace.write("optimizer", index=index, **describe(optimizer, self._state.parameters()))
        return index

    def _write(self, step: OpenStep) -> None:
        interval = self._observer.take()
        fed = self._feed.take_step(len(interval.losses))
        index = self._index(step.optimizer)
        values = self._values.read(self.count, step, interval) if self._plan.values else {}
        counters = self._backend().counters()
        fields = {
            "step": self.count,
            "optimizer": index,
            "time": time.perf_counter(),
            "backwards": len(interval.losses),
            "loss_scale": 1.0,
            "clips": [clip_fields(clip, None) for clip in interval.clips],
            "order": interval.order,
            "lr": step.learning_rates,
            **dict.fromkeys(_VALUES + _ERRORS),
            "training": self._state.training(),
            **fed,
            "counters": counters.plain() if counters else None,
        }
        self._trace.write("step", **{**fields, **values})
