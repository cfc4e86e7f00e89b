"""The end of a process: after the wished number of steps, or where the program ends by itself."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .backends import Backend
from .plan import Plan
from .steps import Steps
from .trace import Trace

_WAIT_S = 60.0
_LOOK_S = 0.05


class Finish:
    """Writes the `end` line once, and what was recorded.

    Args:
        plan: this run's orders.
        trace: where the line goes.
        backend: the readings of the backend in use.
        steps: how far training came; set before the process can end.
        write: stores what was recorded.
    """

    def __init__(
        self, plan: Plan, trace: Trace, backend: Callable[[], Backend], write: Callable[[], None]
    ) -> None:
        self.steps: Steps | None = None
        self._plan = plan
        self._trace = trace
        self._backend = backend
        self._record = write
        self._begin = time.perf_counter()
        self._done = False

    def at_exit(self) -> None:
        """The program ends by itself (also by `sys.exit` or an exception)."""
        self._close("program")

    def stop(self) -> None:
        """The wished number of steps is done: wait for the other ranks, so that none waits for this one, and leave."""
        self._close("stopped")
        out, who = self._trace.out, self._trace.who
        (out / f"done-{who.rank}").touch()
        limit = time.monotonic() + _WAIT_S
        while time.monotonic() < limit:
            if all((out / f"done-{rank}").exists() for rank in range(who.world_size)):
                break
            time.sleep(_LOOK_S)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _close(self, how: str) -> None:
        if self._done or not self._trace.is_ours():
            return
        self._done = True
        assert self.steps is not None
        with self._trace.guard("record"):
            if self.steps.count:
                self._record()
        with self._trace.guard("end"):
            counters = self._backend().counters()
            for sentence in self._backend().unseen():
                self._trace.note("unseen", sentence)
            self._trace.write(
                "end",
                steps=self.steps.count,
                how=how,
                wall_s=time.perf_counter() - self._begin,
                counters=counters.plain() if counters else None,
                fallback_ops=self._backend().fallback_ops(),
                hardware=self._hardware(self.steps.last_optimizer),
                backend=self._backend().evidence(),
            )

    def _hardware(self, optimizer: Any) -> dict[str, Any]:
        """What the last optimizer's tensors are and where they lie."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
        grads = [p.grad for p in parameters if p.grad is not None]
        states = [
            value
            for entry in (optimizer.state.values() if optimizer else ())
            for value in (entry.values() if isinstance(entry, dict) else ())
            if hasattr(value, "is_floating_point") and value.is_floating_point() and value.dim() > 0
        ]
        device = str(parameters[0].device) if parameters else "cpu"
        return {
            "device": device,
            "device_kind": self._backend().kind(device),
            "runtime_devices": self._backend().runtime_devices(),
            "world_size": self._trace.who.world_size,
            "emulated": self._plan.bridge,
            "spmd": self._backend().spmd(),
            "grad_dtype": _width(grads),
            "parameter_dtype": _width(parameters),
            "state_dtype": _width(states),
        }


def _width(tensors: list[Any]) -> str | None:
    """The floats' dtypes, joined where there are several."""
    names = sorted({str(t.dtype).removeprefix("torch.") for t in tensors if t.is_floating_point()})
    return "+".join(names) or None
