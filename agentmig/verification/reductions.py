"""Rules on the path of a gradient: from the loss through reduction and clipping into the optimizer.

Each looks at the first step in which the runs part. The numbers decide; the order of calls that the probe saw decides
where numbers alone leave two readings.
"""

import math
from collections.abc import Callable

from agentmig.verification.divergence import SCALARS, relative
from agentmig.verification.findings import (
    Finding,
    Pair,
    applied,
    known,
    listed,
    loss,
    mean,
    norm_before,
    update,
)
from agentmig.verification.records import Step


def _reduces(step: Step) -> bool:
    return "all_reduce" in step.order


def _reduced_before_clip(step: Step) -> bool:
    """Whether a reduction lies between the last backward pass and the first clipping after it."""
    order = step.order
    last = max((index for index, name in enumerate(order) if name == "backward"), default=-1)
    after = order[last + 1 :]
    return "all_reduce" in (after[: after.index("clip")] if "clip" in after else after)


def not_finite(pair: Pair, step: int) -> Finding | None:
    """NaN or infinity where the reference has a number."""
    for rank, old, new in zip(pair.ranks, pair.old(step), pair.new(step), strict=True):
        for name, read in SCALARS.items():
            theirs, mine = read(old), read(new)
            if theirs is not None and mine is not None and math.isfinite(theirs) and not math.isfinite(mine):
                what = name.replace("_", " ")
                summary = (
                    f"The {what} is {mine} at step {step} on rank {rank}; the reference's is {theirs:.6g}."
                )
                return Finding(
                    "not_finite", summary, step, {"quantity": name, "rank": rank, "reference": theirs}
                )
    return None


def _differs_over_ranks(pair: Pair, fingerprints: list[Step], read: Callable[[Step], float | None]) -> bool:
    spread = pair.spread(fingerprints, read)
    return spread is not None and spread > pair.near


def clip_before_reduction(pair: Pair, step: int) -> Finding | None:
    """Each replica clipped a gradient of its own, and only then were they brought together."""
    old, new = pair.old(step), pair.new(step)
    if pair.size < 2 or not all(fingerprint.clips for fingerprint in new):
        return None
    if not _differs_over_ranks(pair, new, norm_before) or _differs_over_ranks(pair, old, norm_before):
        return None
    if any(map(_reduced_before_clip, new)) or _differs_over_ranks(pair, new, applied):
        return None
    norms = known(new, applied)
    thresholds = [f.clip.limit for f in new if f.clip and f.clip.limit is not None]
    # Equal to the threshold on each replica, and no reduction seen: then nothing was brought together.
    all_at_threshold = bool(norms) and bool(thresholds) and relative(norms[0], thresholds[0]) <= pair.near
    if not any(map(_reduces, new)) and (all_at_threshold or not norms):
        return None
    before, theirs = known(new, norm_before), known(old, norm_before)
    limit = f"{thresholds[0]:g}" if thresholds else "the threshold"
    summary = (
        f"Gradients are clipped before they are averaged over the {pair.size} replicas: at step {step} each replica "
        f"clips its own gradient (norms {listed(before)}) to {limit}"
    )
    if norms:
        summary += f", and what the optimizer applies after averaging has the norm {norms[0]:.4g}"
    if theirs:
        reference = mean(known(old, applied))
        summary += f"; the reference averages first (norm {theirs[0]:.4g}), then clips"
        summary += f", and applies {reference:.4g}" if reference is not None else ""
    evidence = {
        "norms_before_clip": before,
        "applied_norms": norms,
        "reference_norm_before_clip": theirs,
        "reference_applied_norms": known(old, applied),
        "max_norm": thresholds[:1],
        "order": new[0].order,
        "reference_order": old[0].order,
    }
    return Finding("clip_before_reduction", summary + ".", step, evidence)


