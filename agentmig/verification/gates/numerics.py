"""Is it the same on the device, in production precision? Teacher-forced steps against a calibrated tolerance.

Before each step the weights are set back to the reference's, so errors don't add up, and the tolerance comes from the
reference itself: how far its own steps move when its weights are perturbed by a rounding error. Medians over the steps
count, since single steps jump where a ReLU or a pooling flips.
"""

import math
from statistics import median
from typing import Any

from agentmig.journal.events import GateResult
from agentmig.spec.workload import Numerics
from agentmig.verification import modes, settings
from agentmig.verification.alignment import aligned
from agentmig.verification.causes import explain
from agentmig.verification.divergence import relative
from agentmig.verification.findings import Pair
from agentmig.verification.gates.result import failed, inconclusive, passed
from agentmig.verification.gates.semantics import unusable
from agentmig.verification.traces import World

GATE = "numerics"
_NOISE = 0.1
"""A reference whose own perturbed steps differ by more than this would let anything pass."""
_QUANTITIES = ("loss", "gradient", "update")
_WORDS = {
    "loss": "relative difference of the loss",
    "gradient": "worst gradient tensor over the global norm",
    "update": "worst update tensor, from the reference's gradients",
}


def judge(
    target: str, reference: World, calibration: World, candidate: World, tolerance: Numerics
) -> GateResult:
    """Compare medians over the steps with those of the reference against itself.

    Args:
        target: its name.
        reference: a record in production precision.
        calibration: the reference, matched to that record with perturbed weights, teacher-forced.
        candidate: the candidate, matched to that record, teacher-forced.
        tolerance: never below `floor`; else `factor` times the calibration's own median.
    """
    reference, candidate = aligned(reference, candidate)
    blocked = unusable(GATE, target, reference, candidate)
    if blocked:
        return blocked
    own = errors(reference, calibration)
    if not own["loss"] or not all(map(math.isfinite, own["loss"])):
        summary = "The reference's run against its own record has no usable loss, so there is no calibrated tolerance."
        return inconclusive(GATE, target, "reference_unusable", summary)
    noise = {name: median(values) for name, values in own.items() if values}
    if max(noise.values()) > _NOISE:
        shown = ", ".join(f"{_WORDS[name]}: median {value:.2g}" for name, value in noise.items())
        summary = (
            f"The reference doesn't reproduce itself in production precision: with its weights perturbed by "
            f"{tolerance.perturbation:g} its own steps differ too much to be compared with anything ({shown}; allowed {_NOISE:g})."
        )
        return inconclusive(GATE, target, "reference_not_reproducible", summary, calibration_medians=noise)
    seen = errors(reference, candidate)
    if not any(seen.values()):
        summary = "Neither loss nor gradients of the candidate could be compared."
        return inconclusive(GATE, target, "nothing_to_compare", summary)
    limits, medians, own_medians = {}, {}, {}
    for name in _QUANTITIES:
        if not seen[name]:
            continue
        own_medians[name] = median(own[name]) if own[name] else 0.0
        limits[name] = max(tolerance.floor, tolerance.factor * own_medians[name])
        medians[name] = median(seen[name])
    evidence: dict[str, Any] = {
        "steps": min(reference.count, candidate.count),
        "medians": medians,
        "limits": limits,
        "calibration_medians": own_medians,
        "errors": {name: seen[name] for name in medians},
        "calibration_errors": {name: own[name] for name in medians},
        "losses": [
            [reference.loss(n), candidate.loss(n)] for n in range(min(reference.count, candidate.count))
        ],
        "notes": [f"{note.code}: {note.message}" for note in candidate.notes][:10],
    }
    pair = Pair(reference, candidate, tolerance.floor)
    lowered = settings.precision_lowered(pair) or modes.autocast_changed(pair)
    if lowered:
        return failed(GATE, target, lowered.cause, lowered.summary, **evidence)
    shown = "; ".join(f"{_WORDS[n]}: median {medians[n]:.2g}, tolerance {limits[n]:.2g}" for n in medians)
    if all(medians[name] <= limits[name] for name in medians):
        return passed(
            GATE, target, f"In production precision, {evidence['steps']} steps: {shown}.", **evidence
        )
    return _outside(target, reference, candidate, limits, shown, evidence)


def _outside(
    target: str,
    reference: World,
    candidate: World,
    limits: dict[str, float],
    shown: str,
    evidence: dict[str, Any],
) -> GateResult:
    found = explain(reference, candidate, max(1e-3, *limits.values()))
    named = found is not None and found.cause not in (
        "diverged",
        "loss_changed",
        "gradient_changed",
        "update_changed",
    )
    if found is not None and named:
        return failed(GATE, target, found.cause, f"{found.summary} ({shown}.)", **evidence)
    summary = (
        f"In production precision the steps are further from the reference than rounding explains: {shown}."
    )
    return failed(GATE, target, "numerics_differ", summary, **evidence)


def errors(reference: World, run: World) -> dict[str, list[float]]:
    """Errors of each step of a run that was matched to the reference.

    Returns:
        `loss`: relative differences of the mean loss; `gradient` and `update`: the worst tensor of any rank, in units of
        the reference's global norm. NaN counts as infinite. Steps without a value are left out.
    """
    found: dict[str, list[float]] = {"loss": [], "gradient": [], "update": []}
    for number in range(min(reference.count, run.count)):
        old, new = reference.loss(number), run.loss(number)
        if old is not None and new is not None:
            found["loss"].append(relative(new, old))
        for name in ("gradient", "update"):
            field = "grad_error" if name == "gradient" else "update_error"
            known = [value for step in run.at(number).values() if (value := getattr(step, field)) is not None]
            if known:
                found[name].append(max(math.inf if math.isnan(value) else value for value in known))
    return found
