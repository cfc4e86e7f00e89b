"""Training programs in many styles, one process on the host."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run, run

pytestmark = pytest.mark.torch


def styled(python: Path, out: Path, *words: str, **plan: Any) -> Run:
    done = run(python, ["variants.py", *words], out, **{"mode": "record", **plan})
    assert done.lines("probe_error") == []
    return done


@pytest.mark.parametrize(
    ("style", "steps", "backwards", "samples"),
    [
        ("accumulate", 3, 4, 32),
        ("closure", 12, 1, 8),
        ("groups", 12, 1, 8),
        ("workers", 12, 1, 8),
        ("fused", 12, 1, 8),
    ],
)
def test_style(
    ref_python: Path, tmp_path: Path, style: str, steps: int, backwards: int, samples: int
) -> None:
    done = styled(ref_python, tmp_path / "out", style)
    assert done.returncode == 0, done.output
    assert [step["step"] for step in done.steps()] == list(range(steps))
    for step in done.steps():
        assert (step["backwards"], step["samples"], len(step["rows"])) == (backwards, samples, samples)
        assert 0.5 < step["loss"] < 2  # accumulation undone: the mean over the micro-batches
        assert step["grad_norm"] > 0
        assert step["update_norm"] > 0
    assert done.end()["how"] == "program"
    assert done.notes() == set()


def test_groups_and_hyperparameters(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "groups", steps=2)
    (optimizer,) = done.lines("optimizer")
    assert optimizer["class"] == "SGD"
    assert [group["lr"] for group in optimizer["groups"]] == [0.1, 0.5]
    assert [group["elements"] for group in optimizer["groups"]] == [144, 51]
    assert optimizer["groups"][1]["weight_decay"] == 0.1
    assert (optimizer["trainable_elements"], optimizer["unique_parameters"]) == (195, 4)
    assert [step["lr"] for step in done.steps()] == [[0.1, 0.5], [0.1, 0.5]]
    assert (done.end()["steps"], done.end()["how"], done.returncode) == (2, "stopped", 0)


def test_two_optimizers(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "two_optimizers")
    assert [step["optimizer"] for step in done.steps()] == [0, 1] * 12
    assert [step["backwards"] for step in done.steps()[:2]] == [2, 1]
    assert [step["samples"] for step in done.steps()[:2]] == [8, None]


def test_no_loader_is_said(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "no_loader", precision="float64")
    assert done.returncode == 0, done.output
    assert "no_loader" in done.notes()
    assert len(done.steps()) == 3


def test_evaluation_is_not_training(ref_python: Path, tmp_path: Path) -> None:
    """Also when it comes first and reads its loader with gradients on; a batch only looked at isn't consumed."""
    done = styled(ref_python, tmp_path / "out", "evaluation_first")
    assert len(done.steps()) == 18
    assert {step["samples"] for step in done.steps()} == {8}
    again = styled(
        ref_python,
        tmp_path / "again",
        "evaluation_first",
        mode="match",
        reference=str(done.out),
        precision="production",
    )
    assert again.notes() == set()
    assert max(step["param_error"] for step in again.steps()) == 0
    assert [step["loss"] for step in again.steps()] == [step["loss"] for step in done.steps()]


def test_a_model_trained_in_evaluation_mode(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "evaluation_mode")
    assert done.notes() == {"late_loader"}
    assert [step["samples"] for step in done.steps()] == [8] * 12
    assert not any(step["training"] for step in done.steps())


@pytest.mark.parametrize(("style", "code"), [("leaves", 3), ("fails", 1)])
def test_the_end_is_written_however_it_comes(ref_python: Path, tmp_path: Path, style: str, code: int) -> None:
    done = styled(ref_python, tmp_path / "out", style, steps=50)
    assert done.returncode == code
    assert (done.end()["steps"], done.end()["how"]) == (12, "program")


def test_checkpoints_and_seeds(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "checkpoint", str(tmp_path / "last.pt"), mode="watch")
    assert [line["path"] for line in done.lines("checkpoint")] == [str(tmp_path / "last.pt")]
    assert {"call": "torch.manual_seed", "value": 0}.items() <= done.lines("seed")[0].items()


def test_float64_leaves_nothing_narrow(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "casts", precision="float64", dropout=False)
    assert done.returncode == 0, done.output
    assert done.notes() == {"widened"}
    hardware = done.end()["hardware"]
    assert (hardware["parameter_dtype"], hardware["grad_dtype"]) == ("float64", "float64")
    assert {step["loss_scale"] for step in done.steps()} == {1.0}


def test_loss_scaling_is_undone(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "casts")
    first = done.steps()[0]
    assert first["loss_scale"] == 1024
    assert 0.5 < first["loss"] < 2
    assert first["order"] == ["backward", "clip"]
    assert first["clips"][0]["max_norm"] == 0.5
    assert first["grad_norm"] == pytest.approx(0.5, rel=1e-3)


def test_without_values_nothing_is_read(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "plain", mode="watch", values=False, rows=3)
    assert all(step["loss"] is None and step["grad_norm"] is None for step in done.steps())
    assert [step["rows"] is not None for step in done.steps()[:5]] == [True, True, True, False, False]
    assert sorted(path.name for path in done.out.iterdir()) == [
        "handshake-0.json",
        "plan.json",
        "trace-0.jsonl",
    ]


def test_the_cap_on_tensors(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "plain", tensor_bytes=6000)
    assert done.notes() == {"tensor_cap"}
    assert sum(path.stat().st_size > 0 for path in done.out.glob("step-*.pt")) in (2, 3)
    assert all(math.isfinite(step["grad_norm"]) for step in done.steps())


def test_a_perturbation_of_the_initial_state(ref_python: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"precision": "float64", "dropout": False, "steps": 3}
    recorded = styled(ref_python, tmp_path / "out", "groups", **settings)
    plan = {**settings, "mode": "match", "reference": str(recorded.out)}
    exact = styled(ref_python, tmp_path / "exact", "groups", **plan)
    assert {step["param_error"] for step in exact.steps()} == {0}
    perturbed = styled(ref_python, tmp_path / "perturbed", "groups", perturb=1e-9, **plan)
    assert all(1e-12 < step["param_error"] < 1e-7 for step in perturbed.steps())


def test_another_model_goes_on_unmatched(ref_python: Path, tmp_path: Path) -> None:
    recorded = styled(ref_python, tmp_path / "out", "two_optimizers")
    done = styled(ref_python, tmp_path / "other", "plain", mode="match", reference=str(recorded.out))
    assert "state_unmatched" in done.notes()
    assert all(step["grad_error"] is None for step in done.steps())
    assert len(done.steps()) == 12


def test_every_line_is_strict_json(ref_python: Path, tmp_path: Path) -> None:
    done = styled(ref_python, tmp_path / "out", "explodes")
    assert done.steps()[-1]["grad_norm"] == "nan"

    def refuse(text: str) -> float:
        raise AssertionError(text)

    for line in (done.out / "trace-0.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)