def gradients_not_reduced(pair: Pair, step: int) -> Finding | None:
    """Each replica applies a gradient of its own."""
    old, new = pair.old(step), pair.new(step)
    if pair.size < 2 or _differs_over_ranks(pair, old, applied):
        return None
    apart = _differs_over_ranks(pair, new, applied)
    own = _differs_over_ranks(pair, new, norm_before) and not any(map(_reduces, new))
    if not (apart or own):
        return None
    before, after = known(new, norm_before), known(new, applied)
    seen = (
        "a reduction was seen, but not of these gradients"
        if any(map(_reduces, new))
        else "no reduction was seen"
    )
    norm = mean(known(old, norm_before))
    reference = f" In the reference all replicas have {norm:.4g}." if norm is not None else ""
    summary = (
        f"Gradients are not averaged over the {pair.size} replicas: at step {step} their norms differ "
        f"({listed(before)}), and {seen} before the optimizer's step.{reference}"
    )
    evidence = {"norms_before_clip": before, "applied_norms": after, "order": new[0].order}
    return Finding("gradients_not_reduced", summary, step, evidence)


def loss_scaled(pair: Pair, step: int) -> Finding | None:
    """Loss and gradient are larger or smaller by the same factor."""
    of_loss, of_gradient = pair.ratio(step, loss), pair.ratio(step, norm_before)
    if of_loss is None or of_gradient is None or pair.same(step, loss):
        return None
    if not pair.is_about(of_gradient, of_loss) or pair.is_about(of_loss, 1.0):
        return None
    passes = _passes(pair, step)
    if passes > 1 and (pair.is_about(of_loss, passes) or pair.is_about(of_loss, 1 / passes)):
        return _denominator(pair, step, of_gradient, passes)
    replicas = ""
    if pair.size > 1 and (pair.is_about(of_loss, pair.size) or pair.is_about(of_loss, 1 / pair.size)):
        replicas = f" There are {pair.size} replicas."
    summary = f"Loss and gradient are {of_loss:.6g} times the reference's at step {step}.{replicas}"
    return Finding("loss_scaled", summary, step, {"loss_ratio": of_loss, "gradient_ratio": of_gradient})


def _passes(pair: Pair, step: int) -> int:
    """Backward passes in a step: the micro-batches that are accumulated."""
    return max(fingerprint.backwards for fingerprint in [*pair.old(step), *pair.new(step)])


def _denominator(pair: Pair, step: int, ratio: float, passes: int) -> Finding:
    slip = "not divided" if ratio > 1 else "divided once too often"
    summary = (
        f"The gradient is {ratio:.6g} times the reference's at step {step}, which accumulates {passes} backward passes: "
        f"it is {slip} by their number."
    )
    return Finding("accumulation_denominator", summary, step, {"gradient_ratio": ratio, "backwards": passes})


def factor(pair: Pair, step: int) -> Finding | None:
    """The gradient is larger or smaller by the number of replicas or of backward passes, with the same loss."""
    if pair.same(step, loss) is False:
        return None
    before, after = pair.ratio(step, norm_before), pair.ratio(step, applied)
    size, passes, order = pair.size, _passes(pair, step), pair.new(step)[0].order
    evidence = {
        "ratio_before_clip": before,
        "ratio_applied": after,
        "reference_norm_before_clip": mean(known(pair.old(step), norm_before)),
        "norm_before_clip": mean(known(pair.new(step), norm_before)),
        "order": order,
    }
    norms = f"the norm before clipping is {before:.6g} times the reference's" if before is not None else ""
    if evidence["norm_before_clip"] is not None and evidence["reference_norm_before_clip"] is not None:
        norms += (
            f" ({evidence['norm_before_clip']:.4g} instead of {evidence['reference_norm_before_clip']:.4g})"
        )
    if size > 1:
        twice = pair.is_about(before, size**2) or (
            pair.is_about(before, size) and order.count("all_reduce") > 1
        )
        if twice:
            return Finding(
                "reduced_twice", f"Gradients are reduced twice: at step {step} {norms}.", step, evidence
            )
        if pair.is_about(before, 1.0) and pair.is_about(after, size) and order.count("all_reduce") > 1:
            why = f"at step {step} the applied norm is {after:.6g} times the reference's, and a second reduction follows the clipping"
            return Finding("reduced_twice", f"Gradients are reduced twice: {why}.", step, evidence)
        if pair.is_about(before, size):
            why = (
                f"Gradients are summed over the {size} replicas instead of averaged: at step {step} {norms}."
            )
            return Finding("gradients_summed", why, step, evidence)
    if passes > 1 and (pair.is_about(before, passes) or pair.is_about(before, 1 / passes)):
        assert before is not None
        return _denominator(pair, step, before, passes)
    if size > 1 and pair.is_about(before, 1 / size):
        why = f"Gradients are divided by the number of replicas ({size}) once too often: at step {step} {norms}."
        return Finding("gradients_divided", why, step, evidence)
    return None


