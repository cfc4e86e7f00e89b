from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.bench.baselines import WORDS, judge
from agentmig.spec.workload import Goal
from tests.bench.builders import plain

GOAL = Goal(metric="accuracy", pattern="(.*)", direction="maximize", margin=0.02)
REFERENCE = plain(lines=["loss 1.0", "loss 0.5"], metric=0.9)


def judged(goal: Goal = GOAL, **changes: Any) -> dict[str, bool | None]:
    return judge(REFERENCE, plain(**{"lines": REFERENCE.lines, "metric": 0.9, **changes}), goal)


def test_the_same_training_is_accepted_by_all() -> None:
    assert judged() == dict.fromkeys(WORDS, True)


@pytest.mark.parametrize(
    ("changes", "rejecting"),
    [
        ({"metric": 0.881}, set()),
        ({"metric": 0.87}, {"final_metric"}),
        ({"metric": 0.99}, set()),
        ({"metric": None}, {"final_metric"}),
        ({"lines": ["loss 1.0", "loss 0.524"]}, set()),
        ({"lines": ["loss 1.0", "loss 0.526"]}, {"loss_at_end", "loss_curve"}),
        ({"lines": ["loss 1.1", "loss 0.5"]}, {"loss_curve", "first_loss"}),
        ({"lines": ["loss 1.00002", "loss 0.5"]}, {"first_loss"}),
        ({"lines": ["loss 1.000011", "loss 0.5"]}, set()),
        ({"lines": ["loss 1.0", "loss nan"]}, {"loss_at_end", "loss_curve"}),
        ({"lines": ["loss 1.0", "loss 0.7", "loss 0.5"]}, {"loss_curve"}),
        ({"lines": []}, {"loss_at_end", "loss_curve", "first_loss"}),
        ({"ok": False}, set(WORDS)),
    ],
)
def test_what_each_check_rejects(changes: dict[str, Any], rejecting: set[str]) -> None:
    assert {name for name, accepts in judged(**changes).items() if not accepts} == rejecting


def test_smaller_is_better_where_the_goal_says_so() -> None:
    goal = GOAL.model_copy(update={"direction": "minimize"})
    assert judged(goal, metric=0.95)["final_metric"] is False
    assert judged(goal, metric=0.5)["final_metric"] is True


def test_a_check_without_anything_to_look_at_says_nothing() -> None:
    found = judge(plain(lines=[], metric=None), plain(), GOAL)
    assert found == dict.fromkeys(WORDS)


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4), st.lists(st.floats(), max_size=4)
)
def test_losses_of_any_kind_are_judged(old: list[float], new: list[float]) -> None:
    reference, candidate = (plain(lines=[f"loss {value!r}" for value in each]) for each in (old, new))
    found = judge(reference, candidate, GOAL)
    assert found.keys() == WORDS.keys()
    assert (found["loss_curve"] is None) == (not old)
