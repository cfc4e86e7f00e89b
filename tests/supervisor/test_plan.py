from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal import Journal, State, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    MigrationStarted,
    ReferenceMeasured,
    SessionStarted,
    Turn,
)
from agentmig.supervisor.inputs import Inputs, read_inputs
from agentmig.supervisor.plan import STUDY_ATTEMPTS, Known, Range, plan_run, total
from agentmig.verification.references import GoalReference
from tests.journal.builders import put

GOAL = GoalReference(
    values=[0.9] * 5, seeds=[1, 2, 3, 4, 5], wall_s=60, run_s=10.0, steps=5, samples_per_s=1.0, hardware="CPU"
)


@pytest.fixture
def inputs(workload_file: Callable[[str], Path], minimal: str) -> Inputs:
    """A workload with an emulated target and no budget."""
    return read_inputs(workload_file(minimal))


def _with(inputs: Inputs, **tables: object) -> Inputs:
    raw = {**inputs.workload.model_dump(mode="json"), **tables}
    return inputs.model_copy(update={"workload": type(inputs.workload).model_validate(raw)})


def _history(folder: Path, seconds: float, attempts: int) -> State:
    with Journal(folder) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, Turn, usd=1.5)
        for number in range(attempts):
            put(journal, AttemptStarted, attempt=f"a{number}")
        put(journal, AttemptStarted, attempt="v", by="verifier", purpose="claim-1: training 1 (seed 3)")
        put(journal, AttemptFinished, attempt="v", wall_s=seconds)
        return fold(journal.events)


def test_a_cached_reference_is_not_run_again_and_is_the_basis_of_the_rest(inputs: Inputs) -> None:
    plan = plan_run(inputs, Known("c0ffee", goal=GOAL), "migrate", "live")
    assert not [step for step in plan.steps if step.where == "reference"]
    training = plan.steps[-1]
    assert (training.runs.low, training.runs.high) == (3, 8 * 4)
    assert (training.seconds.low, training.seconds.high) == (30.0, 320.0)
    price = inputs.prices.accelerators["cpu"].usd_per_chip_hour
    assert training.usd and training.usd.low == pytest.approx(30 * price / 3600)


def test_without_any_measurement_the_time_out_is_the_bound(inputs: Inputs) -> None:
    plan = plan_run(inputs, Known("c0ffee"), "migrate", "live")
    first = plan.steps[0]
    assert (first.where, first.seconds.low, first.seconds.high) == ("reference", 0.0, 5 * 3600.0)
    assert "train.timeout_s" in first.basis
    tries = plan.steps[1]
    assert tries.runs.high == STUDY_ATTEMPTS


def test_earlier_runs_are_a_better_basis(inputs: Inputs, tmp_path: Path) -> None:
    history = [_history(tmp_path / "a", 20.0, 2), _history(tmp_path / "b", 40.0, 5)]
    plan = plan_run(inputs, Known("c0ffee", goal=GOAL, history=history), "migrate", "live")
    tries, _, training = plan.steps
    assert tries.runs.high == 5
    assert (training.seconds.low, training.seconds.high) == (60.0, 40.0 * 32)
    assert plan.agent and plan.agent.usd.low == 1.5


def test_a_run_that_only_played_the_reference_before_says_how_long_it_took(
    inputs: Inputs, tmp_path: Path
) -> None:
    with Journal(tmp_path / "a") as journal:
        put(journal, MigrationStarted)
        put(
            journal,
            ReferenceMeasured,
            key="k",
            cached=False,
            hardware="CPU",
            chips=1,
            metric="m",
            values=[1.0],
            seeds=[1],
            wall_s=1.0,
            samples_per_s=None,
            detail={"run_s": 7.0},
        )
        state = fold(journal.events)
    plan = plan_run(inputs, Known("c0ffee", history=[state]), "migrate", "live")
    assert plan.steps[0].seconds.low == 35.0
    assert plan.steps[1].runs.high == STUDY_ATTEMPTS  # its agent never began, so it tells nothing of attempts


def test_money_is_asked_for_where_a_model_or_an_accelerator_costs_it(inputs: Inputs) -> None:
    assert plan_run(inputs, Known("c"), "migrate", "live").costs_money
    assert not plan_run(inputs, Known("c"), "migrate", "played").costs_money
    assert not plan_run(inputs, Known("c"), "verify", "nobody").costs_money
    real = {"v": {"backend": "xla", "environment": "base", "accelerator": "v5e", "chips": 4}}
    plan = plan_run(_with(inputs, targets=real), Known("c", goal=GOAL), "migrate", "played")
    assert plan.costs_money
    hour = inputs.prices.accelerators["v5e"].usd_per_chip_hour * 4
    assert plan.steps[-1].usd and plan.steps[-1].usd.low == pytest.approx(30 * hour / 3600)


def test_an_accelerator_without_a_price_leaves_the_cost_unknown_and_says_so(inputs: Inputs) -> None:
    strange = {"v": {"backend": "xla", "environment": "base", "accelerator": "abacus"}}
    plan = plan_run(_with(inputs, targets=strange), Known("c", goal=GOAL), "migrate", "played")
    assert plan.compute_usd is None
    assert any("abacus" in remark for remark in plan.remarks)


def test_what_is_not_committed_is_remarked(inputs: Inputs) -> None:
    plan = plan_run(inputs, Known("c", uncommitted=["a.py", "b.py"]), "migrate", "live")
    assert any("2 uncommitted changes" in remark and "a.py" in remark for remark in plan.remarks)


def test_a_verification_has_one_claim_and_no_agent(inputs: Inputs) -> None:
    plan = plan_run(inputs, Known("c", goal=GOAL), "verify", "nobody")
    assert plan.agent is None
    assert plan.steps[-1].runs.high == 8
    assert len(plan.steps) == 2


@given(st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.floats(0, 1e6)), max_size=6))
def test_a_sum_is_bounded_only_if_every_part_is(parts: list[tuple[float, float | None]]) -> None:
    summed = total(Range(low=low, high=high) for low, high in parts)
    assert summed.low == sum(low for low, _ in parts)
    assert (summed.high is None) == any(high is None for _, high in parts)
