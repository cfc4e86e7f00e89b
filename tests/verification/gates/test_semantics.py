import json
from typing import Any

import pytest

from agentmig.journal.events import Verdict
from agentmig.spec.workload import Semantics
from agentmig.verification.gates.semantics import judge
from agentmig.verification.traces import World
from tests.verification.parallel import Program, note, train, with_changes

TOLERANCE = Semantics()


def judged(new: Program, old: Program | None = None) -> Any:
    reference = train(old or Program())
    return judge("xla", reference, train(new, reference), TOLERANCE)


def change(world: World, rank: int, step: int, **values: Any) -> None:
    world.ranks[rank].steps[step] = world.ranks[rank].steps[step].model_copy(update=values)


def test_same_computation_passes_with_the_numbers() -> None:
    result = judged(with_changes(rounding=1e-11))
    assert result.verdict is Verdict.PASS
    assert "8 steps of 4 ranks agree in float64 (tolerance 1e-06)" in result.summary
    assert 0 < result.evidence["largest_error"]["grad_error"] < 1e-9
    assert len(result.evidence["trace"]) == 8
    json.dumps(result.evidence, allow_nan=False)


def test_the_design_s_fault_is_named() -> None:
    result = judged(with_changes(path=("clip", "mean")))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "clip_before_reduction")
    assert result.evidence["first_divergence"]["step"] == 0
    assert "Gradients are clipped before they are averaged over the 4 replicas" in result.summary
    assert len(result.evidence["trace"][0]["norm_before_clip"][1]) == 4


def test_all_causes_are_told() -> None:
    result = judged(with_changes(path=("clip", "mean"), weight_decay=0.0))
    assert "Also found: weight_decay" in result.summary
    assert [found["cause"] for found in result.evidence["findings"]] == [
        "clip_before_reduction",
        "weight_decay",
    ]


def test_deviation_on_one_rank_alone_is_found() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    change(candidate, 2, 4, grad_error=1e-3)
    result = judge("xla", reference, candidate, TOLERANCE)
    assert result.verdict is Verdict.FAIL
    assert (result.evidence["first_divergence"]["rank"], result.evidence["first_divergence"]["step"]) == (
        2,
        4,
    )


def test_tensor_tolerance_is_its_own() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    change(candidate, 0, 1, grad_error=1e-5)
    assert judge("xla", reference, candidate, TOLERANCE).verdict is Verdict.FAIL
    assert judge("xla", reference, candidate, Semantics(tensor=1e-4)).verdict is Verdict.PASS


def test_nan_is_a_failure_and_stays_json() -> None:
    result = judged(with_changes(nan_at=3))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "not_finite")
    json.dumps(result.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("code", ["state_unmatched", "no_training_forward"])
def test_unmatched_weights_leave_it_open_even_if_numbers_agree(code: str) -> None:
    reference = train(Program())
    candidate = note(train(Program(), reference), code, "conv.weight has another shape")
    result = judge("xla", reference, candidate, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "state_unmatched")
    assert "conv.weight has another shape" in result.summary


def test_other_batches_leave_a_divergence_open() -> None:
    reference = train(Program())
    candidate = note(
        train(with_changes(smoothing=0.1), reference), "no_loader", "no torch DataLoader fed this step"
    )
    result = judge("xla", reference, candidate, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "batches_unmatched")


def test_other_batches_excuse_no_declared_difference() -> None:
    reference = train(Program())
    candidate = note(train(with_changes(weight_decay=0.0), reference), "no_loader", "no torch DataLoader")
    assert judge("xla", reference, candidate, TOLERANCE).cause == "weight_decay"


def test_smaller_batches_accumulated_are_left_open() -> None:
    reference = train(Program())
    candidate = train(with_changes(passes=2, smoothing=0.2), reference)
    for trace in candidate.ranks.values():
        for number, step in enumerate(trace.steps):
            shape = {"own": [[4, 6]], "reference": [[8, 6]]}
            trace.steps[number] = type(step).model_validate({**step.model_dump(), "batch_shape": shape})
    result = judge("xla", reference, candidate, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "batches_unmatched")
    assert "2 backward passes" in result.summary


def test_narrow_cast_passes_within_a_wider_tolerance_and_says_so() -> None:
    reference = train(Program())
    near = note(
        train(with_changes(rounding=1e-5), reference),
        "narrow_cast",
        "loss is torch.float32 in the float64 pass",
    )
    result = judge("xla", reference, near, TOLERANCE)
    assert result.verdict is Verdict.PASS
    assert "weaker pass" in result.summary and result.evidence["tolerance"]["loss"] == 1e-3


def test_narrow_cast_leaves_open_what_rounding_might_do() -> None:
    reference = train(Program())
    far = note(train(with_changes(rounding=5e-3), reference), "narrow_cast", "loss is torch.float32")
    result = judge("xla", reference, far, TOLERANCE)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "weaker pass" in result.summary


def test_narrow_cast_does_not_hide_a_fault_with_a_name() -> None:
    reference = train(Program())
    candidate = note(
        train(with_changes(path=("clip", "mean")), reference), "narrow_cast", "loss is torch.bfloat16"
    )
    result = judge("xla", reference, candidate, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "clip_before_reduction")
    assert result.evidence["tolerance"]["loss"] == 5e-2


def test_missing_rank_fails() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    del candidate.ranks[2]
    result = judge("xla", reference, candidate, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "rank_missing")
    assert "Rank 2 of 4" in result.summary


def test_smaller_world_fails() -> None:
    reference = train(Program())
    assert judge("xla", reference, train(with_changes(world=1)), TOLERANCE).cause == "rank_missing"


def test_no_step_and_no_values_are_nothing_to_compare() -> None:
    reference = train(Program())
    empty = train(with_changes(steps=0))
    assert judge("xla", reference, empty, TOLERANCE).cause == "nothing_to_compare"
    blind = train(Program())
    for trace in blind.ranks.values():
        unseen: dict[str, object] = {"loss": None, "grad_norm": None, "clips": []}
        trace.steps = [step.model_copy(update=unseen) for step in trace.steps]
    result = judge("xla", reference, blind, TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "nothing_to_compare")


def test_fewer_steps_that_agree_are_too_few() -> None:
    result = judged(with_changes(steps=5))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "too_few_steps")


def test_reference_that_cannot_be_used_is_no_fault_of_the_candidate() -> None:
    reference = train(with_changes(nan_at=2))
    assert judge("xla", reference, train(Program()), TOLERANCE).cause == "reference_unusable"
    reference = train(Program())
    reference.damage.append("trace-0.jsonl line 3: x")
    result = judge("xla", reference, train(Program()), TOLERANCE)
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "reference_unusable")


def test_damaged_trace_fails() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    candidate.damage.append("trace-1.jsonl line 3: x")
    assert judge("xla", reference, candidate, TOLERANCE).cause == "trace_damaged"


def test_clipping_that_never_binds_and_is_gone_cannot_be_judged() -> None:
    result = judged(with_changes(path=("mean",)), with_changes(max_norm=50.0))
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "clip_missing")
    assert judged(with_changes(max_norm=50.0), with_changes(max_norm=50.0)).verdict is Verdict.PASS
