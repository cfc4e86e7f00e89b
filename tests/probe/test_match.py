"""A reference on gloo, its migration to torch_xla, and what the probe measures between them."""

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run, run

pytestmark = pytest.mark.torch
FLOAT64: dict[str, Any] = {"precision": "float64", "dropout": False, "steps": 6}
ERRORS = ("grad_error", "update_error", "param_error")


def matched(
    python: Path, out: Path, reference: Run, environ: dict[str, str] | None = None, **plan: Any
) -> Run:
    settings = {"mode": "match", "reference": str(reference.out), "bridge": True, **FLOAT64, **plan}
    done = run(python, ["xla_train.py"], out, ranks=4, environ=environ, **settings)
    assert done.returncode == 0, done.output
    return done


def test_the_reference(reference: Run) -> None:
    assert reference.ranks() == [0, 1, 2, 3]
    for rank in range(4):
        assert len(reference.steps(rank)) == 6
        assert reference.lines("probe_error", rank) == []
        assert all(step["order"] == ["backward", "all_reduce", "clip"] for step in reference.steps(rank))
        assert reference.end(rank)["hardware"]["world_size"] == 4
    rows = [row for rank in range(4) for step in reference.steps(rank)[:4] for row in step["rows"]]
    assert len(rows) == len(set(rows)) == 256  # each sample once in the epoch, over all ranks


def test_a_clean_migration_agrees(reference: Run, xla_python: Path, tmp_path: Path) -> None:
    done = matched(xla_python, tmp_path / "out", reference)
    for rank in range(4):
        assert done.lines("probe_error", rank) == []
        for ours, theirs in zip(done.steps(rank), reference.steps(rank), strict=True):
            assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-9)
            assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=1e-9)
            assert ours["order"] == theirs["order"]
            assert ours["samples"] == theirs["samples"]
            assert all(ours[name] < 1e-9 for name in ERRORS)
        hardware = done.end(rank)["hardware"]
        assert (hardware["device"], hardware["device_kind"], hardware["emulated"]) == ("xla:0", "CPU", True)
        assert (hardware["runtime_devices"], hardware["world_size"]) == (1, 4)
    assert json.loads((done.out / "handshake-3.json").read_text())["torch_xla"]


def test_clipping_before_the_reduction_shows(reference: Run, xla_python: Path, tmp_path: Path) -> None:
    done = matched(xla_python, tmp_path / "out", reference, {"FAULT": "clip_first"}, steps=2)
    first, theirs = done.steps()[0], reference.steps()[0]
    assert first["loss"] == pytest.approx(theirs["loss"], rel=1e-9)
    assert first["order"] == ["backward", "clip", "all_reduce"]
    assert abs(first["grad_norm"] - theirs["grad_norm"]) > 0.05
    assert first["grad_error"] > 0.05


def test_one_process_against_one_in_production_precision(
    ref_python: Path, xla_python: Path, tmp_path: Path
) -> None:
    """Teacher-forced, with AdamW; on the other side torch_xla spawns the process that trains."""
    plan: dict[str, Any] = {"steps": 6, "dropout": False}
    environ = {"OPTIMIZER": "adamw"}
    recorded = run(
        ref_python, ["ddp_train.py"], tmp_path / "ref", ranks=1, environ=environ, mode="record", **plan
    )
    assert recorded.returncode == 0, recorded.output
    done = run(
        xla_python,
        ["xla_train.py"],
        tmp_path / "out",
        environ=environ,
        mode="match",
        reference=str(recorded.out),
        teacher_forced=True,
        **plan,
    )
    assert done.lines("probe_error") == []
    assert len(done.steps()) == 6
    for ours, theirs in zip(done.steps(), recorded.steps(), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
        assert ours["grad_error"] < 1e-3
    assert done.end()["hardware"]["parameter_dtype"] == "float32"


def test_watching_without_values_adds_no_compilation(xla_python: Path, tmp_path: Path) -> None:
    seen = []
    for probe in (True, False):
        done = run(xla_python, ["xla_counters.py"], tmp_path / str(probe), probe=probe, values=False)
        assert done.returncode == 0, done.output
        seen.append(done.output.splitlines()[-1])
    assert seen[0] == seen[1]
    watched = Run(0, "", tmp_path / "True")
    compiles = [step["counters"]["compiles"] for step in watched.steps()]
    assert compiles[2] == compiles[-1]
    assert watched.end()["counters"]["transfers_to_host"] == json.loads(seen[0])["TransferFromDeviceTime"]


def test_a_collective_that_the_others_never_call_is_an_error(xla_python: Path, tmp_path: Path) -> None:
    done = run(xla_python, ["xla_collectives.py", "disagree"], tmp_path / "out", ranks=2, bridge=True)
    assert done.returncode != 0
    assert "the ranks don't call the same collective (rank 0: all_gather" in done.output
    assert "rank 1: all_reduce sum" in done.output


def test_collectives(xla_python: Path, tmp_path: Path) -> None:
    done = run(xla_python, ["xla_collectives.py", "all"], tmp_path / "out", ranks=4, bridge=True)
    assert done.returncode == 0, done.output
    assert done.output.count("collectives agree") == 4


def test_the_xla_backend_of_torch_distributed(xla_python: Path, tmp_path: Path) -> None:
    done = run(xla_python, ["xla_collectives.py", "distributed"], tmp_path / "out", ranks=2, bridge=True)
    assert done.returncode == 0, done.output
    assert done.output.count("distributed agrees") == 2
    assert done.steps()[0]["order"] == ["reduce_scalar", "backward", "all_reduce"]