def _binding(step: Step) -> float | None:
    """The clipping's threshold, where it binds."""
    clip = step.clip
    if clip is None or clip.limit is None or clip.norm_before is None:
        return None
    return clip.limit if clip.norm_before > clip.limit else None


def clip_missing(pair: Pair, step: int) -> Finding | None:
    """The reference clips, the candidate applies the whole gradient."""
    old, new = pair.old(step)[0], pair.new(step)[0]
    limit = _binding(old)
    if (
        limit is None
        or new.clips
        or new.grad_norm is None
        or old.clip is None
        or old.clip.norm_before is None
    ):
        return None
    if relative(new.grad_norm, old.clip.norm_before) > pair.near:
        return None
    summary = (
        f"Gradients are not clipped: at step {step} the applied norm is {new.grad_norm:.4g}; the reference clips "
        f"{old.clip.norm_before:.4g} to {limit:g}."
    )
    return Finding("clip_missing", summary, step, {"max_norm": limit, "applied_norm": new.grad_norm})


def clip_added(pair: Pair, step: int) -> Finding | None:
    """The candidate clips where the reference doesn't."""
    old, new = pair.old(step)[0], pair.new(step)[0]
    limit = _binding(new)
    if limit is None or old.clips:
        return None
    summary = f"Gradients are clipped to {limit:g} (at step {step} from {new.norm_before_clip:.4g}); the reference doesn't clip."
    return Finding("clip_added", summary, step, {"max_norm": limit})


def clip_on_scaled(pair: Pair, step: int) -> Finding | None:
    """The clipping saw gradients that carried the loss scale."""
    new = pair.new(step)[0]
    ratio = pair.ratio(step, norm_before)
    if not new.clips or new.loss_scale == 1.0 or not pair.is_about(ratio, new.loss_scale):
        return None
    summary = (
        f"Gradients are clipped while they carry the loss scale: at step {step} their norm is {ratio:.6g} times the "
        f"reference's, and the scale is {new.loss_scale:g}."
    )
    return Finding("clip_on_scaled", summary, step, {"ratio": ratio, "loss_scale": new.loss_scale})


def zero_grad_missing(pair: Pair, step: int) -> Finding | None:
    """After a step that agreed, the gradient holds more than the new one, with the same loss."""
    if step == 0 or not pair.same(step, loss):
        return None
    old, new, left = pair.old(step)[0], pair.new(step)[0], pair.new(step - 1)[0].grad_norm
    fresh, found = old.norm_before_clip, new.norm_before_clip
    if fresh is None or found is None or not left:
        return None
    # The sum of the fresh gradient and the one left in place (clipped as it was applied) has a norm between these.
    if not abs(fresh - left) * (1 - pair.near) <= found <= (fresh + left) * (1 + pair.near):
        return None
    if relative(found, fresh) <= pair.tolerance and pair.same(step, norm_before):
        return None
    summary = (
        f"Gradients are not cleared between steps: step {step - 1} agrees with the reference, at step {step} the loss still "
        f"does, but the gradient's norm is {found:.4g} instead of {fresh:.4g}, as if the {left:.4g} applied before "
        "were still in it."
    )
    later = [pair.ratio(number, norm_before) for number in range(step, pair.steps)]
    return Finding("zero_grad_missing", summary, step, {"ratios_from_here": later})


def is_still(pair: Pair, step: int) -> bool:
    """Whether the candidate's parameters stay while the reference's move."""
    theirs, mine = known(pair.old(step), update), known(pair.new(step), update)
    return bool(theirs) and bool(mine) and max(mine) == 0.0 and min(theirs) > 0.0


def parameters_not_updated(pair: Pair, step: int) -> Finding:
    """The words for `is_still`."""
    gradient = mean(known(pair.new(step), applied))
    had = (
        "it found no gradients"
        if not gradient
        else f"the gradient that it applied has the norm {gradient:.4g}"
    )
    reference = mean(known(pair.old(step), update))
    summary = f"The optimizer's step {step} changes no parameter; {had}. The reference's update has the norm {reference:.4g}."
    return Finding(
        "parameters_not_updated", summary, step, {"grad_norm": gradient, "reference_update": reference}
    )
