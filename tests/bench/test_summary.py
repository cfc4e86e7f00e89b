from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.bench.arms import Arm
from agentmig.bench.manifests import Operator
from agentmig.bench.model import FaultBench
from agentmig.bench.rows import Observation
from agentmig.bench.summary import calibration_shares, document, upper_bound
from tests.bench.builders import arm, observation, verified

LR = Operator.model_validate(
    {
        "schema_version": 1,
        "name": "lr",
        "kind": "fault",
        "title": "Another learning rate",
        "number": 24,
        "expected": ["learning_rate"],
        "oracle": "training",
        "mutant": [
            {"workload": "tiny", "target": "cpu", "transform": "a.py", "note": "the first"},
            {"workload": "tiny", "target": "cpu", "transform": "b.py", "expected": ["schedule"]},
            {"inexpressible": "one process here"},
            {"workload": "tiny", "target": "tpu", "inexpressible": "no TPU here"},
        ],
    }
)
FIRST, SECOND = arm("lr", id="lr.tiny.cpu.1", key="1"), arm("lr", id="lr.tiny.cpu.2", key="2")
CLEAN, HELPER = arm("clean-migration", "clean"), arm("helper", "rewrite")
CHEAT = arm("cheat", "cheat")


def made(found: Mapping[Arm, Observation | None], problems: Mapping[str, str] | None = None) -> FaultBench:
    known = {each.key: seen for each, seen in found.items() if seen}
    return document(list(found), known, [LR], problems or {}, "a machine")


def test_mutants_are_counted_by_what_came_out() -> None:
    summary = made(
        {
            CLEAN: observation(CLEAN),
            HELPER: observation(HELPER, verified("inconclusive", gate="goal")),
            FIRST: observation(FIRST),
            SECOND: observation(SECOND),
            CHEAT: observation(CHEAT, verified("pass")),
            arm("same"): observation(
                arm("same"), outcome="equivalent", reason="nothing differs", verified=None
            ),
            arm("loud"): observation(arm("loud"), outcome="broken"),
            arm("silent"): observation(arm("silent"), verified("inconclusive", gate="goal")),
        }
    ).summary
    assert (summary.operators, summary.workloads) == (3, 1)
    assert (summary.mutants, summary.detected, summary.cause_right) == (4, 2, 1)
    assert (summary.clean, summary.clean_rejected, summary.clean_inconclusive) == (2, 0, 1)
    assert summary.detection.low == pytest.approx(0.0676, abs=1e-4)
    assert summary.detection.high == pytest.approx(0.9324, abs=1e-4)
    assert summary.cause_precision.n == 2
    assert [row.arm for row in summary.missed.rows] == ["cheat.tiny.cpu", "silent.tiny.cpu"]
    assert [(row.arm, row.verdict) for row in summary.alarms.rows] == [("helper.tiny.cpu", "inconclusive")]
    assert [(row.arm, row.cause, row.expected) for row in summary.wrong_cause.rows] == [
        ("lr.tiny.cpu.2", "learning_rate", "schedule")
    ]
    assert [row.arm for row in summary.loud.rows] == ["loud.tiny.cpu"]
    assert [(row.arm, row.why) for row in summary.equivalent.rows] == [("same.tiny.cpu", "nothing differs")]
    assert [(row.arm, row.why) for row in summary.inexpressible.rows] == [
        ("lr", "one process here"),
        ("lr.tiny.tpu", "no TPU here"),
    ]
    assert not summary.reached


def test_rows_carry_what_their_operator_says() -> None:
    first, second = made({FIRST: observation(FIRST), SECOND: observation(SECOND)}).rows
    assert (first.title, first.number, first.note, first.expected, first.cause_right) == (
        "Another learning rate",
        24,
        "the first",
        ["learning_rate"],
        True,
    )
    assert (second.note, second.expected, second.cause_right) == ("", ["schedule"], False)


def test_the_targets_are_reached_where_mutants_are_rejected_and_nothing_correct_is() -> None:
    good = {CLEAN: observation(CLEAN), FIRST: observation(FIRST)}
    loud = arm("loud")
    assert made(good).summary.reached
    assert made(good | {loud: observation(loud, outcome="broken")}).summary.reached
    assert not made(good | {loud: observation(loud, verified("pass"), outcome="broken")}).summary.reached
    assert not made(good | {HELPER: observation(HELPER, verified("fail"))}).summary.reached
    assert made(good | {HELPER: observation(HELPER, verified("inconclusive"))}).summary.reached
    left = made(good | {HELPER: None}).summary
    assert not left.reached
    assert [(row.arm, row.why) for row in left.not_run.rows] == [(HELPER.id, "interrupted before it was run")]
    assert made(good | {HELPER: None}, {HELPER.id: "disk full"}).summary.not_run.rows[0].why == "disk full"


