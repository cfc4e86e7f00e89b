"""Faults that no loss of the first steps shows, in a whole small training with shortened epochs, provoked, in float64."""

from pathlib import Path
from typing import Any

import pytest

from agentmig.journal.events import GateResult, Verdict
from agentmig.spec.workload import Semantics
from agentmig.verification.gates import semantics
from agentmig.verification.traces import read_world

from .conftest import Run, run

pytestmark = pytest.mark.torch
PASS: dict[str, Any] = {
    "precision": "float64",
    "dropout": False,
    "steps": 40,
    "short": [2, 1],
    "stress": True,
}


@pytest.fixture(scope="module")
def whole(ref_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The untouched training, recorded."""
    out = tmp_path_factory.mktemp("whole") / "out"
    done = run(ref_python, ["whole.py", str(out)], out, mode="record", **PASS)
    assert (done.returncode, done.lines("probe_error")) == (0, []), done.output
    return done


def judged(python: Path, whole: Run, out: Path, fault: str = "", *words: str, **plan: Any) -> GateResult:
    settings = {"mode": "match", "reference": str(whole.out), **PASS, **plan}
    done = run(python, ["whole.py", str(out), *words], out, environ={"FAULT": fault}, **settings)
    assert (done.returncode, done.lines("probe_error")) == (0, []), done.output
    return semantics.judge("cpu", read_world(whole.out), read_world(out), Semantics())


def test_a_shortened_training_has_all_of_its_epochs(whole: Run) -> None:
    assert [step["samples"] for step in whole.steps()] == [16, 16, 6] * 4
    assert [step["lr"][0] for step in whole.steps()][::3] == [0.1, 0.1, 0.05, 0.05]
    assert whole.end()["how"] == "program"
    passes = whole.lines("pass")
    assert [(p["training"], p["samples"], p["complete"]) for p in passes] == [
        (True, 150, True),
        (False, 61, True),
    ] * 4
    assert len({p["indices"] for p in passes if p["training"]}) == 1
    assert len({p["order"] for p in passes if p["training"]}) == 4
    assert len(whole.lines("initial")) == 1


def test_the_clipping_is_made_to_bind(whole: Run) -> None:
    clips = [step["clips"][0] for step in whole.steps()]
    assert {clip["max_norm"] for clip in clips} == {100.0}
    assert clips[0]["forced"] == pytest.approx(clips[0]["norm_before"] / 2)
    assert whole.steps()[0]["grad_norm"] == pytest.approx(clips[0]["forced"], rel=1e-5)


def test_the_third_step_is_a_large_one(whole: Run) -> None:
    first, second, third, fourth = whole.steps()[:4]
    assert third["update_norm"] > 3 * max(first["update_norm"], second["update_norm"])
    assert third["lr"] == fourth["lr"] == [0.1]


def test_the_same_program_agrees(whole: Run, ref_python: Path, tmp_path: Path) -> None:
    result = judged(ref_python, whole, tmp_path / "out")
    assert result.verdict is Verdict.PASS, result.summary
    assert result.evidence["saved"] == [{"file": "model.pt", "error": 0.0}]


def test_another_seed_is_another_order_and_no_fault(whole: Run, ref_python: Path, tmp_path: Path) -> None:
    result = judged(ref_python, whole, tmp_path / "out", "", "2")
    assert result.verdict is Verdict.PASS, result.summary


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("drop_last", "data_changed"),
        ("label_noise", "data_changed"),
        ("fewer_samples", "data_changed"),
        ("not_reshuffled", "not_reshuffled"),
        ("evaluation_tail", "evaluation_changed"),
        ("dropout", "dropout_changed"),
        ("mask", "dropout_repeated"),
        ("initialisation", "initialisation_changed"),
        ("no_clipping", "clip_missing"),
        ("evaluates_in_training", "eval_mode"),
        ("average", "checkpoint_changed"),
        ("half_precision", "checkpoint_changed"),
        ("schedule", "schedule"),
    ],
)
def test_a_fault_is_named(whole: Run, ref_python: Path, tmp_path: Path, fault: str, cause: str) -> None:
    result = judged(ref_python, whole, tmp_path / "out", fault)
    assert (result.verdict, result.cause) == (Verdict.FAIL, cause), result.summary


def test_clipping_by_code_of_its_own_is_compared_without_provocation(
    whole: Run, ref_python: Path, tmp_path: Path
) -> None:
    result = judged(ref_python, whole, tmp_path / "out", "own_clipping")
    reference, candidate = read_world(whole.out), read_world(tmp_path / "out")
    assert result.verdict is Verdict.FAIL
    assert semantics.escapes_stress(reference, candidate)
    assert not semantics.escapes_stress(reference, reference)


@pytest.fixture(scope="module")
def noisy(ref_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The untouched training, which draws noise in its steps."""
    out = tmp_path_factory.mktemp("noisy") / "out"
    done = run(ref_python, ["whole.py", str(out)], out, mode="record", environ={"NOISE": "1"}, **PASS)
    assert (done.returncode, done.lines("probe_error")) == (0, []), done.output
    return done


def test_noise_of_another_generator_is_matched(noisy: Run, ref_python: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = {"mode": "match", "reference": str(noisy.out), **PASS}
    environ = {"NOISE": "1", "FAULT": "other_generator"}
    done = run(ref_python, ["whole.py", str(out)], out, environ=environ, **settings)
    assert (done.returncode, done.lines("probe_error")) == (0, []), done.output
    result = semantics.judge("cpu", read_world(noisy.out), read_world(out), Semantics())
    assert result.verdict is Verdict.PASS, result.summary
    assert "narrow_cast" not in done.notes()


def test_noise_that_the_reference_does_not_draw_is_told(whole: Run, ref_python: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = {"mode": "match", "reference": str(whole.out), **PASS}
    run(ref_python, ["whole.py", str(out)], out, environ={"NOISE": "1"}, **settings)
    result = semantics.judge("cpu", read_world(whole.out), read_world(out), Semantics())
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "draws_unmatched"), result.summary


def test_a_reference_that_does_not_reproduce_itself_is_told(ref_python: Path, tmp_path: Path) -> None:
    made = []
    for number in range(2):
        out = tmp_path / str(number)
        mode: dict[str, Any] = {"mode": "record"}
        if number:
            mode = {"mode": "match", "reference": str(tmp_path / "0")}
        done = run(ref_python, ["whole.py", str(out)], out, environ={"FAULT": "unseeded"}, **mode, **PASS)
        assert done.returncode == 0, done.output
        made.append(read_world(out))
    result = semantics.not_reproducible("cpu", made[0], made[1], Semantics())
    assert result is not None and result.cause == "reference_not_reproducible"
    assert "doesn't reproduce itself" in result.summary
