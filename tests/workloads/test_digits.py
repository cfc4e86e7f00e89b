"""The digits project as its own authors would check it: by its command lines, on CPUs."""

import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "workloads" / "digits"
# Three epochs with a checkpoint to resume from after the second.
OPTIONS = ["--epochs", "3", "--save-every", "2"]
# Runs train.py once for each list of options: importing torch takes far longer than these trainings.
TRAIN_EACH = """
import json, sys, train
for options in json.loads(sys.argv[1]):
    sys.argv[1:] = options
    train.main()
"""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def start(python: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [python, *arguments],
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return output


def losses(output: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"^epoch +\d+/3  loss (\d+\.\d+)  ", output, re.MULTILINE)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Runs:
    folder: Path
    alone: list[float]
    resumed: list[float]
    other_seed: list[float]
    pair: list[float]


@pytest.fixture(scope="module")
def runs(ref_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Three trainings in one process and, beside them, one in two processes."""
    folder = tmp_path_factory.mktemp("digits")
    trainings = [
        [*OPTIONS, "--seed", "7", "--out", f"{folder}/alone"],
        [*OPTIONS, "--seed", "7", "--out", f"{folder}/resumed", "--resume", f"{folder}/alone/checkpoint.pt"],
        [*OPTIONS, "--seed", "8", "--out", f"{folder}/other"],
    ]
    three = start(ref_python, "-c", TRAIN_EACH, json.dumps(trainings))
    pair = start(ref_python, *TORCHRUN, "train.py", *OPTIONS, "--seed", "7", "--out", folder / "pair")
    found = losses(finish(three))
    return Runs(folder, found[:3], found[3:4], found[4:], losses(finish(pair)))


def test_training_learns(runs: Runs) -> None:
    first, second, third = runs.alone
    assert first > second > third


def test_two_processes_compute_what_one_does(runs: Runs) -> None:
    assert runs.pair == pytest.approx(runs.alone, abs=2e-3)


def test_a_resumed_run_ends_with_the_same_checkpoint(runs: Runs) -> None:
    assert runs.resumed == runs.alone[2:]
    assert digest(runs.folder / "resumed" / "model.pt") == digest(runs.folder / "alone" / "model.pt")


def test_another_seed_is_another_run(runs: Runs) -> None:
    assert runs.other_seed != runs.alone
    assert digest(runs.folder / "other" / "model.pt") != digest(runs.folder / "alone" / "model.pt")


def test_evaluation_prints_the_accuracy_of_a_distributed_run(runs: Runs, ref_python: Path) -> None:
    output = finish(start(ref_python, "evaluate.py", "--checkpoint", runs.folder / "pair" / "model.pt"))
    match = re.fullmatch(r"accuracy: (\d\.\d{4})\n", output)
    assert match, output
    assert 0.8 < float(match[1]) < 1
