from typing import Any

import pytest

from agentmig.journal.events import Verdict
from agentmig.spec.workload import Target
from agentmig.verification.gates.hardware import judge, shared_samples
from agentmig.verification.records import Counters
from agentmig.verification.traces import World
from tests.verification.parallel import Program, train, with_changes


def target(backend: str, emulated: bool = True, chips: int = 4) -> Target:
    return Target.model_validate(
        {"backend": backend, "environment": "x", "accelerator": "v5e", "chips": chips, "emulated": emulated}
    )


def ran_on(
    program: Program | None = None,
    fallbacks: list[int] | None = None,
    ops: tuple[str, ...] = (),
    **hardware: Any,
) -> World:
    world = train(program or Program())
    for trace in world.ranks.values():
        assert trace.end is not None
        where = trace.end.hardware.model_copy(update=hardware)
        trace.end = trace.end.model_copy(update={"hardware": where, "fallback_ops": list(ops)})
        if fallbacks is not None:
            trace.steps = [
                step.model_copy(update={"counters": Counters(fallbacks=count)})
                for step, count in zip(trace.steps, fallbacks, strict=True)
            ]
    return world


XLA_CPU: dict[str, Any] = {"device": "xla:0", "device_kind": "CPU", "emulated": True, "runtime_devices": 1}
XLA_TPU: dict[str, Any] = {"device": "xla:0", "device_kind": "TPU", "runtime_devices": 4}


@pytest.mark.parametrize(
    ("spec", "hardware", "verdict"),
    [
        (target("xla"), XLA_CPU, Verdict.PASS),
        (target("xla", emulated=False), XLA_TPU, Verdict.PASS),
        (target("xla", emulated=False), XLA_CPU, Verdict.FAIL),
        (target("xla", emulated=False), {**XLA_TPU, "device_kind": "CPU"}, Verdict.FAIL),
        (target("xla"), XLA_TPU, Verdict.FAIL),
        (target("xla"), {"device": "cpu"}, Verdict.FAIL),
        (target("torch_tpu"), {"device": "cpu", "device_kind": "CPU"}, Verdict.PASS),
        (target("torch_tpu"), XLA_CPU, Verdict.FAIL),
        (target("torch_tpu", emulated=False), {"device": "cpu"}, Verdict.FAIL),
        (
            target("torch_tpu", emulated=False),
            {"device": "tpu:0", "device_kind": "TPU v5 lite"},
            Verdict.PASS,
        ),
        (target("cuda", emulated=False), {"device": "cuda:1", "device_kind": "NVIDIA H200"}, Verdict.PASS),
        (target("cuda", emulated=False), {"device": "cpu"}, Verdict.FAIL),
        (target("cpu", emulated=False), {"device": "cpu"}, Verdict.PASS),
    ],
)
def test_device_is_the_intended_one(spec: Target, hardware: dict[str, Any], verdict: Verdict) -> None:
    result = judge("t", spec, 4, ran_on(**hardware))
    assert (result.verdict, result.cause) == (verdict, None if verdict is Verdict.PASS else "wrong_device")
    assert ("EMULATED" in result.summary) is spec.emulated


def test_idle_chips() -> None:
    result = judge("t", target("xla"), 4, ran_on(with_changes(world=1), **XLA_CPU))
    assert result.cause == "idle_chips" and "1 of 4 chips worked" in result.summary
    assert judge("t", target("xla"), 1, ran_on(with_changes(world=1), **XLA_CPU)).verdict is Verdict.PASS


def test_one_process_may_drive_all_chips_together() -> None:
    alone = with_changes(world=1)
    assert judge("t", target("xla", emulated=False), 4, ran_on(alone, **XLA_TPU)).cause == "idle_chips"
    assert (
        judge("t", target("xla", emulated=False), 4, ran_on(alone, spmd=True, **XLA_TPU)).verdict
        is Verdict.PASS
    )


def test_fallback_in_each_step_fails_and_one_at_the_start_does_not() -> None:
    each = ran_on(fallbacks=[3 + 2 * step for step in range(8)], ops=("aten::nonzero",), **XLA_CPU)
    result = judge("t", target("xla"), 4, each)
    assert result.cause == "cpu_fallback"
    assert "2 operations run on the host" in result.summary and "aten::nonzero" in result.summary
    assert judge("t", target("xla"), 4, ran_on(fallbacks=[3] * 8, **XLA_CPU)).verdict is Verdict.PASS


def test_replicas_on_the_same_data() -> None:
    world = ran_on(**XLA_CPU)
    assert shared_samples(world) == 0.0
    for number, step in enumerate(world.ranks[0].steps):
        world.ranks[2].steps[number] = world.ranks[2].steps[number].model_copy(update={"rows": step.rows})
    result = judge("t", target("xla"), 4, world)
    assert result.cause == "same_data" and "100%" in result.summary


def test_a_sampler_s_padding_is_no_fault() -> None:
    world = ran_on(**XLA_CPU)
    last = world.ranks[3].steps[7]
    rows = [*(world.ranks[0].steps[7].rows or [])[:2], *(last.rows or [])[2:]]
    world.ranks[3].steps[7] = last.model_copy(update={"rows": rows})
    assert shared_samples(world) == pytest.approx(2 / 64)
    assert judge("t", target("xla"), 4, world).verdict is Verdict.PASS


def test_runs_that_never_end_tell_nothing() -> None:
    world = ran_on(**XLA_CPU)
    for trace in world.ranks.values():
        trace.end = None
    assert judge("t", target("xla"), 4, world).verdict is Verdict.INCONCLUSIVE
    assert shared_samples(train(with_changes(world=1))) is None


def test_fallbacks_that_a_backend_does_not_count_are_said_to_be_unknown() -> None:
    world = ran_on(**XLA_CPU)
    for trace in world.ranks.values():
        trace.steps = [step.model_copy(update={"counters": Counters(compiles=1)}) for step in trace.steps]
    result = judge("xla", target("xla"), 4, world)
    assert result.verdict is Verdict.PASS
    assert "whether operations fell back isn't known" in result.summary
