"""Is each step the same computation? A matched, free-running trace in float64, against a tight tolerance.

The run is provoked (`probe/stress`) and its epochs are shortened (`probe/passes`), so that a few dozen steps hold what a whole
training holds: clipping that binds, ends of epochs, evaluations, changes of the schedule, saved checkpoints.
"""

import math
from typing import Any

from agentmig.journal.events import GateResult, Verdict
from agentmig.spec.workload import Semantics
from agentmig.verification import beginnings, data, modes, saving
from agentmig.verification.alignment import aligned
from agentmig.verification.causes import findings
from agentmig.verification.divergence import ERRORS, deviations, first_over, largest
from agentmig.verification.findings import Finding, Pair
from agentmig.verification.gates.result import described, failed, inconclusive, passed, plain, several
from agentmig.verification.traces import World

GATE = "semantics"

# Where code casts to a narrower type, float64 can't be had: what that type's rounding may do in a few steps.
NARROW = {"bfloat16": 5e-2, "float16": 1e-2, "BF16": 5e-2}
NARROW_FLOAT32 = 1e-3
STATE_NOTES = ("state_unmatched", "no_training_forward")
BATCH_NOTES = ("batches_missing", "batch_structure", "no_loader", "batches_exhausted")
DRAW_NOTE = "draws_unmatched"
_COMPARED = {"loss", "grad_norm", "grad_error", "norm_before_clip"}
_GUESSES = {"diverged", "loss_changed", "gradient_changed", "update_changed", "replicas_differ"}
_SHOWN_STEPS = 40
_SAVED = 10.0
"""A saved tensor is measured by its own norm, which may be small beside the others': its tolerance is so much wider."""


def judge(target: str, reference: World, candidate: World, tolerance: Semantics) -> GateResult:
    """Compare each rank's steps with the same rank's of the reference.

    Args:
        target: its name.
        reference: a record in float64.
        candidate: the run that was matched to it, free-running.
        tolerance: of numbers (`loss`) and of tensors (`tensor`).
    """
    whole, own = reference, candidate
    reference, candidate = aligned(reference, candidate)
    blocked = unusable(GATE, target, reference, candidate)
    return blocked or _compare(target, reference, candidate, whole, own, tolerance)


def may_be_noise(result: GateResult) -> bool:
    """Whether a reference that doesn't reproduce itself could look like this failure."""
    return result.verdict is Verdict.FAIL and result.cause in _GUESSES


def not_reproducible(target: str, reference: World, again: World, tolerance: Semantics) -> GateResult | None:
    """What keeps the reference from being compared with anything: its own second run is another one.

    Args:
        target: its name.
        reference: a record.
        again: the reference, matched to its own record.
        tolerance: as for `judge`.
    """
    found = deviations(reference, again)
    first = first_over(found, tolerance.loss, tolerance.tensor)
    if first is None:
        return None
    summary = (
        f"The reference doesn't reproduce itself: a second run from the same seed, weights and batches parts from the first at "
        f"step {first.step} ({first.words}), so a candidate can't be told from its noise. Seed what it draws, or use "
        "deterministic operations."
    )
    evidence = {"largest_error": largest(found), "first_divergence": first.evidence()}
    return inconclusive(GATE, target, "reference_not_reproducible", summary, **evidence)


def escapes_stress(reference: World, candidate: World) -> bool:
    """Whether the reference's clipping was provoked and the candidate calls none of torch's clipping functions.

    It may clip by code of its own, which can't be provoked alike: then only a run without provocation can be compared.
    """
    provoked = any(c.forced is not None for t in reference.ranks.values() for s in t.steps for c in s.clips)
    return provoked and not any(step.clips for trace in candidate.ranks.values() for step in trace.steps)


def unusable(gate: str, target: str, reference: World, candidate: World) -> GateResult | None:
    """What keeps two traces from being compared; None where nothing does."""
    if reference.missing or reference.damage or not reference.count:
        why = "; ".join(reference.damage) or f"ranks missing: {reference.missing}, steps: {reference.count}"
        summary = (
            f"The reference's record can't be used ({why}); remove {reference.folder} to have it made again."
        )
        return inconclusive(gate, target, "reference_unusable", summary, damage=reference.damage)
    missing = sorted({*candidate.missing, *(set(reference.ranks) - set(candidate.ranks))})
    if missing:
        ranks = ", ".join(map(str, missing))
        summary = (
            f"Rank {ranks} of {reference.size} left no trace: not all of the target's processes trained."
        )
        return failed(gate, target, "rank_missing", summary, missing=missing, size=candidate.size)
    if candidate.damage:
        summary = f"What the ranks reported can't be read: {candidate.damage[0]}."
        return failed(gate, target, "trace_damaged", summary, damage=candidate.damage)
    for code in STATE_NOTES:
        message = candidate.noted(code)
        if message is not None:
            summary = f"The candidate's weights could not be set to the reference's: {message}."
            return inconclusive(gate, target, "state_unmatched", summary, note=code)
    if not candidate.count:
        errors = f" The probe reports: {candidate.errors[0]}." if candidate.errors else ""
        summary = f"The candidate made no optimizer step that could be compared.{errors}"
        return inconclusive(gate, target, "nothing_to_compare", summary, errors=candidate.errors[:5])
    return None


