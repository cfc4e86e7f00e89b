import math
from typing import Any

from hypothesis import given

from agentmig.journal import GateResult, Verdict
from agentmig.report.evidence import as_number, difference, flat, goal, numerics, scalar, semantics
from agentmig.report.model import Pair
from tests.report.demo import deciding, forced
from tests.report.journals import evidence, json_values


def result(**found: Any) -> GateResult:
    return GateResult(gate="g", target="t", verdict=Verdict.FAIL, summary="s", evidence=found)


@given(evidence)
def test_no_evidence_is_too_strange_to_be_read(found: dict[str, Any]) -> None:
    strange = result(**found)
    seen = semantics(strange)
    if seen:
        assert all(len(pairs) == len(seen.steps) for pairs in seen.quantities.values())
        assert seen.quantities.keys() == seen.differences.keys()
    forced_pass = numerics(strange)
    assert forced_pass is None or forced_pass.reference or forced_pass.errors
    goal(strange)
    assert all(isinstance(cell, str) for row in flat(strange.evidence) for cell in row)


@given(json_values)
def test_any_value_has_words(value: Any) -> None:
    assert isinstance(scalar(value), str)


def test_words_for_numbers_that_json_lacks_are_read() -> None:
    assert as_number("nan") != as_number("nan")
    assert (as_number("-inf"), as_number(-(10**400))) == (-math.inf, -math.inf)
    assert as_number(True) is None
    assert as_number("12") is None


def test_the_steps_of_a_real_gate_are_read_with_their_first_divergence() -> None:
    view = semantics(deciding(clipping=True))
    assert view is not None
    assert view.steps == list(range(12))
    first = view.quantities["norm_before_clip"][0]
    assert len(first.reference) == 1 and len(first.candidate) == 4
    assert view.differences["loss"][0] == 0.0
    applied = view.differences["grad_norm"][0]
    assert applied is not None and view.tolerance is not None and applied > view.tolerance > 0
    assert view.first_divergence is not None
    assert (view.first_divergence.step, view.first_divergence.quantity) == (0, "norm before clip")
    assert "at step 0 on rank 2" in view.first_divergence.words
    assert [found.cause for found in view.findings] == ["clip_before_reduction"]


def test_a_tensor_that_is_named_is_told() -> None:
    where = {"quantity": "grad_error", "step": 3, "rank": 1, "tensor": "conv1.weight", "error": "inf"}
    view = semantics(result(trace=[{"step": 3, "loss": [1.0, 1.0]}], first_divergence=where))
    assert view is not None and view.first_divergence is not None
    assert view.first_divergence.words == "grad error of tensor conv1.weight at step 3 on rank 1: error inf"


def test_ranks_are_compared_one_by_one() -> None:
    assert difference(Pair(reference=[1.0], candidate=[1.0, 1.5])) == 0.5
    assert difference(Pair(reference=[1.0, 2.0], candidate=[2.0, 1.0])) == 1.0
    assert difference(Pair(reference=[1.0], candidate=[math.nan])) == math.inf
    assert difference(Pair(reference=[], candidate=[1.0])) is None


def test_the_calibration_of_a_real_gate_is_read() -> None:
    view = numerics(forced())
    assert view is not None
    assert len(view.reference) == len(view.errors["loss"]) == len(view.calibration_errors["gradient"]) == 12
    assert view.medians["gradient"] is not None and view.limits["gradient"] is not None
    assert view.medians["gradient"] < view.limits["gradient"]


def test_evidence_is_flattened_and_cut() -> None:
    rows = dict(flat({"a": {"b": [1, 2], "c": None}, "trace": [1], "many": [{"x": n} for n in range(20)]}))
    assert rows["a.b"] == "1, 2"
    assert rows["a.c"] == "none"
    assert "trace" not in rows
    assert rows["many[11].x"] == "11"
    assert rows["many"] == "8 more"
    assert len(flat({str(n): n for n in range(1000)})) == 151
