import asyncio
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.execution.environments import Built
from agentmig.execution.isolation import Isolation
from agentmig.execution.processes import Finished
from agentmig.execution.repository import Repository
from agentmig.execution.runner import LocalRunner, Result
from agentmig.spec.workload import Workload
from agentmig.verification.metric import MetricError, read_metric
from agentmig.verification.references import ReferenceFailed, metric_of
from tests.execution.projects import project

Read = Callable[..., float]


def _workload(pattern: str = "score (.*)", command: str = "true") -> Workload:
    return Workload.model_validate(
        {
            "schema_version": 1,
            "name": "tiny",
            "environments": {"base": {"kind": "python", "python": sys.executable}},
            "train": {"command": "true"},
            "evaluate": {"command": command, "timeout_s": 60},
            "goal": {"metric": "m", "pattern": pattern, "direction": "maximize", "margin": 1},
            "reference": {"environment": "base"},
            "targets": {"cpu": {"backend": "cpu", "environment": "base", "accelerator": "cpu"}},
        }
    )


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The metric of an evaluation that printed a text."""

    def read(text: str, code: int | None = 0, pattern: str = "score (.*)") -> float:
        log = tmp_path / "log.txt"
        log.write_text(text)
        finished = Finished(code, code is None, 61.0, 5.0, 0)
        result = Result("c", finished, tmp_path, tmp_path, log, tmp_path / "m", "/env/bin:/usr/bin")
        return read_metric(result, _workload(pattern))

    return read


def test_the_last_number_counts(read: Read) -> None:
    assert read("score 0.5\nscore 0.75\n") == 0.75
    assert read("Score: -1e-3 of 1\n", pattern=r"Score: (\S+)") == -0.001


def test_a_metric_before_a_long_epilogue_is_found(read: Read) -> None:
    assert read("score 0.5\n" + "a warning\n" * 10_000) == 0.5


@pytest.mark.parametrize("printed", ["nan", "NaN", "inf", "-inf"])
def test_a_metric_that_is_not_finite_is_said(read: Read, tmp_path: Path, printed: str) -> None:
    with pytest.raises(
        MetricError, match=rf"(?s)the metric is {printed.lower()}: .*All of its output: {tmp_path}"
    ):
        read(f"score {printed}\n")


@pytest.mark.parametrize("printed", ["86.53%", "1,234.5", "0,97", "12 ms"])
def test_a_number_with_more_than_digits_is_said(read: Read, printed: str) -> None:
    with pytest.raises(
        MetricError, match=rf"found '{printed}', which is no number; its group must leave percent signs"
    ):
        read(f"score {printed}\n")


def test_a_word_is_no_number(read: Read) -> None:
    with pytest.raises(MetricError, match="found 'high', which is no number:\n"):
        read("score high\n")


def test_an_evaluation_that_prints_no_metric_is_quoted(read: Read, tmp_path: Path) -> None:
    with pytest.raises(
        MetricError, match=rf"(?s)finds:\n    Accuracy: 5\n  All of its output: {tmp_path}/log.txt"
    ):
        read("Accuracy: 5\n")
    with pytest.raises(MetricError, match="it printed nothing"):
        read("")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "the evaluation ended with exit code 1:"),
        (
            127,
            r"ended with exit code 127: a program that it names is not on PATH of the environment \(/env/bin:/usr/bin\)",
        ),
        (126, "can't be executed"),
        (-signal.SIGKILL, "was ended by the signal SIGKILL; the machine's memory may be full:"),
        (128 + signal.SIGSEGV, "was ended by the signal SIGSEGV:"),
        (255, "ended with exit code 255:"),
        (None, r"did not end in time, .* after 61 s \(evaluate.timeout_s is 60\)"),
    ],
)
def test_how_an_evaluation_failed_is_said(read: Read, code: int | None, said: str) -> None:
    with pytest.raises(MetricError, match=said):
        read("score 0.5\n", code)


@pytest.mark.parametrize(
    "raised",
    [
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you "
        "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu')",
    ],
)
def test_an_evaluation_that_needs_cuda_is_told_where_it_runs(read: Read, raised: str) -> None:
    where = r"reference's environment \(base\) on this machine"
    with pytest.raises(MetricError, match=rf"ended with exit code 1\. It runs in the {where}.*CUDA device"):
        read(f'Traceback (most recent call last):\n  File "evaluate.py", line 3, in <module>\n{raised}\n', 1)


def _runner(tmp_path: Path, evaluation: str) -> LocalRunner:
    folder = project(tmp_path / "project", {"evaluate.py": evaluation})
    workload = _workload(command="python evaluate.py {checkpoint}")
    repository = Repository.create(str(folder), "HEAD", tmp_path, tmp_path / "run")
    built = {"base": Built("base", "k", Path(sys.executable), ours=False, cached=True, wall_s=0.0)}
    return LocalRunner(workload, repository, built, Isolation("none"), tmp_path / "run" / "attempts")


def test_the_metric_of_a_checkpoint(tmp_path: Path) -> None:
    runner = _runner(tmp_path, "import sys; print('score', open(sys.argv[1]).read())")
    checkpoint = tmp_path / "a model.pt"
    with pytest.raises(ReferenceFailed, match=r"first: the training left no checkpoint .*a model\.pt"):
        asyncio.run(metric_of(runner, "first", checkpoint))
    checkpoint.write_text("0.5")
    assert asyncio.run(metric_of(runner, "second", checkpoint)) == 0.5
    checkpoint.write_text("nan")
    with pytest.raises(ReferenceFailed, match="third: the metric is nan"):
        asyncio.run(metric_of(runner, "third", checkpoint))


def test_an_evaluation_without_a_result_names_its_log(tmp_path: Path) -> None:
    runner = _runner(tmp_path, "raise SystemExit('no such layer')")
    (tmp_path / "model.pt").write_text("0.5")
    log = shlex.quote(str(tmp_path / "run/attempts/label/log.txt"))
    with pytest.raises(
        ReferenceFailed, match=rf"(?s)label: the evaluation ended with exit code 1.*no such layer.*{log}"
    ):
        asyncio.run(metric_of(runner, "label", tmp_path / "model.pt"))