def _compare(
    target: str, reference: World, candidate: World, whole: World, own: World, tolerance: Semantics
) -> GateResult:
    """Compare two aligned worlds; `whole` and `own` are they before they were aligned."""
    narrow = candidate.noted("narrow_cast") or reference.noted("narrow_cast")
    least = _narrow_tolerance(narrow) if narrow is not None else 0.0
    scalar, tensor = max(tolerance.loss, least), max(tolerance.tensor, least)
    compared = deviations(reference, candidate)
    worst = largest(compared)
    evidence: dict[str, Any] = {
        "steps": min(reference.count, candidate.count),
        "ranks": len(reference.ranks),
        "tolerance": {"loss": scalar, "tensor": tensor},
        "weaker_pass": narrow,
        "largest_error": worst,
        "not_compared": sorted({*ERRORS, "loss", "grad_norm", "update_norm"} - set(worst)),
        "trace": _table(reference, candidate),
        "notes": [f"{note.code}: {note.message}" for note in candidate.notes][:10],
        "probe_errors": candidate.errors[:5],
    }
    if not _COMPARED & set(worst):
        summary = (
            "Neither a loss nor a gradient of the candidate could be seen, so there is nothing to compare."
        )
        return inconclusive(GATE, target, "nothing_to_compare", summary, **evidence)
    wrong = next((d for d in compared if d.reference is not None and not math.isfinite(d.reference)), None)
    if wrong:
        summary = f"The reference itself isn't finite: {wrong.words}."
        return inconclusive(GATE, target, "reference_unusable", summary, **evidence)
    first = first_over(compared, scalar, tensor)
    evidence["first_divergence"] = first.evidence() if first else None
    found = _ordered(
        findings(reference, candidate, scalar, tensor),
        [*modes.findings(Pair(reference, candidate, scalar)), *beginnings.findings(whole, own)],
        data.findings(whole, own),
        saving.findings(own, _SAVED * tensor),
    )
    evidence["saved"] = [
        {"file": saved.path.rsplit("/", 1)[-1], "error": plain(saved.error)} for saved in saving.compared(own)
    ][:20]
    evidence["findings"] = described(found)
    if found:
        return _found(target, reference, candidate, found, narrow, evidence)
    return _agrees(target, reference, candidate, worst, narrow, evidence)


def _ordered(
    steps: list[Finding], ways: list[Finding], of_data: list[Finding], saved: list[Finding]
) -> list[Finding]:
    """All findings, the one that explains most first: a pattern in the numbers, what a program declares, its data."""
    if steps and steps[0].cause in _GUESSES:
        return [*ways, *of_data, *steps, *saved]
    if steps and steps[0].cause == "batch_size":
        return [*of_data, *steps, *ways, *saved]
    return [*steps, *ways, *of_data, *saved]


def _narrow_tolerance(message: str) -> float:
    return max((size for name, size in NARROW.items() if name in message), default=NARROW_FLOAT32)


def _found(
    target: str,
    reference: World,
    candidate: World,
    found: list[Finding],
    narrow: str | None,
    evidence: dict[str, Any],
) -> GateResult:
    cause = found[0].cause
    declared = [finding for finding in found if finding.step is None]
    if not declared and (why := _not_the_same_batches(reference, candidate, found[0].step)):
        summary = f"The steps part, but they can't be compared one by one: {why}. {found[0].summary}"
        return inconclusive(GATE, target, "batches_unmatched", summary, **evidence)
    if (unmatched := candidate.noted(DRAW_NOTE)) and cause in _GUESSES:
        summary = (
            f"The steps part, but the random numbers that they draw can't be matched: {unmatched}. Draw them at the same "
            f"places, in the same shapes, by torch's own functions. {found[0].summary}"
        )
        return inconclusive(GATE, target, "draws_unmatched", summary, **evidence)
    if narrow is not None and cause in _GUESSES:
        summary = f"Only the weaker pass was possible ({narrow}), and it can't tell rounding from a fault: {found[0].summary}"
        return inconclusive(GATE, target, cause, summary, **evidence)
    return failed(GATE, target, cause, several(found), **evidence)


