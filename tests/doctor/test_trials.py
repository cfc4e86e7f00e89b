import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentmig.doctor import trials
from agentmig.doctor.checks import Check, perform
from agentmig.doctor.devices import Hold
from agentmig.doctor.interpreters import Interpreter
from agentmig.doctor.results import Finding, Result, ok, warn
from agentmig.doctor.uses import uses
from agentmig.execution.environments import Built
from agentmig.spec import Workload

Make = Callable[..., Workload]
FAKE = """
import os
print("PJRT", os.environ.get("PJRT_DEVICE"), "KEY", os.environ.get("ANTHROPIC_API_KEY"), flush=True)
raise ImportError("libfoo")
"""


def _built(python: Path, ours: bool = True) -> Interpreter:
    return Interpreter("base", Built("base", "k", python, ours, True, 0.0), ok("built"))


def _perform(checks: Sequence[Check]) -> dict[str, Result]:
    return {result.name: result for result in asyncio.run(perform(checks))}


def _of(workload: Workload, *interpreters: Interpreter) -> dict[str, Result]:
    return _perform(trials.for_workload(workload, uses(workload), interpreters))


def test_each_backend_that_is_asked_for_is_tried_in_its_environment_and_no_other(
    workload: Make, python_with: Callable[[str], Path]
) -> None:
    python = python_with(FAKE)
    found = _of(workload(), _built(python))
    assert {name: result.state for name, result in found.items()} == {
        "torch on CPU in base": "broken",
        "CUDA": "not needed",
        "torch_xla on CPU in base": "missing",
        "TorchTPU": "not needed",
    }
    assert "ImportError: libfoo" in found["torch on CPU in base"].seen
    assert found["torch on CPU in base"].fix.startswith(f"rm -r {python.parent.parent}")
    assert "environments.base.requirements" in found["torch_xla on CPU in base"].fix


def test_what_is_not_built_is_not_tried(workload: Make) -> None:
    unbuilt = Interpreter("base", None, warn("not built yet", "agentmig reference make X"))
    found = _of(workload(), unbuilt)["torch on CPU in base"]
    assert (found.state, found.fix) == ("warn", "agentmig reference make X")
    lost = Interpreter("base", None, Finding(state="missing", seen="no such file"))
    assert _of(workload(), lost)["torch on CPU in base"].state == "missing"
    assert _of(workload())["torch on CPU in base"].state == "missing"


def test_what_runs_on_another_machine_is_not_tried_here(workload: Make) -> None:
    made = workload(emulated='true\nmachine = "box"', tail='[machines.box]\nkind = "ssh"\nhost = "box"')
    assert _of(made)["torch_xla"].state == "not needed"


def test_a_tpu_that_is_held_is_said_and_not_tried(
    workload: Make, python_with: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmig.doctor.uses.require_hardware", lambda name, target: None)
    monkeypatch.setattr(trials, "hold", lambda nodes: Hold(by=("process 7 (python, of ann)",)))
    found = _of(workload(emulated="false"), _built(python_with(FAKE)))["torch_xla on TPU in base"]
    assert found.state == "warn" and "process 7 (python, of ann)" in found.seen


def test_without_a_workload_nothing_is_needed_and_what_is_broken_is_said(
    python_with: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setattr(trials, "accelerators", list)
    monkeypatch.setattr(trials, "tpu_nodes", list)
    found = _perform(trials.for_anything([_built(python_with(FAKE))]))
    assert {name: result.state for name, result in found.items()} == {
        "torch in base": "broken",
        "CUDA in base": "not needed",
        "torch_xla in base": "not needed",
        "TorchTPU in base": "not needed",
    }


def test_a_python_without_torch_is_told_in_one_line(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nexec /usr/bin/env python3 -S -I "$@"\n')
    python.chmod(0o755)
    (found,) = _perform(trials.for_anything([_built(python)])).values()
    assert (found.name, found.state) == ("torch in base", "not needed")


def test_a_trial_gets_the_device_and_nothing_private() -> None:
    built = Built("base", "k", Path("/e/bin/python"), True, True, 0.0)
    assert trials._plain(built, "torch_xla", tpu=False)["PJRT_DEVICE"] == "CPU"
    assert trials._plain(built, "torch_xla", tpu=True)["PJRT_DEVICE"] == "TPU"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in trials._plain(built, "torch_tpu", tpu=True)
    assert "TPU_SKIP_MDS_QUERY" not in trials._plain(built, "torch_tpu", tpu=True)
    assert trials._plain(built, "torch_tpu", tpu=False)["TPU_SKIP_MDS_QUERY"] == "1"
    assert not [name for name in trials._plain(built, "torch", tpu=False) if "ANTHROPIC" in name]
