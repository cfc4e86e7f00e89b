"""Rules on what a program declares: optimizer, hyperparameters, schedule, threshold, batch, trained parameters.

They hold from the first step on and need no matched weights.
"""

import json
from collections import Counter
from typing import Any

from agentmig.verification.divergence import relative
from agentmig.verification.findings import Finding, Pair
from agentmig.verification.records import OptimizerInfo, Step

# The learning rate has rules of its own; the others choose an implementation, not a computation.
_NOT_COMPARED = {
    "lr", "initial_lr", "foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay", "param_names",
}  # fmt: skip
_WIDTH = {"float64": 64, "float32": 32, "bfloat16": 16, "float16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8}


def _optimizers(pair: Pair) -> list[tuple[OptimizerInfo, OptimizerInfo]]:
    if not pair.ranks:
        return []
    rank = pair.ranks[0]
    old = {info.index: info for info in pair.reference.ranks[rank].optimizers}
    new = {info.index: info for info in pair.candidate.ranks[rank].optimizers}
    return [(old[index], new[index]) for index in sorted(set(old) & set(new))]


def optimizer_changed(pair: Pair) -> Finding | None:
    """Another class of optimizer, wherever it is imported from."""
    for old, new in _optimizers(pair):
        if old.name.rpartition(".")[2] != new.name.rpartition(".")[2]:
            summary = f"The optimizer is {new.name}; the reference uses {old.name}."
            return Finding(
                "optimizer_changed", summary, evidence={"reference": old.name, "candidate": new.name}
            )
    return None


def _by_elements(info: OptimizerInfo, key: str) -> Counter[str]:
    """How many elements of parameters have each value of a hyperparameter."""
    counts: Counter[str] = Counter()
    for group in info.groups:
        counts[json.dumps(_plain(group.hyperparameters.get(key)))] += group.elements
    return counts


def _plain(value: Any) -> Any:
    """The value without differences of writing: 0, 0.0 and False are one, None is False."""
    if value is None or isinstance(value, bool | int | float):
        return float(value or 0)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def hyperparameter_changed(pair: Pair) -> Finding | None:
    """A hyperparameter that both optimizers have, with other values or for other numbers of elements."""
    for old, new in _optimizers(pair):
        keys = [key for group in old.groups[:1] for key in group.hyperparameters]
        shared = [k for k in keys if any(k in group.hyperparameters for group in new.groups)]
        for key in sorted(set(shared) - _NOT_COMPARED):
            before, after = _by_elements(old, key), _by_elements(new, key)
            same_size = sum(before.values()) == sum(after.values())
            if set(before) == set(after) and (before == after or not same_size):
                continue
            cause = "weight_decay" if key == "weight_decay" else "hyperparameter_changed"
            shown = f"{key.replace('_', ' ')} is {_shown(after)}; in the reference it is {_shown(before)}"
            evidence = {"name": key, "reference": dict(before), "candidate": dict(after)}
            return Finding(cause, f"The optimizer's {shown}.", evidence=evidence)
    return None


def _shown(counts: Counter[str]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return " and ".join(f"{value} for {elements} elements" for value, elements in sorted(counts.items()))


def parameters_changed(pair: Pair) -> Finding | None:
    """Another number of trained, or of all, parameters."""
    for old, new in _optimizers(pair):
        numbers = (
            f"{new.trainable_elements} elements in {new.unique_parameters} tensors are trained; in the reference "
            f"{old.trainable_elements} elements in {old.unique_parameters} tensors"
        )
        evidence = {
            "reference": [old.trainable_elements, old.unique_parameters, old.total_elements],
            "candidate": [new.trainable_elements, new.unique_parameters, new.total_elements],
        }
        if new.trainable_elements < old.trainable_elements:
            return Finding(
                "parameters_frozen", f"Fewer parameters are trained: {numbers}.", evidence=evidence
            )
        if new.trainable_elements > old.trainable_elements:
            return Finding("parameters_added", f"More parameters are trained: {numbers}.", evidence=evidence)
        if new.total_elements != old.total_elements:
            total = f"{new.total_elements} elements instead of {old.total_elements}"
            return Finding("model_changed", f"The model has another size: {total}.", evidence=evidence)
    return None


def _rates(pair: Pair, group: int) -> list[tuple[float, float]]:
    """Learning rates of one parameter group at each step, reference and candidate."""
    pairs = [(_rate(pair.old(step)[0], group), _rate(pair.new(step)[0], group)) for step in range(pair.steps)]
    return [(old, new) for old, new in pairs if old is not None and new is not None]


def _rate(step: Step, group: int) -> float | None:
    return step.lr[group] if group < len(step.lr) else None


def learning_rate(pair: Pair) -> Finding | None:
    """Another learning rate, in any parameter group: by a constant factor, or along the steps."""
    groups = max((len(step.lr) for step in pair.new(0)), default=0)
    if groups != max((len(step.lr) for step in pair.old(0)), default=0):
        groups = min(groups, 1)
    found = (_of_rates(pair, _rates(pair, group)) for group in range(groups))
    return next((finding for finding in found if finding), None)


def _of_rates(pair: Pair, rates: list[tuple[float, float]]) -> Finding | None:
    within = max(pair.tolerance, 1e-9)
    differing = [step for step, (old, new) in enumerate(rates) if relative(new, old) > within]
    if not differing:
        return None
    first = differing[0]
    old, new = rates[first]
    evidence = {"reference": [rate[0] for rate in rates], "candidate": [rate[1] for rate in rates]}
    ratios = [b / a for a, b in rates if a > 0]
    if len(ratios) == len(rates) and max(ratios) - min(ratios) <= 1e-6 * abs(ratios[0]):
        why = f"{ratios[0]:.4g} times the reference's"
        if pair.size > 1 and pair.is_about(ratios[0], pair.size):
            why += (
                f", the number of replicas ({pair.size}): it was scaled, though the global batch is the same"
            )
        elif pair.size > 1 and pair.is_about(ratios[0], 1 / pair.size):
            why += f", divided by the number of replicas ({pair.size})"
        summary = f"The learning rate is {why} ({new:.6g} instead of {old:.6g} at step {first})."
        return Finding("learning_rate", summary, first, evidence)
    summary = f"The learning rate's schedule differs from step {first} on: {new:.6g} instead of {old:.6g}"
    return Finding("schedule", f"{summary}{_pace(rates, pair.size)}.", first, evidence)


def _pace(rates: list[tuple[float, float]], size: int) -> str:
    """How the candidate's schedule moves along the reference's, where that can be seen."""
    old, new = [a for a, _ in rates], [b for _, b in rates]
    if len(set(new)) == 1 and len(set(old)) > 1:
        return "; it does not move within these steps"
    for pace in sorted({size, 2, 3, 4, 8} - {1}):
        reached = [step for step in range(1, len(old)) if pace * step < len(old)]
        if reached and all(relative(new[step], old[pace * step]) < 1e-6 for step in reached):
            replicas = ", the number of replicas" if pace == size else ""
            return f"; it is stepped {pace} times for each optimizer step{replicas}"
    return ""


def clip_threshold(pair: Pair) -> Finding | None:
    """Another threshold or kind of norm in a call of a clipping function."""
    for number in range(pair.steps):
        for old, new in zip(pair.old(number), pair.new(number), strict=True):
            if not (old.clip and new.clip):
                continue
            mine, theirs = new.clip, old.clip
            evidence = {"reference": theirs.model_dump(), "candidate": mine.model_dump()}
            if mine.norm_type != theirs.norm_type:
                summary = f"Gradients are clipped by their {mine.norm_type:g}-norm; the reference uses the {theirs.norm_type:g}-norm."
                return Finding("clip_threshold", summary, number, evidence)
            if mine.max_norm is None or theirs.max_norm is None:
                continue
            if relative(mine.max_norm, theirs.max_norm) > max(pair.tolerance, 1e-9):
                summary = f"Gradients are clipped to the norm {mine.max_norm:g}; the reference clips to {theirs.max_norm:g}."
                return Finding("clip_threshold", summary, number, evidence)
    return None


def batch_size(pair: Pair) -> Finding | None:
    """Another number of samples in an optimizer step, over all replicas."""
    for number in range(pair.steps):
        old, new = pair.reference.samples(number), pair.candidate.samples(number)
        if old is None or new is None or old == new:
            continue
        why = ""
        if new == old * pair.size:
            why = f", {pair.size} times as many: each replica takes the whole global batch"
        elif new * pair.size == old:
            why = f", one {pair.size}th: the batch is divided once too often"
        summary = f"Step {number} uses {new} samples over all replicas; the reference uses {old}{why}."
        return Finding("batch_size", summary, number, {"reference": old, "candidate": new})
    return None


def eval_mode(pair: Pair) -> Finding | None:
    """Training and evaluation mode mixed up."""
    for number in range(pair.steps):
        for old, new in zip(pair.old(number), pair.new(number), strict=True):
            if old.training != new.training:
                modes = ("training", "evaluation")
                mine, theirs = modes if new.training else modes[::-1]
                summary = (
                    f"At step {number} the model is in {mine} mode; in the reference it is in {theirs} mode."
                )
                return Finding("eval_mode", summary, number)
    return None


def precision_lowered(pair: Pair) -> Finding | None:
    """Parameters, gradients or optimizer state in a narrower type than the reference's."""
    for rank in pair.ranks:
        old, new = pair.reference.ranks[rank].end, pair.candidate.ranks[rank].end
        if not (old and new):
            continue
        for part in ("parameter_dtype", "grad_dtype", "state_dtype"):
            theirs, mine = getattr(old.hardware, part), getattr(new.hardware, part)
            if theirs and mine and _width(mine) < _width(theirs):
                what = {
                    "parameter_dtype": "Parameters",
                    "grad_dtype": "Gradients",
                    "state_dtype": "Optimizer state",
                }[part]
                summary = f"{what}: {mine}; in the reference: {theirs}."
                return Finding(
                    "precision_lowered", summary, evidence={"reference": theirs, "candidate": mine}
                )
    return None


def _width(dtypes: str) -> int:
    return min(_WIDTH.get(name, 32) for name in dtypes.split("+"))
