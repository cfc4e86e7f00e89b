from typing import Any

import pytest

from agentmig.journal.events import Verdict
from agentmig.spec.workload import Numerics
from agentmig.verification.gates.numerics import errors, judge
from tests.verification.parallel import Program, note, train, with_changes

# In the model nothing is teacher-forced, so one step stands for all: the weights are the reference's there.
STEPS = 1
TOLERANCE = Numerics()


def program(**changes: Any) -> Program:
    return with_changes(steps=STEPS, dtype="float32", path=("mean",), **changes)


def judged(candidate: Program, calibration: float = 1e-7) -> Any:
    reference = train(program())
    own = train(program(rounding=calibration, seed=1), reference)
    return judge("xla", reference, own, train(candidate, reference), TOLERANCE)


def test_rounding_passes() -> None:
    result = judged(program(rounding=1e-6))
    assert result.verdict is Verdict.PASS
    assert result.evidence["limits"]["gradient"] == TOLERANCE.floor


def test_what_rounding_does_not_explain_fails() -> None:
    result = judged(program(gradient_noise=1e-3))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "numerics_differ")
    assert result.evidence["medians"]["gradient"] > result.evidence["limits"]["gradient"]


def test_tolerance_grows_with_the_reference_s_own_noise() -> None:
    noisy = program(rounding=1e-3)
    assert judged(noisy).verdict is Verdict.FAIL
    result = judged(noisy, calibration=1e-3)
    assert result.verdict is Verdict.PASS
    own = result.evidence["calibration_medians"]["gradient"]
    assert result.evidence["limits"]["gradient"] == pytest.approx(10 * own)


def test_known_pattern_is_named() -> None:
    assert judged(program(loss_factor=4.0)).cause == "loss_scaled"
    summed = with_changes(steps=STEPS, dtype="float32", path=("sum",))
    assert judged(summed).cause == "gradients_summed"


def test_narrower_master_weights_are_named_even_if_steps_agree() -> None:
    result = judged(with_changes(steps=STEPS, dtype="bfloat16", path=("mean",)))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "precision_lowered")
    assert "bfloat16" in result.summary and "float32" in result.summary


def test_medians_forgive_a_single_step() -> None:
    several = with_changes(steps=5, path=("mean",))
    reference = train(several)
    candidate = train(several, reference)
    candidate.ranks[1].steps[3] = candidate.ranks[1].steps[3].model_copy(update={"grad_error": 2e-3})
    result = judge("xla", reference, train(several, reference), candidate, TOLERANCE)
    assert result.verdict is Verdict.PASS
    assert max(result.evidence["errors"]["gradient"]) == 2e-3


def test_nan_counts_as_infinite() -> None:
    result = judged(program(nan_at=0))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "not_finite")
    assert result.evidence["errors"]["loss"] == ["inf"]
    reference = train(program())
    candidate = train(program(), reference)
    for trace in candidate.ranks.values():
        trace.steps = [step.model_copy(update={"grad_error": float("nan")}) for step in trace.steps]
    assert errors(reference, candidate)["gradient"] == [float("inf")]


def test_open_without_calibration_match_or_values() -> None:
    reference = train(program())
    good = train(program(), reference)
    unmatched = note(train(program(), reference), "state_unmatched", "no names")
    assert judge("xla", reference, good, unmatched, TOLERANCE).cause == "state_unmatched"
    assert (
        judge("xla", reference, train(with_changes(steps=0)), good, TOLERANCE).cause == "reference_unusable"
    )
    blind = train(program())
    for trace in blind.ranks.values():
        trace.steps = [step.model_copy(update={"loss": None}) for step in trace.steps]
    result = judge("xla", reference, good, blind, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "nothing_to_compare")
