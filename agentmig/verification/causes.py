"""From two traces to a cause in words.

Both runs had the same weights and batches at the start, so the first quantity that parts says where to look: what a
program declares (`settings`), how gradients are reduced and clipped (`reductions`), or what is left to say of loss,
gradient and update (below). The most specific rule comes first.
"""

import math
from collections.abc import Callable

from agentmig.verification import reductions, settings
from agentmig.verification.divergence import (
    ERRORS,
    Deviation,
    deviations,
    first_over,
)
from agentmig.verification.findings import (
    Finding,
    Pair,
    applied,
    known,
    loss,
    norm_before,
    update,
    weights,
)
from agentmig.verification.traces import World

__all__ = ["Finding", "explain", "findings"]

_AT_STEP = [
    reductions.not_finite,
    reductions.clip_on_scaled,
    reductions.clip_before_reduction,
    reductions.gradients_not_reduced,
    reductions.loss_scaled,
    reductions.factor,
    reductions.clip_missing,
    reductions.clip_added,
    reductions.zero_grad_missing,
]
_DECLARED: list[Callable[[Pair], Finding | None]] = [
    settings.optimizer_changed,
    settings.hyperparameter_changed,
    settings.parameters_changed,
    settings.learning_rate,
    settings.clip_threshold,
    settings.batch_size,
    settings.eval_mode,
    settings.precision_lowered,
]


def explain(reference: World, candidate: World, tolerance: float = 1e-6) -> Finding | None:
    """The most specific cause for which the candidate does something else than the reference.

    Args:
        reference: a record.
        candidate: a run that was matched to it.
        tolerance: relative difference within which two numbers are the same.

    Returns:
        None where nothing that both have differs.
    """
    return next(iter(findings(reference, candidate, tolerance)), None)


def findings(
    reference: World, candidate: World, tolerance: float = 1e-6, tensor: float | None = None
) -> list[Finding]:
    """All causes that the traces show, the most specific first; empty where nothing differs.

    Args:
        reference: as for `explain`.
        candidate: as for `explain`.
        tolerance: of numbers.
        tensor: of the errors of tensors; None: the same.
    """
    pair = Pair(reference, candidate, tolerance)
    declared = [found for rule in _DECLARED if (found := rule(pair))] if pair.steps else []
    parted = first_over(deviations(reference, candidate), tolerance, tolerance if tensor is None else tensor)
    if parted is None:
        return declared
    seen = next((found for rule in _AT_STEP if (found := rule(pair, parted.step))), None)
    if seen:
        return [seen, *declared]
    rest = _rest(pair, parted)
    if rest.cause == "parameters_not_updated":
        return [rest, *declared]
    # A declared difference explains a step that parts; without one, say what can be said of the step.
    return declared or [rest]


def _rest(pair: Pair, parted: Deviation) -> Finding:
    """What can be said of the first step that parts, when no known pattern fits."""
    step, evidence = parted.step, parted.evidence()
    if reductions.is_still(pair, step):
        return reductions.parameters_not_updated(pair, step)
    if parted.quantity == "loss" and step == 0:
        why = f"With the same weights and batch the loss differs at step 0: {parted.words}."
        return Finding("loss_changed", why, step, evidence)
    if parted.quantity in ("norm_before_clip", "grad_norm", "grad_error"):
        ratio = pair.ratio(step, norm_before)
        times = (
            f" Its norm before clipping is {ratio:.6g} times the reference's." if ratio is not None else ""
        )
        same = "With the same loss" if pair.same(step, loss) else "With the same weights"
        why = f"{same} the gradient differs: {parted.words}.{times}"
        return Finding("gradient_changed", why, step, evidence)
    if parted.quantity in ("update_norm", "update_error") and pair.same(step, applied) is not False:
        ratio = pair.ratio(step, update)
        times = f" Its norm is {ratio:.6g} times the reference's." if ratio is not None else ""
        why = f"The gradient is the reference's, the optimizer's update is not: {parted.words}.{times}"
        return Finding("update_changed", why, step, evidence)
    old, new = pair.spread(pair.old(step), weights), pair.spread(pair.new(step), weights)
    if pair.size > 1 and old is not None and new is not None and old <= pair.tolerance < new:
        norms = ", ".join(f"{value:.8g}" for value in known(pair.new(step), weights))
        why = f"After step {step} the replicas hold different weights: norms {norms}; the reference's are the same."
        return Finding("replicas_differ", why, step, evidence)
    kind = "tensor" if parted.quantity in ERRORS else "number"
    size = "not finite" if math.isinf(parted.error) else f"{parted.error:.3g}"
    why = f"The steps part first at step {step}, in this {kind}: {parted.words} (error {size})."
    return Finding("diverged", why, step, evidence)