def _not_the_same_batches(reference: World, candidate: World, step: int | None) -> str | None:
    """Why the candidate's steps up to this one didn't see the reference's batches; None where they did."""
    if _fed_alike(reference, candidate, step):
        return None
    for code in BATCH_NOTES:
        message = candidate.noted(code)
        if message is not None:
            return message
    for old, new in zip(reference.first.steps, candidate.first.steps, strict=False):
        if old.backwards != new.backwards and new.batch_shape is not None:
            return (
                f"step {new.step} takes {new.backwards} backward passes on batches of shape {new.batch_shape.own}, the "
                f"reference {old.backwards} on {new.batch_shape.reference}"
            )
    return None


def _fed_alike(reference: World, candidate: World, step: int | None) -> bool:
    """Whether the models were fed the same, wherever it came from."""
    if step is None:
        return False
    for rank, trace in candidate.ranks.items():
        pairs = list(zip(reference.ranks[rank].steps, trace.steps, strict=False))[: step + 1]
        if not pairs or any(old.inputs is None or old.inputs != new.inputs for old, new in pairs):
            return False
    return True


def _agrees(
    target: str,
    reference: World,
    candidate: World,
    worst: dict[str, float],
    narrow: str | None,
    evidence: dict[str, Any],
) -> GateResult:
    steps, ranks = evidence["steps"], evidence["ranks"]
    if candidate.count < reference.count:
        summary = f"The candidate made {candidate.count} steps of the {reference.count} that were asked for; those agree."
        return failed(GATE, target, "too_few_steps", summary, **evidence)
    end = reference.first.end
    if candidate.count > reference.count and end is not None and end.how == "program":
        summary = f"The candidate goes on after {reference.count} steps, at which the reference's training ends; up to there they agree."
        return failed(GATE, target, "too_many_steps", summary, **evidence)
    if hidden := _clipping_out_of_sight(reference, candidate):
        return inconclusive(GATE, target, "clip_missing", hidden, **evidence)
    shown = ", ".join(f"{name.replace('_', ' ')} {worst[name]:.2g}" for name in worst)
    how = (
        f"in a weaker pass than float64 ({narrow}; tolerance {evidence['tolerance']['loss']:g})"
        if narrow is not None
        else f"in float64 (tolerance {evidence['tolerance']['loss']:g})"
    )
    summary = (
        f"{steps} steps of {ranks} rank{'s' if ranks != 1 else ''} agree {how}; largest differences: {shown}."
    )
    return passed(GATE, target, summary, **evidence)


def _clipping_out_of_sight(reference: World, candidate: World) -> str | None:
    """The reference clips, the candidate doesn't seem to, and in these steps it makes no difference."""
    old = [step.clip for trace in reference.ranks.values() for step in trace.steps if step.clip]
    new = [step for trace in candidate.ranks.values() for step in trace.steps if step.clips]
    if not old or new:
        return None
    if any(c.norm_before is not None and c.max_norm is not None and c.norm_before > c.max_norm for c in old):
        return None
    return (
        f"The reference clips gradients to {old[0].max_norm:g}, which makes no difference in the first "
        f"{reference.count} steps; the candidate calls no clipping function of torch, so whether it clips can't be seen."
    )


def _table(reference: World, candidate: World) -> list[dict[str, Any]]:
    """The numbers of each step, for people: means over the ranks of loss, applied norms by rank."""
    rows = []
    for number in range(min(reference.count, candidate.count, _SHOWN_STEPS)):
        old, new = reference.at(number), candidate.at(number)
        rows.append(
            {
                "step": number,
                "loss": [reference.loss(number), candidate.loss(number)],
                "norm_before_clip": [_values(old, "norm_before_clip"), _values(new, "norm_before_clip")],
                "grad_norm": [_values(old, "grad_norm"), _values(new, "grad_norm")],
                "update_norm": [_values(old, "update_norm"), _values(new, "update_norm")],
                "lr": [[s.lr for s in old.values()][:1], [s.lr for s in new.values()][:1]],
            }
        )
    return rows


def _values(steps: dict[int, Any], name: str) -> list[float | None]:
    """One value where the ranks agree, else all."""
    values = [getattr(step, name) for step in steps.values()]
    return values[:1] if len(set(values)) == 1 else values
