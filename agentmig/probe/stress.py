"""Provokes what may not show by itself in a few steps: clipping that doesn't bind, a learning rate still near zero.

Both sides are provoked alike: the record measures, and a match takes the record's thresholds.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from .plan import Plan
from .trace import Trace

Optimizer = Any

_SHARE = 0.5
RATE_STEP = 2
"""The step that is made at a larger learning rate: late enough for momentum, early enough for what follows from it."""
_RATE_FACTOR = 10.0
_RATE_FROM_ZERO = 1e-3


class Stress:
    """The thresholds and learning rates of a provoked run.

    Args:
        plan: says whether to provoke at all.
        trace: for notes.
        read: finds a JSON document of the reference; None where there is none.
    """

    def __init__(self, plan: Plan, trace: Trace, read: Callable[[str], dict[str, Any] | None]) -> None:
        self.on = plan.stress
        self._plan = plan
        self._trace = trace
        self._read = read
        self._limits: dict[str, float] | None = None

    def limit(self, call: str, given: float, measure: Callable[[], Any]) -> float | None:
        """The threshold to clip to instead of the program's; None: the program's own.

        Args:
            call: names the call among those of a step.
            given: the program's threshold; the record keeps it where it is the smaller one.
            measure: gives the size of the gradient that the call found, at the record's first step.
        """
        if not self.on:
            return None
        if self._limits is None:
            self._limits = (self._read("stress") or {}) if self._plan.mode == "match" else {}
        if self._plan.mode == "record" and call not in self._limits:
            found = float(measure())
            if found > 0 and math.isfinite(found):
                self._limits[call] = min(given, _SHARE * found)
                path = self._plan.out / f"stress-{self._trace.who.rank}.json"
                path.write_text(json.dumps(self._limits), encoding="utf-8")
        return self._limits.get(call)

    def raise_rates(self, optimizer: Optimizer, step: int) -> list[Any]:
        """Make one step a large one.

        Args:
            optimizer: about to step.
            step: its number, from 0.

        Returns:
            The groups' own rates, for `restore_rates`; empty where nothing was changed.
        """
        if not self.on or step != RATE_STEP:
            return []
        own = [group.get("lr") for group in optimizer.param_groups]
        for group, rate in zip(optimizer.param_groups, own, strict=True):
            if isinstance(rate, float):
                group["lr"] = rate * _RATE_FACTOR or _RATE_FROM_ZERO
        return own

    @staticmethod
    def restore_rates(optimizer: Optimizer, own: list[Any]) -> None:
        """Undo `raise_rates`."""
        for group, rate in zip(optimizer.param_groups, own, strict=False):
            if isinstance(rate, float):
                group["lr"] = rate
