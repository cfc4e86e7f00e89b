"""Rules on the way in which the model is run: dropout, evaluation between the steps, autocast."""

from collections import Counter

from agentmig.verification.findings import Finding, Pair
from agentmig.verification.records import Step

_LEAST_MASKS = 4


def findings(pair: Pair) -> list[Finding]:
    """What the candidate does otherwise than the reference."""
    rules = (dropout_in_evaluation, dropout_changed, dropout_repeated, evaluates_in_training_mode)
    return [found for rule in rules if (found := rule(pair))] if pair.steps else []


def _dropout(steps: list[Step]) -> Counter[str]:
    """Active dropouts of a step by probability, on the first rank."""
    return Counter({p: count for p, count in steps[0].dropout.items() if p != "evaluation"})


def dropout_changed(pair: Pair) -> Finding | None:
    """Another probability, or dropout at fewer or more places."""
    for step in range(pair.steps):
        old, new = _dropout(pair.old(step)), _dropout(pair.new(step))
        if set(old) == set(new) and all(new[p] >= old[p] for p in old):
            continue
        shown = [_shown(counter) for counter in (new, old)]
        why = f"Dropout at step {step}: {shown[0]}; in the reference: {shown[1]}."
        return Finding("dropout_changed", why, evidence={"reference": dict(old), "candidate": dict(new)})
    return None


def _shown(calls: Counter[str]) -> str:
    return ", ".join(f"{count} of probability {p}" for p, count in sorted(calls.items())) or "none active"


def dropout_in_evaluation(pair: Pair) -> Finding | None:
    """Dropout that is active without gradients, where the reference's is not."""
    old = sum(pair.old(step)[0].dropout.get("evaluation", 0) for step in range(pair.steps))
    new = sum(pair.new(step)[0].dropout.get("evaluation", 0) for step in range(pair.steps))
    if not new or old:
        return None
    why = f"Dropout is active in the evaluation between the steps ({new} calls); the reference's is not."
    return Finding("eval_mode", why, evidence={"calls": new})


def dropout_repeated(pair: Pair) -> Finding | None:
    """The same dropout mask in each step, or on all replicas, where the reference draws a new one."""
    old = [[step.mask for step in pair.old(number)] for number in range(pair.steps)]
    new = [[step.mask for step in pair.new(number)] for number in range(pair.steps)]
    mine, theirs = [m for (m, *_) in new if m], [m for (m, *_) in old if m]
    if len(mine) >= _LEAST_MASKS and len(set(mine)) == 1 and len(set(theirs)) > 1:
        why = f"The dropout mask is the same in each of {len(mine)} steps; the reference draws a new one."
        return Finding("dropout_repeated", why, evidence={"steps": len(mine)})

    def replicas_alike(masks: list[list[str | None]]) -> bool:
        drawn = [set(of_step) for of_step in masks if all(of_step)]
        return len(drawn) >= _LEAST_MASKS and all(len(of_step) == 1 for of_step in drawn)

    if pair.size > 1 and replicas_alike(new) and theirs and not replicas_alike(old):
        why = f"All {pair.size} replicas draw the same dropout masks; the reference's draw different ones."
        return Finding("dropout_repeated", why, evidence={"replicas": pair.size})
    return None


def evaluates_in_training_mode(pair: Pair) -> Finding | None:
    """Forward passes without gradients in training mode: dropout, and batch statistics that move."""
    for step in range(pair.steps):
        old, new = pair.old(step)[0].evaluated, pair.new(step)[0].evaluated
        if len(old) == 2 and len(new) == 2 and new[1] and not old[1]:
            why = (
                f"Before step {step} the model is evaluated in training mode ({new[1]} forward passes without gradients); "
                "in the reference it is in evaluation mode."
            )
            return Finding("eval_mode", why, evidence={"reference": old, "candidate": new})
    return None


def autocast_changed(pair: Pair) -> Finding | None:
    """Mixed precision where the reference has none, or none where it has; fp16 and bf16 count alike (a TPU has no fp16)."""
    for step in range(pair.steps):
        old, new = pair.old(step)[0].autocast, pair.new(step)[0].autocast
        if bool(old) != bool(new):
            why = f"The model runs {_cast(new)} (step {step}); in the reference it runs {_cast(old)}."
            return Finding("autocast_changed", why, step, {"reference": old, "candidate": new})
    return None


def _cast(dtype: str | None) -> str:
    return f"under autocast to {dtype}" if dtype else "without autocast"
