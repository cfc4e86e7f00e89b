import json

import pytest

from agentmig.journal.events import GateResult, Verdict
from agentmig.spec.workload import Goal, GoalTest
from agentmig.verification.gates.goal import alpha_for_claim, judge, unreadable

ACCURACY = Goal(metric="test accuracy", pattern="x", direction="maximize", margin=0.015)
LOSS = Goal(metric="loss", pattern="x", direction="minimize", margin=0.1)
OLD = [0.960, 0.961, 0.957, 0.963, 0.959]
TEST = GoalTest()


def judged(new: list[float], number: int = 1, goal: Goal = ACCURACY, old: list[float] = OLD) -> GateResult:
    return judge("xla", goal, old, new, TEST, number, alpha_for_claim(TEST, number))


def test_as_good_passes_with_the_interval() -> None:
    result = judged([0.959, 0.962, 0.957])
    assert result.verdict is Verdict.PASS
    assert result.evidence["interval"][0] > -0.015
    assert result.evidence["nominal_alpha"] < result.evidence["alpha_of_claim"] == 0.025
    assert "margin 0.015" in result.summary


def test_worse_by_more_than_the_margin_fails() -> None:
    result = judged([0.90, 0.91, 0.905])
    assert (result.verdict, result.cause) == (Verdict.FAIL, "goal_worse")
    assert result.evidence["interval"][1] < -0.015


def test_worse_within_the_margin_is_no_failure() -> None:
    assert judged([0.9551, 0.9552, 0.9549]).verdict is Verdict.PASS


def test_minimised_metric() -> None:
    old = [1.00, 1.01, 0.99, 1.0, 1.02]
    assert judged([1.01, 1.0, 1.02], goal=LOSS, old=old).verdict is Verdict.PASS
    assert judged([1.41, 1.40, 1.42], goal=LOSS, old=old).verdict is Verdict.FAIL
    assert judged([0.5, 0.51, 0.52], goal=LOSS, old=old).verdict is Verdict.PASS


@pytest.mark.parametrize(("runs", "following"), [(3, 5), (5, 8), (8, None)])
def test_open_until_the_last_look(runs: int, following: int | None) -> None:
    result = judged([0.955 + 0.02 * (-1) ** index for index in range(runs)])
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "goal_undecided")
    assert result.evidence["next_look"] == following
    assert result.evidence["smallest_margin"] > 0.015
    if following is None:
        assert result.evidence["runs_needed"] > 8 and "seeds would decide" in result.summary
    json.dumps(result.evidence, allow_nan=False)


def test_later_claims_have_less_chance_and_then_none() -> None:
    close = [0.956, 0.953, 0.958]
    first, third = judged(close, 1), judged(close, 3)
    assert first.evidence["nominal_alpha"] > third.evidence["nominal_alpha"]
    assert first.evidence["smallest_margin"] < third.evidence["smallest_margin"]
    spent = judged(close, 5)
    assert (spent.verdict, spent.cause) == (Verdict.INCONCLUSIVE, "goal_undecided")
    assert sum(alpha_for_claim(TEST, number) for number in range(1, 9)) == pytest.approx(TEST.alpha)


def test_one_run_never_decides() -> None:
    assert judged([0.99]).verdict is Verdict.INCONCLUSIVE


def test_values_that_are_no_numbers_are_named() -> None:
    result = judged([0.96, float("nan"), 0.96])
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "not_finite")
    assert "nan" in result.summary
    json.dumps(result.model_dump(mode="json"), allow_nan=False)


def test_checkpoint_that_cannot_be_evaluated_fails() -> None:
    result = unreadable("xla", "Missing key(s) in state_dict")
    assert (result.verdict, result.cause) == (Verdict.FAIL, "evaluation_failed")
