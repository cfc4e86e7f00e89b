import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.execution.environments import Built
from agentmig.execution.launch import LaunchError, Plan, environment, is_bridged, require_hardware
from agentmig.spec import load_workload
from agentmig.spec.workload import Target

OURS = Built("e", "k", Path("/envs/k/bin/python"), ours=True, cached=True, wall_s=0.0)
FOREIGN = Built("e", "k", Path("/usr/bin/python3"), ours=False, cached=True, wall_s=0.0)


def _target(**fields: object) -> Target:
    return Target.model_validate(
        {"backend": "xla", "environment": "e", "accelerator": "v5e", "chips": 4, **fields}
    )


def test_the_plan_is_what_the_probe_reads(tmp_path: Path) -> None:
    plan = Plan("match", steps=3, precision="float64", reference=tmp_path / "r", teacher_forced=True)
    document = json.loads(plan.write(tmp_path / "probe", bridge=True).read_text())
    assert document["schema"] == 1
    assert document["out"] == str(tmp_path / "probe")
    assert document["reference"] == str(tmp_path / "r")
    assert (document["bridge"], document["steps"], document["teacher_forced"]) == (True, 3, True)


def test_a_run_sees_nothing_of_ours_but_what_is_listed(
    workload_file: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    workload = load_workload(workload_file())
    target = _target(emulated=True, env={"MINE": "1"})
    env = environment(workload, OURS, target, 4, Path("/p/plan.json"), [], {"STEP": "2"})
    assert "secret" not in env.values()
    assert env["PATH"].startswith("/envs/k/bin:")
    assert (env["PJRT_DEVICE"], env["MINE"], env["STEP"]) == ("CPU", "1", "2")
    assert env["AGENTMIG_PROBE_PLAN"] == "/p/plan.json"
    assert "PYTHONPATH" not in env
    assert environment(workload, OURS, target, 4, None, ["TOKEN"], {})["TOKEN"] == "secret"


def test_a_foreign_interpreter_gets_the_probe_by_its_path(workload_file: Callable[[], Path]) -> None:
    env = environment(load_workload(workload_file()), FOREIGN, None, 1, Path("/p/plan.json"), [], {})
    assert (Path(env["PYTHONPATH"].split(":")[0]) / "sitecustomize.py").exists()


def test_only_emulated_xla_is_bridged() -> None:
    assert is_bridged(_target(emulated=True))
    assert not is_bridged(_target())
    assert not is_bridged(_target(backend="torch_tpu", emulated=True))
    assert not is_bridged(None)


def test_what_this_machine_lacks_is_said() -> None:
    require_hardware("t", _target(emulated=True))
    with pytest.raises(LaunchError, match="reached over ssh"):
        require_hardware("t", _target(machine="vm"))
    if not Path("/dev/accel0").exists() and not Path("/dev/vfio/0").exists():
        with pytest.raises(LaunchError, match="this machine has no v5e"):
            require_hardware("t", _target())


def _variables(workload_file: Callable[[], Path], chips: int, **fields: object) -> dict[str, str]:
    return environment(
        load_workload(workload_file()), OURS, _target(chips=chips, **fields), chips, None, [], {}
    )


@pytest.mark.parametrize(
    ("allowed", "chips", "seen"),
    [(None, 2, "0,1"), ("6,7", 1, "6"), ("GPU-8f2a,GPU-11c0", 2, "GPU-8f2a,GPU-11c0"), ("", 2, "")],
)
def test_a_gpu_run_sees_as_many_cards_as_it_is_to_use(
    workload_file: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    allowed: str | None,
    chips: int,
    seen: str,
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    env = _variables(workload_file, chips, backend="cuda")
    assert env["CUDA_VISIBLE_DEVICES"] == seen
    assert (env["NCCL_SOCKET_IFNAME"], env["TORCH_DEVICE_BACKEND_AUTOLOAD"]) == ("lo", "0")
    assert "OMP_NUM_THREADS" not in env


def test_torch_tpu_ranks_find_one_description_of_the_machine(
    workload_file: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "localhost")
    env = _variables(workload_file, 4, backend="torch_tpu")
    assert env["TORCH_TPU_TOPOLOGY"] == "2,2,1"
    addresses = env["TORCH_TPU_SLICEBUILDER_ADDRESSES"].split(",")
    assert len(set(addresses)) == 4 and all(a.startswith("localhost:") for a in addresses)
    assert env["TORCH_TPU_XPROF_SESSION_ID"].isdigit()
    assert (env["TORCH_DEVICE_BACKEND_AUTOLOAD"], env["TPU_WORKER_HOSTNAMES"]) == ("1", "localhost")
    assert "PJRT_DEVICE" not in env
    emulated = _variables(workload_file, 4, backend="torch_tpu", emulated=True)
    assert not {"TORCH_TPU_TOPOLOGY", "TPU_WORKER_HOSTNAMES"} & set(emulated)
    assert emulated["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_a_target_says_more_than_we_do(workload_file: Callable[[], Path]) -> None:
    env = _variables(
        workload_file, 4, backend="torch_tpu", accelerator="ours", env={"TORCH_TPU_TOPOLOGY": "4,1,1"}
    )
    assert env["TORCH_TPU_TOPOLOGY"] == "4,1,1"
    assert "TORCH_TPU_TOPOLOGY" not in _variables(workload_file, 4, backend="torch_tpu", accelerator="ours")
    assert _variables(workload_file, 4)["PJRT_DEVICE"] == "TPU"


def test_one_process_may_drive_all_emulated_chips(workload_file: Callable[[], Path]) -> None:
    one = _variables(workload_file, 4, emulated=True, command="python train.py --out {out}")
    assert (one["CPU_NUM_DEVICES"], one["OMP_NUM_THREADS"]) == ("4", str(os.cpu_count()))
    assert _variables(workload_file, 4, emulated=True, command="run {chips} {out}")["CPU_NUM_DEVICES"] == "1"


def test_a_number_of_chips_that_is_no_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda self: True)
    require_hardware("t", _target(backend="torch_tpu"))
    require_hardware("t", _target(chips=3))
    require_hardware("t", _target(backend="torch_tpu", accelerator="ours", chips=3))
    with pytest.raises(LaunchError, match=r"targets\.t\.chips: .* 3 devices of v5e .* knows 1, 4, 8"):
        require_hardware("t", _target(backend="torch_tpu", chips=3))