@pytest.mark.parametrize(("missed", "reached"), [(1, True), (2, False)])
def test_one_of_twenty_may_be_missed(missed: int, reached: bool) -> None:
    arms = [arm("lr", id=f"lr.tiny.cpu.{n % 2 + 1}", key=str(n)) for n in range(20)]
    found = {each: observation(each, verified("pass") if n < missed else None) for n, each in enumerate(arms)}
    assert made(found).summary.reached is reached


def test_costs_are_the_verification_and_a_share_of_the_calibration() -> None:
    found = {
        FIRST: observation(FIRST),
        CLEAN: observation(CLEAN, verified("pass", wall_s=30.0, calibration_s=44.0)),
    }
    row, clean = made(found).rows
    assert calibration_shares(list(found.items())) == {("tiny", "cpu"): 22.0}
    assert (row.verify_s, row.calibration_s) == (8.0, 22.0)
    assert row.cost_fraction == pytest.approx(30 / 40)
    assert row.cost_runs == pytest.approx(3.0)
    summary = made(found).summary
    assert summary.median_cost_fraction == pytest.approx(30 / 40)
    assert summary.worst_tenth_cost_runs == pytest.approx(3.0)
    assert summary.clean_median_cost_fraction == clean.cost_fraction == pytest.approx(52 / 40)


def test_gates_are_counted_with_their_false_alarms() -> None:
    found = {
        FIRST: observation(FIRST),
        SECOND: observation(SECOND, verified(gate="goal")),
        CLEAN: observation(CLEAN, verified()),
    }
    rows = {row.gate: row for row in made(found).summary.by_gate.rows}
    assert (rows["semantics"].mutants, rows["semantics"].clean, rows["semantics"].cause_right) == (1, 1, 1)
    assert rows["semantics"].precision.value == 0.5
    assert rows["goal"].precision.value == 1.0
    assert rows["runs"].precision.value is None
    (operator,) = made(found).summary.by_operator.rows
    assert operator.gates == "semantics 1, goal 1"
    (place,) = made(found).summary.by_workload.rows
    assert (place.mutants, place.detected, place.clean, place.clean_rejected) == (2, 2, 1, 1)


def test_simpler_checks_are_counted_where_they_say_something() -> None:
    found = {
        FIRST: observation(FIRST),
        CLEAN: observation(CLEAN, baselines={"final_metric": False, "loss_curve": True}),
    }
    rows = {row.check: row for row in made(found).summary.baselines.rows}
    assert (rows["final_metric"].detected, rows["final_metric"].clean_rejected) == (0, 1)
    assert (rows["loss_curve"].detected, rows["loss_curve"].mutants, rows["loss_curve"].clean_rejected) == (
        1,
        1,
        0,
    )
    assert (rows["first_loss"].mutants, rows["first_loss"].clean) == (0, 0)


@pytest.mark.parametrize(("total", "bound"), [(30, 0.095), (59, 0.0495), (300, 0.00994)])
def test_no_alarm_bounds_the_rate_of_alarms(total: int, bound: float) -> None:
    assert upper_bound(0, total) == pytest.approx(bound, abs=5e-4)


def test_the_bound_of_nothing_and_of_everything() -> None:
    assert upper_bound(0, 0) is None
    assert upper_bound(3, 3) == 1.0


_OUTCOMES = st.sampled_from(["differs", "equivalent", "broken"])
_VERDICTS = st.sampled_from(["pass", "fail", "inconclusive"])


@given(
    st.lists(
        st.tuples(st.sampled_from(["fault", "cheat", "clean", "rewrite"]), _OUTCOMES, _VERDICTS), max_size=12
    )
)
def test_every_arm_is_counted_once(arms: list[tuple[str, str, str]]) -> None:
    found: dict[Arm, Observation | None] = {}
    for number, (kind, outcome, verdict) in enumerate(arms):
        each = arm(f"o{number % 3}", kind, key=str(number))
        known = each.is_mutant and outcome == "equivalent"
        said = {"outcome": outcome if each.is_mutant else None, **({"verified": None} if known else {})}
        found[each] = observation(each, verified(verdict), **said)
    bench = made(found)
    summary = bench.summary
    assert summary.mutants + summary.clean + len(summary.equivalent.rows) + len(summary.loud.rows) == len(
        arms
    )
    assert sum(row.mutants for row in summary.by_operator.rows) == summary.mutants
    assert sum(row.mutants for row in summary.by_gate.rows) == summary.detected
    assert sum(row.clean for row in summary.by_gate.rows) == summary.clean_rejected
    assert sum(row.mutants + row.clean for row in summary.by_workload.rows) == summary.mutants + summary.clean
    assert FaultBench.model_validate_json(bench.model_dump_json()) == bench
