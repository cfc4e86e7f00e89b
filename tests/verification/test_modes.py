from pathlib import Path
from typing import Any

import pytest

from agentmig.verification.findings import Pair
from agentmig.verification.modes import autocast_changed, findings
from agentmig.verification.records import Step
from agentmig.verification.traces import RankTrace, World

STEPS = 6


def world(ranks: int = 1, **fields: Any) -> World:
    """Steps with these fields; a function is asked for each rank and step."""
    made = World(Path("none"))
    for rank in range(ranks):
        made.ranks[rank] = RankTrace(rank)
        for number in range(STEPS):
            values = {
                name: value(rank, number) if callable(value) else value for name, value in fields.items()
            }
            made.ranks[rank].steps.append(Step(step=number, backwards=1, **values))
    return made


def causes(reference: World, candidate: World) -> list[str]:
    return [finding.cause for finding in findings(Pair(reference, candidate, 1e-6))]


def fresh(rank: int, number: int) -> str:
    return f"mask of {rank} at {number}"


@pytest.mark.parametrize("dropout", [{}, {"0.1": 4}, {"0.5": 2}, {"0.1": 2, "0.5": 2}])
def test_other_dropout_is_found(dropout: dict[str, int]) -> None:
    reference = world(dropout={"0.5": 4})
    assert causes(reference, world(dropout=dropout)) == ["dropout_changed"]
    assert causes(reference, world(dropout={"0.5": 4})) == []


def test_a_forward_pass_made_twice_is_no_other_dropout() -> None:
    """Activation checkpointing runs the forward pass again."""
    assert causes(world(dropout={"0.5": 4}), world(dropout={"0.5": 8})) == []


def test_dropout_in_the_evaluation_is_found() -> None:
    (finding,) = findings(Pair(world(), world(dropout={"evaluation": 3}), 1e-6))
    assert finding.cause == "eval_mode"
    assert causes(world(dropout={"evaluation": 3}), world(dropout={"evaluation": 3})) == []


def test_a_mask_that_stays_is_found() -> None:
    assert causes(world(mask=fresh), world(mask="one")) == ["dropout_repeated"]
    assert causes(world(mask=fresh), world(mask=lambda rank, number: f"other {number}")) == []
    assert causes(world(mask="one"), world(mask="one")) == []


def test_replicas_with_one_mask_are_found_where_the_reference_s_have_their_own() -> None:
    same = world(4, mask=lambda rank, number: f"at {number}")
    assert causes(world(4, mask=fresh), same) == ["dropout_repeated"]
    assert causes(same, same) == []


def test_an_evaluation_in_training_mode_is_found() -> None:
    assert causes(world(evaluated=[5, 0]), world(evaluated=[0, 5])) == ["eval_mode"]
    assert causes(world(evaluated=[0, 5]), world(evaluated=[0, 5])) == []
    assert causes(world(evaluated=[5, 0]), world(evaluated=[2, 0])) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("bfloat16", None, True),
        (None, "bfloat16", True),
        ("float16", "bfloat16", False),
        (None, None, False),
        ("bfloat16", "bfloat16", False),
    ],
)
def test_autocast(old: str | None, new: str | None, found: bool) -> None:
    finding = autocast_changed(Pair(world(autocast=old), world(autocast=new), 1e-6))
    assert (finding is not None) is found
