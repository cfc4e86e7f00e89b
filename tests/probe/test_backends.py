"""What the backends read, and what they say that they can't.

There is no GPU and no TPU where these tests run: readings of theirs are constructed, from the places in the packages
that `programs/readings.py` names. The others were recorded.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, run

pytestmark = pytest.mark.torch

TORCH_TPU = "AGENTMIG_TORCH_TPU_PYTHON"


def readings(python: Path, name: str, **environ: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(python), "-W", "error::UserWarning:__main__", "readings.py", name],
        cwd=PROGRAMS,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def torch_tpu_python() -> Path:
    """An interpreter with torch-tpu, which this project doesn't build for its tests: it is 2 GB."""
    named = os.environ.get(TORCH_TPU)
    if not named:
        pytest.skip(f"no torch-tpu==0.2.0 here: {TORCH_TPU} names no interpreter that has it")
    return Path(named)


def test_a_process_that_uses_no_gpu_reads_like_the_host(ref_python: Path) -> None:
    assert readings(ref_python, "host") == {
        "counters": None,
        "kind": "CPU",
        "devices": None,
        "evidence": {},
        "unseen": [],
        "fallback_ops": [],
        "initialised": False,
    }


def test_cuda(ref_python: Path) -> None:
    found = readings(ref_python, "cuda")
    assert found["graphs"] == [0, 1, 1, 2, 3]  # a new shape compiles again; cleared counters lose nothing
    assert found["counters"] == {"compiles": 3, "fallbacks": 0}  # neither executions nor transfers: not known
    assert (found["kind"], found["devices"]) == ("NVIDIA H200", 2)
    evidence = found["evidence"]
    assert (evidence["card"], evidence["capability"], evidence["index"]) == ("NVIDIA H200", "9.0", 1)
    assert evidence["float32"]["matmul"] == "high"
    assert evidence["peak_bytes"] == 4096
    assert "values that a step reads" in found["unseen"][0]


def test_a_precision_that_torch_can_t_tell_is_said(ref_python: Path) -> None:
    found = readings(ref_python, "precision")
    assert found["matmul"] == "unknown (mix of the legacy and new)"
    assert found["cudnn_conv"].startswith("unknown (")
    assert not found["cuda_matmul"].startswith("unknown")


def test_torch_tpu(ref_python: Path) -> None:
    found = readings(ref_python, "tpu")
    assert found["counters"] == {"compiles": 7, "fallbacks": 0}
    assert (found["kind"], found["devices"]) == ("TPU v5e", 4)
    expected = {
        "runtime": True,
        "host_devices": 4,
        "devices_per_chip": 1,
        "cpu_fallback": False,
        "eager_mode": "DEFER_NEVER",
        "process_group": None,
        "cache_requests": 40,
        "cache_hits": 33,
    }
    assert expected.items() <= found["evidence"].items()
    (sentence,) = found["unseen"]
    assert "neither executions nor the values" in sentence


def test_torch_tpu_with_its_fallback_switched_on_for_a_while(ref_python: Path) -> None:
    found = readings(ref_python, "tpu_fallback")
    assert [counters.get("fallbacks") for counters in found["seen"]] == [0, None, None]
    assert found["evidence"]["cpu_fallback"] is True
    assert any("fallback was switched on" in sentence for sentence in found["unseen"])
    assert any("torch.tpu.optimizers" in sentence for sentence in found["unseen"])


def test_a_torch_tpu_that_has_changed_is_read_as_far_as_it_goes(ref_python: Path) -> None:
    found = readings(ref_python, "tpu_changed")
    assert (found["counters"], found["kind"], found["devices"]) == (None, "unknown", None)
    assert set(found["evidence"].values()) <= {None, False, "highest"}
    assert any(sentence.startswith("torch_tpu doesn't tell num_compilations") for sentence in found["unseen"])
    assert any("_is_initialized" in sentence for sentence in found["unseen"])


def test_the_real_torch_tpu_without_a_tpu(torch_tpu_python: Path) -> None:
    found = readings(torch_tpu_python, "tpu_real", TPU_SKIP_MDS_QUERY="1")
    assert found["counters"] == {"compiles": 0, "fallbacks": 0}
    assert (found["kind"], found["devices"], found["accelerators"]) == ("CPU", None, 0)
    expected = {
        "torch_tpu": "0.2.0",
        "runtime": False,
        "host_devices": 0,
        "devices_per_chip": None,
        "cpu_fallback": False,
        "eager_mode": "DEFER_NEVER",
        "cache_requests": 0,
        "cache_hits": 0,
    }
    assert expected.items() <= found["evidence"].items()
    assert found["unseen"] == []
    assert found["error"].endswith("device type at start of device string: tpu")


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_a_program_beside_the_real_torch_tpu(torch_tpu_python: Path, tmp_path: Path, autoload: str) -> None:
    """torch loads it while it is itself incomplete; the probe follows once both are there."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("")
    environ = {
        "PYTHONPATH": f"{PROGRAMS.parents[2] / 'agentmig' / 'probe' / 'chain'}:{site}",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": autoload,
        "TPU_SKIP_MDS_QUERY": "1",
    }
    done = run(torch_tpu_python, ["sub.py"], tmp_path / "out", environ=environ)
    assert done.returncode == 0, done.output
    assert done.lines("probe_error") == []
    assert done.steps()[0]["counters"] == (None if autoload == "0" else {"compiles": 0, "fallbacks": 0})
    assert done.end()["hardware"]["device_kind"] == "CPU"


def test_a_program_that_imports_torch_tpu_is_read_by_its_backend(ref_python: Path, tmp_path: Path) -> None:
    """The package stands in for torch-tpu: it is empty, so each reading is missing, and that is said."""
    package = tmp_path / "torch_tpu"
    package.mkdir()
    (package / "__init__.py").write_text("")
    program = (
        "import runpy, sys, torch_tpu; sys.argv = ['variants.py', 'plain']; "
        "runpy.run_path('variants.py', run_name='__main__')"
    )
    done = run(
        ref_python, ["-c", program], tmp_path / "out", environ={"PYTHONPATH": str(tmp_path)}, values=False
    )
    assert (done.returncode, done.lines("probe_error")) == (0, []), done.output
    assert "host_devices" in done.end()["backend"]
    assert "unseen" in done.notes()
