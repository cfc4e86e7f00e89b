"""Lightning, accelerate and transformers' Trainer under the probe: programs as their users write them.

Each trains on one process in float64 without dropout, is recorded, and is then run again with another seed and matched.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run, run

pytestmark = pytest.mark.torch
FLOAT64: dict[str, Any] = {"precision": "float64", "dropout": False}


@dataclass(frozen=True)
class Program:
    """A program of `programs/`, and what its steps are by its own text.

    Attributes:
        overlay: where its libraries are.
        accumulate: backward passes in a step.
        rates: learning rate of each step; all of a step's groups have it.
        saved: ends of the names of what it saves, in order, without repetition.
    """

    name: str
    overlay: str
    accumulate: int
    rates: list[float]
    saved: tuple[str, ...]

    @property
    def steps(self) -> int:
        """Two epochs of eight batches."""
        return 16 // self.accumulate


PROGRAMS = [
    Program("lightning", "lightning", 2, [0.01 / (1 + step) for step in range(8)], ()),
    Program(
        "accelerate",
        "transformers",
        2,
        [0.01 / (1 + step) for step in range(8)],
        ("model.safetensors", "optimizer.bin"),
    ),
    Program(
        "transformers",
        "transformers",
        1,
        [0.01 * (1 - step / 16) for step in range(16)],
        ("model.safetensors", "optimizer.pt"),
    ),
]
Folders = dict[str, Path]


def train(python: Path, overlay: Path, out: Path, name: str, seed: int, **settings: Any) -> Run:
    """Run a program; `environ` in the settings is added to its environment, the rest is the plan."""
    environ = {
        "PYTHONPATH": str(overlay),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        **settings.pop("environ", {}),
    }
    words = [f"{name}_train.py", str(out.parent / f"made-{out.name}"), str(seed)]
    done = run(python, words, out, environ=environ, **{**FLOAT64, **settings})
    assert done.returncode == 0, done.output
    return done


@dataclass(frozen=True)
class Pair:
    """A record of a program, and a match of the same program with another seed."""

    program: Program
    reference: Run
    matched: Run


@pytest.fixture(scope="module")
def pairs(
    ref_python: Path, frameworks: Folders, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Pair]:
    """Trains a program the first time that it is asked for."""

    @functools.cache
    def made(name: str) -> Pair:
        program = next(one for one in PROGRAMS if one.name == name)
        folder, overlay = tmp_path_factory.mktemp(name), frameworks[program.overlay]
        environ = {"ACCUMULATE": str(program.accumulate)}
        record: dict[str, Any] = {"mode": "record", "environ": environ}
        reference = train(ref_python, overlay, folder / "ref", name, 0, **record)
        match = {"mode": "match", "reference": str(reference.out), "environ": environ}
        return Pair(program, reference, train(ref_python, overlay, folder / "out", name, 7, **match))

    return made


@pytest.fixture(params=[program.name for program in PROGRAMS])
def pair(request: pytest.FixtureRequest, pairs: Callable[[str], Pair]) -> Pair:
    """Each program's pair."""
    return pairs(request.param)


def test_every_step_is_seen_as_the_program_means_it(pair: Pair) -> None:
    program = pair.program
    for done in (pair.reference, pair.matched):
        assert done.lines("probe_error") == []
        assert done.notes() <= {"widened"}
        assert (done.end()["steps"], done.end()["how"]) == (program.steps, "program")
        for step, rate in zip(done.steps(), program.rates, strict=True):
            assert (step["backwards"], step["samples"]) == (program.accumulate, 8 * program.accumulate)
            assert (step["order"], step["training"]) == (["backward", "clip"], True)
            assert step["lr"] == pytest.approx([rate] * len(step["lr"]))
            (clip,) = step["clips"]
            assert clip["max_norm"] == 0.5
            assert step["grad_norm"] == pytest.approx(min(0.5, clip["norm_before"]), rel=1e-4)
            assert 0.3 < step["loss"] < 2
            assert step["update_norm"] > 0


def test_each_sample_is_counted_once_an_epoch(pair: Pair) -> None:
    program, reference = pair.program, pair.reference
    steps = reference.steps()[: program.steps // 2]
    rows = [row for step in steps for row in step["rows"]]
    assert len(rows) == len(set(rows)) == 64
    assert len({step["batch"] for step in steps}) == len(steps)


def test_batches_and_state_are_matched(pair: Pair) -> None:
    for ours, theirs in zip(pair.matched.steps(), pair.reference.steps(), strict=True):
        assert ours["rows"] != theirs["rows"]  # its own were others: it has another seed
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-12)
        assert max(ours[name] for name in ("grad_error", "update_error", "param_error")) < 1e-12


def test_passes_come_to_their_end(pair: Pair) -> None:
    """Also where a program counts batches, and never asks for what comes after the last one."""
    passes = pair.reference.lines("pass")
    assert [(line["batches"], line["complete"]) for line in passes if line["training"]] == [(8, True)] * 2
    evaluations = [line for line in passes if not line["training"]]
    assert len(evaluations) >= 2
    assert all((line["samples"], line["complete"]) == (32, True) for line in evaluations)


def test_what_torch_saves_is_seen(pair: Pair) -> None:
    program = pair.program
    names = [Path(line["path"]).name for line in pair.reference.lines("checkpoint")]
    assert set(program.saved) <= set(names)
    if program.name == "lightning":
        assert len(names) == 2  # in a buffer first: it has no name there


def test_two_libraries_do_the_same(pairs: Callable[[str], Pair]) -> None:
    """The same model, data and seed in accelerate's loop as in Lightning's: no state or batch is matched here."""
    one, other = pairs("lightning").reference, pairs("accelerate").reference
    for ours, theirs in zip(one.steps(), other.steps(), strict=True):
        assert (ours["batch"], ours["rows"]) == (theirs["batch"], theirs["rows"])
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-12)
        assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=1e-12)


def test_ranks_that_lightning_starts_itself(ref_python: Path, frameworks: Folders, tmp_path: Path) -> None:
    """They learn their rank only when the process group is made; each must still meet its own reference."""
    overlay = frameworks["lightning"]
    plan: dict[str, Any] = {"steps": 3, "environ": {"DEVICES": "2"}}
    reference = train(ref_python, overlay, tmp_path / "ref", "lightning", 0, mode="record", **plan)
    plan |= {"mode": "match", "reference": str(reference.out), "environ": {"DEVICES": "2"}}
    matched = train(ref_python, overlay, tmp_path / "out", "lightning", 7, **plan)
    assert reference.ranks() == matched.ranks() == [0, 1]
    assert reference.steps(0)[0]["loss"] != reference.steps(1)[0]["loss"]
    for rank in (0, 1):
        assert matched.end(rank)["hardware"]["world_size"] == 2
        assert matched.lines("probe_error", rank) == []
        for ours, theirs in zip(matched.steps(rank), reference.steps(rank), strict=True):
            assert ours["order"][-3:] == ["backward", "all_reduce", "clip"]
            assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-12)
            assert ours["param_error"] < 1e-12
