"""How far two matched runs are apart, quantity by quantity, and where they first part."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentmig.verification.records import Step
from agentmig.verification.traces import World

_TINY = 1e-300


@dataclass(frozen=True)
class Deviation:
    """One quantity of one step on one rank, in both runs.

    Attributes:
        reference: its value there; None for an error, which the probe measured inside the candidate.
        error: relative difference, or the probe's error in units of the reference's global norm.
    """

    quantity: str
    step: int
    rank: int
    reference: float | None
    candidate: float | None
    error: float

    @property
    def words(self) -> str:
        """For people, with the numbers."""
        place = f"{self.quantity.replace('_', ' ')} at step {self.step} on rank {self.rank}"
        if self.reference is None:
            return f"{place}: {self.error:.3g} of the reference's global norm"
        return f"{place}: {self.candidate:.6g} instead of {self.reference:.6g} (relative {self.error:.3g})"

    def evidence(self) -> dict[str, Any]:
        """As JSON."""
        fields = ("quantity", "step", "rank", "reference", "candidate", "error")
        return {name: json_number(getattr(self, name)) for name in fields}


def json_number(value: Any) -> Any:
    """The value with NaN and infinities as strings, as strict JSON needs them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def relative(value: float, reference: float) -> float:
    """|value - reference| in units of the reference; infinite where only one is a finite number."""
    if value == reference or (math.isnan(value) and math.isnan(reference)):
        return 0.0
    if not (math.isfinite(value) and math.isfinite(reference)):
        return math.inf
    return abs(value - reference) / max(abs(reference), _TINY)


def _first_clip_norm(step: Step) -> float | None:
    return step.clips[0].norm_before if step.clips else None


# In the order in which a step computes them, so that the first one that leaves its tolerance is nearest to the cause.
SCALARS: dict[str, Callable[[Step], float | None]] = {
    "loss": lambda step: step.loss,
    "norm_before_clip": _first_clip_norm,
    "grad_norm": lambda step: step.grad_norm,
    "learning_rate": lambda step: step.lr[0] if step.lr else None,
    "update_norm": lambda step: step.update_norm,
    "param_norm": lambda step: step.param_norm,
}
ERRORS: dict[str, Callable[[Step], float | None]] = {
    "grad_error": lambda step: step.grad_error,
    "update_error": lambda step: step.update_error,
    "param_error": lambda step: step.param_error,
}
_ORDER = [
    "loss",
    "norm_before_clip",
    "grad_norm",
    "grad_error",
    "learning_rate",
    "update_norm",
    "update_error",
    "param_norm",
    "param_error",
]


def of_step(reference: Step, candidate: Step, rank: int, number: int) -> list[Deviation]:
    """All quantities that both runs have at this step, in the order in which a step computes them."""
    found = []
    for quantity in _ORDER:
        if quantity in ERRORS:
            error = ERRORS[quantity](candidate)
            if error is not None:
                bad = math.inf if math.isnan(error) else error
                found.append(Deviation(quantity, number, rank, None, error, bad))
            continue
        theirs, ours = SCALARS[quantity](reference), SCALARS[quantity](candidate)
        if theirs is not None and ours is not None:
            found.append(Deviation(quantity, number, rank, theirs, ours, relative(ours, theirs)))
    return found


def common_ranks(reference: World, candidate: World) -> list[int]:
    """Ranks that both runs have."""
    return sorted(set(reference.ranks) & set(candidate.ranks))


def common_steps(reference: World, candidate: World) -> int:
    """Steps that every rank of both runs made."""
    return min(reference.count, candidate.count)


def deviations(reference: World, candidate: World) -> list[Deviation]:
    """All deviations over the common steps and ranks, step by step."""
    ranks = common_ranks(reference, candidate)
    return [
        deviation
        for number in range(common_steps(reference, candidate))
        for rank in ranks
        for deviation in of_step(
            reference.ranks[rank].steps[number], candidate.ranks[rank].steps[number], rank, number
        )
    ]


def first_over(found: list[Deviation], scalar: float, tensor: float) -> Deviation | None:
    """The first deviation beyond its tolerance: of the earliest step, nearest to the step's beginning."""
    over = [d for d in found if d.error > (tensor if d.quantity in ERRORS else scalar)]
    return min(over, key=lambda d: (d.step, _ORDER.index(d.quantity), -d.error), default=None)


def largest(found: list[Deviation]) -> dict[str, float]:
    """The largest error of each quantity that was compared."""
    worst: dict[str, float] = {}
    for deviation in found:
        worst[deviation.quantity] = max(worst.get(deviation.quantity, 0.0), deviation.error)
    return worst
