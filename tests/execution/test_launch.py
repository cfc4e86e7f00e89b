import json
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
