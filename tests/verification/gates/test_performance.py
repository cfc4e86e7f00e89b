from typing import Any

import pytest

from agentmig.journal.events import GateResult, Verdict
from agentmig.spec.workload import Performance, Target
from agentmig.verification.gates.performance import compilations, judge, samples_per_s, transfers_per_step
from agentmig.verification.records import Counters
from agentmig.verification.traces import World
from tests.verification.parallel import train, with_changes

LIMITS = Performance()
STEPS = 60


def target(emulated: bool = True, backend: str = "xla") -> Target:
    return Target.model_validate(
        {"backend": backend, "environment": "x", "accelerator": "v5e", "chips": 4, "emulated": emulated}
    )


def watched(
    compiles: dict[int, int] | None = None,
    transfers: dict[int, int] | None = None,
    epoch: int | None = None,
    end: int = 0,
    counted: bool = True,
) -> World:
    """A run of 60 steps of 0.5 s; `compiles` and `transfers` at steps, `end` compilations after the last step."""
    world = train(with_changes(steps=STEPS))
    for trace in world.ranks.values():
        compiled = moved = 0
        for number, step in enumerate(trace.steps):
            compiled += (compiles or {0: 5}).get(number, 0)
            moved += (transfers or {}).get(number, 0)
            counters = Counters(compiles=compiled, transfers_to_host=moved) if counted else None
            values: dict[str, Any] = {"time": 100 + number / 2, "counters": counters, "loss": None}
            values["epoch"] = None if epoch is None else number // epoch
            trace.steps[number] = step.model_copy(update=values)
        assert trace.end is not None
        last = Counters(compiles=compiled + end, transfers_to_host=moved) if counted else None
        trace.end = trace.end.model_copy(update={"counters": last})
    return world


def judged(
    world: World, limits: Performance = LIMITS, emulated: bool = True, usd: float | None = 3.6
) -> GateResult:
    return judge("t", target(emulated), world, watched(), limits, usd, 1000.0)


EACH_EPOCH = {0: 3, 10: 1, 20: 1, 30: 1, 40: 1, 50: 1}


@pytest.mark.parametrize(
    ("world", "late"),
    [
        (watched({0: 5}), 0),
        (watched({0: 5, 4: 1}), 0),
        (watched({0: 5, 10: 2}), 0),
        (watched({0: 5, 10: 2}, end=1), 0),
        (watched({0: 5}, end=3), 0),
        (watched({0: 5, 9: 1, 10: 2, 20: 1}), 0),
        (watched({0: 5, 10: 2, 50: 1}), 1),
        (watched({0: 5, 59: 1}), 1),
        (watched(EACH_EPOCH), 3),
        (watched(EACH_EPOCH, end=1), 4),
        (watched(dict.fromkeys(range(STEPS), 1)), STEPS - 5 - 3),
        (watched(EACH_EPOCH, epoch=10), 4),
        (watched(EACH_EPOCH, epoch=10, end=1), 5),
        (watched({0: 3, 9: 1, 10: 1}, epoch=10), 0),
        (watched({0: 3, 9: 1, 11: 1}, epoch=10), 1),
        (watched({0: 3, 9: 1, 59: 1}, epoch=60), 0),
    ],
)
def test_which_compilations_are_late(world: World, late: int) -> None:
    found = compilations(world, LIMITS)
    assert found is not None and found.late == late
    assert judged(world).cause == ("recompilation" if late else None)


def test_recompilation_names_its_steps_and_can_be_allowed() -> None:
    world = watched({0: 5, 40: 1, 50: 2})
    assert "step 40: 1, step 50: 2" in judged(world).summary
    assert judged(world, Performance(recompilations=3)).verdict is Verdict.PASS


def test_later_epochs_may_be_warm_up() -> None:
    world = watched({0: 3, 10: 1, 20: 1}, epoch=10)
    assert judged(world).cause == "recompilation"
    assert judged(world, Performance(warm_epochs=2)).verdict is Verdict.PASS


def test_worst_rank_counts() -> None:
    world = watched()
    world.ranks[3] = watched({0: 5, 40: 1}).ranks[3]
    assert judged(world).cause == "recompilation"


def test_transfer_in_each_step() -> None:
    each = watched(transfers=dict.fromkeys(range(STEPS), 1))
    result = judged(each)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "host_sync")
    assert transfers_per_step(each, 5) == 1.0
    assert judged(watched(transfers=dict.fromkeys(range(0, STEPS, 10), 40))).verdict is Verdict.PASS
    assert judged(each, Performance(transfers_per_step=2)).verdict is Verdict.PASS


def test_throughput_is_that_of_the_slowest_rank() -> None:
    world = watched()
    assert samples_per_s(world, 5) == pytest.approx(32 / 0.5)
    slow = world.ranks[2].steps
    world.ranks[2].steps = [step.model_copy(update={"time": 100.0 + 2 * n}) for n, step in enumerate(slow)]
    assert samples_per_s(world, 5) == pytest.approx(32 / 2)
    assert samples_per_s(world, STEPS - 1) is None


def test_bounds_are_judged_on_real_chips_only() -> None:
    dear, slow = Performance(max_usd_per_run=0.5), Performance(min_throughput_ratio=2.0)
    result = judged(watched(), dear, emulated=False)
    assert result.cause == "expensive" and "costs 1 dollars" in result.summary
    assert judged(watched(), slow, emulated=False).cause == "slow"
    assert judged(watched(), Performance(min_throughput_ratio=0.9), emulated=False).verdict is Verdict.PASS
    for limits in (dear, slow):
        emulated = judged(watched(), limits)
        assert emulated.verdict is Verdict.PASS
        assert "EMULATED" in emulated.summary and "not judged" in emulated.summary
        assert emulated.evidence["usd_per_run"] == pytest.approx(1.0)


def test_bounds_without_a_measurement_stay_open() -> None:
    assert judged(watched(), Performance(max_usd_per_run=5), False, usd=None).verdict is Verdict.INCONCLUSIVE
    blind = watched()
    for trace in blind.ranks.values():
        trace.steps = [step.model_copy(update={"samples": None}) for step in trace.steps]
    assert judged(blind, Performance(min_throughput_ratio=1), False).verdict is Verdict.INCONCLUSIVE
    assert judged(train(with_changes(steps=0))).verdict is Verdict.INCONCLUSIVE


def test_without_counters() -> None:
    blind = watched(counted=False)
    assert judged(blind).verdict is Verdict.PASS
    assert "counts no compilations" in judged(blind).summary
    assert judged(blind, emulated=False).cause == "no_counters"


def test_transfers_that_a_backend_does_not_count_are_not_taken_for_none() -> None:
    world = train(with_changes(steps=12))
    for trace in world.ranks.values():
        trace.steps = [step.model_copy(update={"counters": Counters(compiles=1)}) for step in trace.steps]
    assert transfers_per_step(world, 2) is None
