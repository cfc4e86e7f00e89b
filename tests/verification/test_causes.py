import math
from collections.abc import Callable
from typing import Any

import pytest

from agentmig.failures.taxonomy import CAUSES
from agentmig.verification.causes import explain, findings
from tests.verification.parallel import Program, train, with_changes


def warmup(step: int) -> float:
    return 0.5 * min(1.0, (step + 1) / 20)


FAULTS: dict[str, tuple[Program, Program]] = {
    "clip_before_reduction": (Program(), with_changes(path=("clip", "mean"))),
    "clip_before_reduction, and then a sum": (Program(), with_changes(path=("clip", "sum"))),
    "clip_before_reduction that doesn't bind": (
        with_changes(max_norm=50.0),
        with_changes(max_norm=50.0, path=("clip", "mean")),
    ),
    "clip_before_reduction, order unseen": (Program(), with_changes(path=("clip", "mean"), sees_order=False)),
    "gradients_not_reduced": (Program(), with_changes(path=("clip",))),
    "gradients_not_reduced without clipping": (with_changes(path=("mean",)), with_changes(path=())),
    "gradients_not_reduced where clipping binds on some": (
        with_changes(max_norm=1.15),
        with_changes(max_norm=1.15, path=("clip",)),
    ),
    "gradients_summed": (Program(), with_changes(path=("sum", "clip"))),
    "gradients_summed without clipping": (with_changes(path=("mean",)), with_changes(path=("sum",))),
    "gradients_divided": (with_changes(path=("sum",)), with_changes(path=("mean",))),
    "reduced_twice": (Program(), with_changes(path=("mean", "clip", "sum"))),
    "reduced_twice by sums": (Program(), with_changes(path=("sum", "sum", "clip"))),
    "accumulation_denominator": (with_changes(passes=2), with_changes(passes=2, divisor=1.0)),
    "accumulation_denominator, divided twice": (with_changes(passes=2), with_changes(passes=2, divisor=4.0)),
    "loss_scaled": (Program(), with_changes(loss_factor=4.0)),
    "zero_grad_missing": (with_changes(max_norm=0.2), with_changes(zero_grad=False)),
    "zero_grad_missing without clipping": (
        with_changes(path=("mean",)),
        with_changes(path=("mean",), zero_grad=False),
    ),
    "clip_missing": (Program(), with_changes(path=("mean",))),
    "clip_threshold": (Program(), with_changes(max_norm=0.4)),
    "clip_threshold of another norm": (Program(), with_changes(norm_type=math.inf)),
    "clip_added": (with_changes(path=("mean",)), Program()),
    "clip_on_scaled": (
        with_changes(path=("mean", "clip")),
        with_changes(path=("mean", "clip", "unscale"), loss_scale=1024.0),
    ),
    "learning_rate": (Program(), with_changes(rate=lambda step: 2.0)),
    "schedule": (with_changes(rate=warmup), with_changes(rate=lambda step: warmup(4 * step))),
    "schedule that stands still": (with_changes(rate=warmup), with_changes(rate=lambda step: warmup(0))),
    "optimizer_changed": (Program(), with_changes(optimizer="SignSGD")),
    "hyperparameter_changed": (Program(), with_changes(momentum=0.8)),
    "weight_decay": (Program(), with_changes(weight_decay=0.0)),
    "batch_size": (Program(), with_changes(samples=32)),
    "parameters_frozen": (Program(), with_changes(frozen=True)),
    "parameters_added": (with_changes(frozen=True), Program()),
    "parameters_not_updated": (Program(), with_changes(updates=False)),
    "eval_mode": (Program(), with_changes(training=False)),
    "loss_changed": (Program(), with_changes(smoothing=0.1)),
    "gradient_changed": (Program(), with_changes(gradient_noise=0.01)),
    "gradient_changed after a step, by more than was left": (
        with_changes(path=("mean",)),
        with_changes(gradient_noise=5.0, noise_from=1, path=("mean",)),
    ),
    "update_changed": (Program(), with_changes(update_factor=0.5)),
    "not_finite": (Program(), with_changes(nan_at=3)),
    "precision_lowered": (Program(), with_changes(dtype="bfloat16")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_cause_is_named_from_true_arithmetic(fault: str) -> None:
    old, new = FAULTS[fault]
    reference = train(old)
    found = findings(reference, train(new, reference))
    assert found[0].cause == fault.partition(" ")[0].rstrip(","), found
    assert found[0].cause in CAUSES
    # Nothing but numbers and words of a sentence, for people.
    assert found[0].summary.endswith((".", ")"))
    assert any(character.isdigit() for character in found[0].summary) or found[0].cause == "optimizer_changed"


@pytest.mark.parametrize(
    "program",
    [
        Program(),
        with_changes(path=("mean",)),
        with_changes(passes=2),
        with_changes(passes=2, path=("mean", "mean", "clip")),
        with_changes(world=1),
        with_changes(world=1, path=("clip",)),
        with_changes(rounding=1e-12),
    ],
    ids=lambda program: "-".join(program.path) + f"-{program.world}-{program.passes}-{program.rounding}",
)
def test_nothing_is_found_in_a_faithful_program(program: Program) -> None:
    reference = train(with_changes(path=program.path, world=program.world))
    assert explain(reference, train(program, reference)) is None


def test_clip_before_reduction_gives_the_numbers() -> None:
    reference = train(Program())
    found = explain(reference, train(with_changes(path=("clip", "mean")), reference))
    assert found is not None
    assert found.step == 0
    assert "before they are averaged over the 4 replicas" in found.summary
    assert len(set(found.evidence["norms_before_clip"])) == 4
    assert max(found.evidence["applied_norms"]) < 0.2
    assert found.evidence["reference_applied_norms"] == pytest.approx([0.2] * 4)


def test_learning_rate_names_the_world_size() -> None:
    reference = train(Program())
    scaled = explain(reference, train(with_changes(rate=lambda step: 0.5 * 4), reference))
    other = explain(reference, train(with_changes(rate=lambda step: 0.5 * 3), reference))
    assert scaled is not None and other is not None
    assert "4 times the reference's, the number of replicas (4)" in scaled.summary
    assert "replicas" not in other.summary


def test_schedule_names_its_pace() -> None:
    reference = train(with_changes(rate=warmup))
    found = explain(reference, train(with_changes(rate=lambda step: warmup(4 * step)), reference))
    assert found is not None
    assert "stepped 4 times for each optimizer step, the number of replicas" in found.summary


def test_batch_size_names_the_whole_global_batch() -> None:
    reference = train(Program())
    found = explain(reference, train(with_changes(samples=32), reference))
    assert found is not None
    assert "128 samples" in found.summary and "uses 32" in found.summary
    assert "each replica takes the whole global batch" in found.summary


def test_several_causes_are_all_found() -> None:
    reference = train(Program())
    both = with_changes(path=("clip", "mean"), weight_decay=0.0)
    assert [finding.cause for finding in findings(reference, train(both, reference))] == [
        "clip_before_reduction",
        "weight_decay",
    ]


def test_replicas_with_other_weights_are_told() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    for step in candidate.ranks[2].steps:
        object.__setattr__(step, "param_norm", (step.param_norm or 0.0) * 1.01)
    found = explain(reference, candidate)
    assert found is not None and found.cause == "replicas_differ"


def test_what_fits_no_pattern_is_named_by_its_place() -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    for trace in candidate.ranks.values():
        object.__setattr__(trace.steps[5], "loss", 9.0)
    found = explain(reference, candidate)
    assert found is not None and found.cause == "diverged"
    assert found.step == 5 and "9" in found.summary


def test_groups_of_parameters_may_be_cut_differently() -> None:
    reference, candidate = train(Program()), train(Program())
    for trace in candidate.ranks.values():
        group = trace.optimizers[0].groups[0]
        halves = [
            group.model_copy(update={"elements": 20}),
            group.model_copy(update={"elements": group.elements - 20}),
        ]
        object.__setattr__(trace.optimizers[0], "groups", halves)
    assert explain(reference, candidate) is None
    for trace in candidate.ranks.values():
        other: dict[str, Any] = {**halves[1].hyperparameters, "weight_decay": 0.0}
        changed = type(halves[1])(parameters=1, elements=halves[1].elements, **other)
        object.__setattr__(trace.optimizers[0], "groups", [halves[0], changed])
    found = explain(reference, candidate)
    assert found is not None and found.cause == "weight_decay"
    assert "20 elements" in found.summary


@pytest.mark.parametrize(
    "change", [lambda s: {"loss": None, "grad_norm": None}, lambda s: {"clips": [], "order": []}]
)
def test_missing_values_are_no_finding(change: Callable[[Any], dict[str, Any]]) -> None:
    reference = train(Program())
    candidate = train(Program(), reference)
    for trace in candidate.ranks.values():
        trace.steps = [step.model_copy(update=change(step)) for step in trace.steps]
    assert explain(reference, candidate) is None
