"""Simpler checks than agentmig's, as people make them today, on the same trainings: one run of each side, one seed."""

import math
from collections.abc import Callable, Sequence

from agentmig.bench.plain import Plain
from agentmig.spec.workload import Goal

CURVE = 0.05
"""Share of the reference's loss within which a loss curve is held to be the same."""
_RTOL, _ATOL = 1.3e-6, 1e-5
"""Defaults of `torch.testing.assert_close` for float32."""

WORDS = {
    "final_metric": "final metric no worse than the reference's by the margin (one run of each)",
    "loss_at_end": f"last printed loss within {CURVE:.0%} of the reference's",
    "loss_curve": f"every printed loss within {CURVE:.0%} of the reference's",
    "first_loss": "first printed loss as torch.testing.assert_close asks for (float32 defaults)",
}


def judge(reference: Plain, candidate: Plain, goal: Goal) -> dict[str, bool | None]:
    """Whether each check accepts a candidate; None where it has nothing to look at.

    Args:
        reference: the training of the untouched code.
        candidate: the same of the migrated code, with the same seed.
        goal: the metric's direction and margin.
    """
    if not candidate.ok:
        return dict.fromkeys(WORDS, False)
    old, new = (list(map(float, plain.losses)) for plain in (reference, candidate))
    return {
        "final_metric": _metric(reference.metric, candidate.metric, goal),
        "loss_at_end": _series(old, new, lambda a, b: _within(a[-1], b[-1], CURVE)),
        "loss_curve": _series(
            old,
            new,
            lambda a, b: len(a) == len(b) and all(_within(x, y, CURVE) for x, y in zip(a, b, strict=True)),
        ),
        "first_loss": _series(old, new, lambda a, b: _within(a[0], b[0], _RTOL, _ATOL)),
    }


def _metric(reference: float | None, candidate: float | None, goal: Goal) -> bool | None:
    if reference is None or not math.isfinite(reference):
        return None
    if candidate is None or not math.isfinite(candidate):
        return False
    worse = reference - candidate if goal.direction == "maximize" else candidate - reference
    return worse <= goal.margin


Losses = Sequence[float]


def _series(old: Losses, new: Losses, accepts: Callable[[Losses, Losses], bool]) -> bool | None:
    if not old:
        return None
    return bool(new) and accepts(old, new)


def _within(reference: float, candidate: float, relative: float, absolute: float = 0.0) -> bool:
    """False where one of them isn't a number."""
    if math.isinf(reference) or math.isinf(candidate):
        return reference == candidate
    return abs(candidate - reference) <= absolute + relative * abs(reference)
