"""What a cause is found with: a finding in words, and the pair of runs that the rules look at."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentmig.verification.divergence import common_ranks, common_steps, relative
from agentmig.verification.records import Step
from agentmig.verification.traces import World


@dataclass(frozen=True)
class Finding:
    """A cause and the numbers that show it.

    Attributes:
        cause: a name of the taxonomy.
        summary: one or two sentences for people.
        step: where it was seen; None where it holds throughout.
        evidence: the numbers, as JSON.
    """

    cause: str
    summary: str
    step: int | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """A reference and a candidate that ran on the same weights and batches.

    Attributes:
        tolerance: relative difference within which two numbers are the same.
    """

    reference: World
    candidate: World
    tolerance: float

    @property
    def size(self) -> int:
        """Number of replicas."""
        return len(self.ranks)

    @property
    def ranks(self) -> list[int]:
        """Ranks that both have."""
        return common_ranks(self.reference, self.candidate)

    @property
    def steps(self) -> int:
        """Steps that all ranks of both have."""
        return common_steps(self.reference, self.candidate)

    @property
    def near(self) -> float:
        """How near a ratio must be to a whole number to be taken for it."""
        return max(1e-4, min(10 * self.tolerance, 0.05), self.tolerance)

    def old(self, step: int) -> list[Step]:
        """The reference's fingerprints of a step, by rank."""
        return [self.reference.ranks[rank].steps[step] for rank in self.ranks]

    def new(self, step: int) -> list[Step]:
        """The candidate's fingerprints of a step, by rank."""
        return [self.candidate.ranks[rank].steps[step] for rank in self.ranks]

    def same(self, step: int, read: Callable[[Step], float | None]) -> bool | None:
        """Whether a quantity agrees between the runs on every rank; None where either lacks it."""
        pairs = [(read(a), read(b)) for a, b in zip(self.old(step), self.new(step), strict=True)]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known:
            return None
        return all(relative(b, a) <= self.tolerance for a, b in known)

    def spread(self, fingerprints: list[Step], read: Callable[[Step], float | None]) -> float | None:
        """Relative spread of a quantity over the ranks; None with fewer than two values."""
        values = known(fingerprints, read)
        if len(values) < 2 or not all(map(math.isfinite, values)):
            return None
        return (max(values) - min(values)) / max(max(map(abs, values)), 1e-300)

    def ratio(self, step: int, read: Callable[[Step], float | None]) -> float | None:
        """Candidate's over reference's mean over the ranks; None where it can't be computed."""
        old, new = mean(known(self.old(step), read)), mean(known(self.new(step), read))
        if old is None or new is None or old == 0 or not math.isfinite(new / old):
            return None
        return new / old

    def is_about(self, ratio: float | None, number: float) -> bool:
        """Whether a ratio is this number, as far as the precision goes."""
        return ratio is not None and relative(ratio, number) <= self.near


def known(fingerprints: list[Step], read: Callable[[Step], float | None]) -> list[float]:
    """The values that there are, by rank."""
    return [value for value in map(read, fingerprints) if value is not None]


def mean(values: list[float]) -> float | None:
    """Arithmetic mean; None of nothing."""
    return sum(values) / len(values) if values else None


def listed(values: list[float]) -> str:
    """Numbers for people; long lists are cut."""
    shown = ", ".join(f"{value:.4g}" for value in values[:8])
    return shown + (", …" if len(values) > 8 else "")


def loss(step: Step) -> float | None:
    """Read the loss."""
    return step.loss


def norm_before(step: Step) -> float | None:
    """Read the gradient's norm before any clipping."""
    return step.norm_before_clip


def applied(step: Step) -> float | None:
    """Read the norm of the gradient that the optimizer applied."""
    return step.grad_norm


def update(step: Step) -> float | None:
    """Read the norm of the update."""
    return step.update_norm


def weights(step: Step) -> float | None:
    """Read the norm of the parameters after the step."""
    return step.param_norm
