from typing import Any

import pytest

from agentmig.bench.manifests import OracleKind
from agentmig.bench.oracle import Decision, decide
from agentmig.bench.plain import Distance
from agentmig.bench.scratch import Change
from tests.bench.builders import plain

CLEAN = plain()


def apart(relative: float | None, problem: str | None = None) -> Distance:
    return Distance(relative=relative, problem=problem)


def decided(kind: OracleKind, again: dict[str, Any] | None = None, **changes: Any) -> Decision:
    repeated = plain(distance=apart(0.0), **(again or {}))
    return decide(kind, CLEAN, repeated, plain(**{"distance": apart(0.0), **changes}), (), [])


@pytest.mark.parametrize(
    ("kind", "changes", "reason"),
    [
        ("training", {"distance": apart(2e-4)}, "its checkpoint is 0.0002 of the norm away"),
        ("training", {"distance": apart(None, "w is gone")}, "its checkpoint is another one: w is gone"),
        ("training", {"steps": 99}, "99 optimizer steps instead of 100"),
        ("training", {"checkpoint": False, "distance": None}, "it leaves no checkpoint"),
        (
            "training",
            {"lines": ["loss 0.5000", "loss 0.2503"]},
            "its printed loss number 2 is 0.2503 instead of 0.2500",
        ),
        ("training", {"lines": ["loss 0.5000"]}, "its printed loss number 2 is nothing instead of 0.2500"),
        ("evaluation", {"lines": ["test accuracy 0.9300"]}, "its evaluation prints"),
        ("evaluation", {"metric": 0.8}, "the base's evaluation gives 0.8 instead of 0.91"),
        ("performance", {"compilations": 7}, "7 compilations instead of 4"),
        ("performance", {"transfers": 40}, "40 transfers instead of 12"),
        ("performance", {"wall_s": 15.5}, "it takes 15.5 s instead of 10.0 s"),
        (
            "performance",
            {"ok": False, "timed_out": True, "ended": "was too slow"},
            "its training was too slow",
        ),
        ("hardware", {"processes": 4}, "4 processes train, not 1"),
        ("hardware", {"devices": ["cpu (CPU)"]}, "cpu (CPU) is where it trains, not xla (CPU)"),
        ("hardware", {"fallbacks": 90}, "90 operations run on the host instead of 0"),
    ],
)
def test_a_mutant_that_differs_in_what_is_looked_at(
    kind: OracleKind, changes: dict[str, Any], reason: str
) -> None:
    found = decided(kind, **changes)
    assert found.outcome == "differs"
    assert found.reason.startswith(reason)


@pytest.mark.parametrize("kind", ["training", "evaluation", "performance", "hardware"])
def test_a_mutant_that_does_the_same_is_equivalent(kind: OracleKind) -> None:
    found = decided(kind, distance=apart(5e-5))
    assert found.outcome == "equivalent"
    assert found.reason.endswith("its checkpoint is 5.0e-05 away")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("training", {"metric": 0.5, "wall_s": 99.0, "compilations": 99}),
        ("evaluation", {"wall_s": 99.0, "distance": apart(0.5)}),
        ("performance", {"distance": apart(0.5), "compilations": 6, "transfers": 18, "wall_s": 14.9}),
        ("performance", {"compilations": None, "transfers": None}),
        ("hardware", {"distance": apart(0.5), "fallbacks": None}),
    ],
)
def test_each_kind_looks_at_its_own_alone(kind: OracleKind, changes: dict[str, Any]) -> None:
    assert decided(kind, **changes).outcome == "equivalent"


def test_what_equal_trainings_are_apart_is_no_difference() -> None:
    noisy = plain(distance=apart(1e-3))
    for distance, outcome in ((5e-3, "equivalent"), (2e-2, "differs")):
        assert decide("training", CLEAN, noisy, plain(distance=apart(distance)), (), []).outcome == outcome
    assert decided("evaluation", again={"metric": 0.90}, metric=0.80).outcome == "equivalent"
    assert decided("performance", again={"wall_s": 20.0}, wall_s=25.0).outcome == "equivalent"


@pytest.mark.parametrize("kind", ["training", "evaluation", "hardware", "performance"])
def test_a_training_that_stops_with_an_error_is_broken(kind: OracleKind) -> None:
    found = decided(kind, ok=False, ended="ended with exit code 1")
    assert (found.outcome, found.reason) == ("broken", "its training ended with exit code 1")


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        (
            [Change("a.py", "edited", True), Change("data.py", "removed")],
            "differs",
            "a protected file differs: data.py (removed)",
        ),
        ([Change("conftest.py", "added")], "differs", "a planted file differs: conftest.py (added)"),
        ([Change("a.py", "edited")], "differs", "code differs: a.py (edited)"),
        ([Change("data.py", "edited", True)], "equivalent", "only comments or layout differ"),
    ],
)
def test_integrity_is_decided_by_the_files_alone(changes: list[Change], outcome: str, reason: str) -> None:
    found = decide("integrity", CLEAN, CLEAN, plain(ok=False, ended="broke"), changes, ["data.py"])
    assert (found.outcome, found.reason) == (outcome, reason)
