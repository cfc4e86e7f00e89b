"""Is the result as good? The base commit's evaluation of checkpoints of several seeds, tested for non-inferiority."""

from collections.abc import Sequence
from typing import Any

from agentmig.journal.events import GateResult
from agentmig.spec.workload import Goal, GoalTest
from agentmig.verification.gates.result import failed, inconclusive, passed
from agentmig.verification.statistics import SampleError, claim_alpha, compare, nominal_alpha, runs_needed

GATE = "goal"


def judge(
    target: str,
    goal: Goal,
    reference: Sequence[float],
    candidate: Sequence[float],
    test: GoalTest,
    claim_number: int,
    alpha: float,
) -> GateResult:
    """Test, at one look, whether the goal metric is worse by the margin.

    Args:
        target: its name.
        goal: metric, direction and margin.
        reference: the metric of the reference's seeds.
        candidate: the metric of the candidate's seeds so far.
        test: looks, and over how many claims alpha is spread.
        claim_number: of this claim, from 1; for the record.
        alpha: this claim's chance of a false acceptance over all looks (`alpha_for_claim`).

    Returns:
        Pass where the data show that it isn't worse by the margin, fail where they show that it is, else inconclusive:
        with `next_look` in the evidence (a number of runs; None after the last look) and `runs_needed` (or None).
    """
    looks = tuple(sorted(set(test.looks)))
    evidence: dict[str, Any] = {
        "metric": goal.metric,
        "direction": goal.direction,
        "margin": goal.margin,
        "reference": list(reference),
        "candidate": list(candidate),
        "claim_number": claim_number,
        "alpha_of_claim": alpha,
        "looks": list(looks),
        "next_look": None,
    }
    if alpha <= 0:
        summary = f"The chance of a false acceptance is spent: claim {claim_number} of a migration that has {test.claims}."
        return inconclusive(GATE, target, "goal_undecided", summary, **evidence)
    level = nominal_alpha(looks, alpha)
    try:
        seen = compare(reference, candidate, goal.margin, goal.direction, level)
    except SampleError as error:
        unusable = "goal_undecided" if len(candidate) < 2 else "not_finite"
        return inconclusive(GATE, target, unusable, f"The metric can't be tested: {error}.", **evidence)
    needed = runs_needed(reference, candidate, goal.margin, goal.direction, level)
    evidence |= {
        "nominal_alpha": level,
        "difference": seen.difference,
        "standard_error": seen.standard_error,
        "interval": [seen.low, seen.high],
        "p_not_worse": seen.p_not_worse,
        "p_worse": seen.p_worse,
        "smallest_margin": seen.smallest_margin,
        "runs_needed": needed,
    }
    word = "better" if seen.difference >= 0 else "worse"
    means = f"{_mean(candidate):.4g} over {len(candidate)} seeds, the reference {_mean(reference):.4g} over {len(reference)}"
    numbers = (
        f"{goal.metric} is {means}: {abs(seen.difference):.3g} {word}, confidence bounds {seen.low:+.3g} to "
        f"{seen.high:+.3g} (each at level {level:.2g}), margin {goal.margin:g}"
    )
    if seen.p_not_worse <= level:
        return passed(GATE, target, f"Not worse by the margin: {numbers}.", **evidence)
    if seen.p_worse <= level:
        return failed(GATE, target, "goal_worse", f"Worse by more than the margin: {numbers}.", **evidence)
    evidence["next_look"] = next((look for look in looks if look > len(candidate)), None)
    if evidence["next_look"] is not None:
        further = f"The next look is at {evidence['next_look']} seeds"
    elif needed is not None:
        further = f"About {needed} seeds would decide, {max(0, needed - len(candidate))} more"
    else:
        further = "More seeds of the candidate would not decide"
    support = f"the data support a margin of {seen.smallest_margin:.3g}"
    return inconclusive(
        GATE, target, "goal_undecided", f"Undecided: {numbers}; {support}. {further}.", **evidence
    )


def alpha_for_claim(test: GoalTest, number: int) -> float:
    """The chance of a false acceptance that one claim may use; all claims of a migration add up to `test.alpha`.

    Args:
        test: alpha and over how many claims it is spread.
        number: of the claim, from 1.

    Returns:
        Half of what is left, for the last claim all of it; 0 for any later one.
    """
    return claim_alpha(test.alpha, test.claims, number)


def unreadable(target: str, message: str) -> GateResult:
    """The result for a checkpoint from which the base commit's evaluation got no metric.

    Args:
        target: its name.
        message: what the evaluation said.
    """
    summary = f"The untouched project's evaluation got no metric from the candidate's checkpoint: {message}"
    return failed(GATE, target, "evaluation_failed", summary)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
