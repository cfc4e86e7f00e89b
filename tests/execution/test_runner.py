import asyncio
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agentmig.execution.environments import Built
from agentmig.execution.isolation import Isolation
from agentmig.execution.launch import Plan
from agentmig.execution.processes import Finished
from agentmig.execution.repository import Repository
from agentmig.execution.runner import LocalRunner, Result, RunnerError
from agentmig.spec.workload import Workload
from tests.conftest import REPOSITORY
from tests.execution.projects import git, project, write

TRAIN = """
import os, pathlib, sys
seed, out = sys.argv[1:]
journal = pathlib.Path(out).parents[2] / "journal.jsonl"
print("journal", journal.exists(), "key", os.environ.get("TOKEN"), "eval", pathlib.Path("evaluate.py").read_text().strip())
try:
    pathlib.Path("/etc/agentmig-test").write_text("x")
except OSError:
    print("the system is read-only")
(pathlib.Path(out) / "model.pt").write_text(seed)
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that isolation doesn't hide by itself, as it hides those for temporary files."""
    home = REPOSITORY / ".agentmig"
    home.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        yield Path(folder)


def _runner(tmp_path: Path, isolation: str = "bubblewrap", **train: object) -> LocalRunner:
    folder = project(
        tmp_path / "project",
        {"train.py": TRAIN, "evaluate.py": "import sys; print('score', open(sys.argv[1]).read())\n"},
    )
    workload = Workload.model_validate(
        {
            "schema_version": 1,
            "name": "tiny",
            "environments": {"base": {"kind": "python", "python": sys.executable}},
            "train": {"command": "python train.py {seed} {out}", **train},
            "evaluate": {"command": "python evaluate.py {checkpoint}"},
            "goal": {"metric": "m", "pattern": "score (.*)", "direction": "maximize", "margin": 1},
            "reference": {"environment": "base"},
            "targets": {"cpu": {"backend": "cpu", "environment": "base", "accelerator": "cpu"}},
            "protected": ["evaluate.py"],
            "secrets": ["TOKEN"],
        }
    )
    run = tmp_path / "run"
    repository = Repository.create(str(folder), "HEAD", tmp_path, run)
    repository.add_worktree()
    (run / "journal.jsonl").write_text("")
    python = Path(sys.executable)
    built = {"base": Built("base", "k", python, ours=False, cached=True, wall_s=0.0)}
    wall = Isolation("bubblewrap" if isolation == "bubblewrap" else "none")
    return LocalRunner(workload, repository, built, wall, run / "attempts")


def _train(runner: LocalRunner, commit: str, label: str = "a", **options: object) -> Result:
    return asyncio.run(
        runner.train(label, commit, target="cpu", seed=7, plan=Plan("watch"), **options)  # type: ignore[arg-type]
    )


def test_a_commit_is_trained_and_evaluated_with_the_bases_protected_files(
    open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    runner = _runner(open_path)
    worktree = runner.repository.worktree
    write(worktree, {"evaluate.py": "print('score 99')\n"})
    git(worktree, "commit", "--quiet", "--all", "-m", "cheat")
    result = _train(runner, runner.repository.head())
    log = result.log.read_text()
    assert result.ok, log
    assert "journal False key None eval import sys" in log
    assert "the system is read-only" in log
    assert result.checkpoint.read_text() == "7"
    evaluated = asyncio.run(runner.evaluate("e", result.checkpoint))
    assert evaluated.tail().strip() == "score 7"


def test_a_secret_reaches_the_step_that_lists_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    runner = _runner(tmp_path, secrets=["TOKEN"])
    assert "key secret" in _train(runner, runner.repository.base).tail()


def test_another_command_and_a_time_out(tmp_path: Path) -> None:
    runner = _runner(tmp_path, isolation="none")
    result = _train(
        runner,
        runner.repository.base,
        command="echo {seed} {chips} {{x}}; read forever < <(tail -f /dev/null)",
        timeout_s=3.0,
    )
    assert result.finished.timed_out and not result.ok
    assert result.log.read_text() == "7 1 {x}\n"


def test_a_folder_is_used_once(tmp_path: Path) -> None:
    runner = _runner(tmp_path, isolation="none")
    _train(runner, runner.repository.base, command="true")
    with pytest.raises(RunnerError, match="used once"):
        _train(runner, runner.repository.base, command="true")


@pytest.mark.parametrize("isolation", ["none", "bubblewrap"])
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "nosuchprogram --seed {seed}",
            "exit code 127: a program that it names is not on PATH of the environment (/",
        ),
        ("./train.py {seed} {out}", "exit code 126: a program that it names can't be executed"),
        ("python -c 'import os; os.abort()'; exit $?", "signal SIGABRT"),
        ("python -c 'import ctypes; ctypes.string_at(0)'", "signal SIGSEGV"),
        ("kill -9 $$", "signal SIGKILL; the machine's memory may be full"),
        ("read line || exit 3", "exit code 3"),
    ],
)
def test_how_a_command_failed_is_said(tmp_path: Path, isolation: str, command: str, said: str) -> None:
    runner = _runner(tmp_path, isolation)
    result = _train(runner, runner.repository.base, command=command)
    assert not result.ok
    assert said in result.ended
    assert ("nosuchprogram: command not found" in result.tail()) == command.startswith("nosuch")


FORKS = """
import os, pathlib, signal, sys
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        open(3, "w").write("started\\n")
        os.execvp("sleep", ["sleep", "87654"])
    signal.pause()
sys.stdout.write(os.fdopen(4).readline())
sys.stdout.flush()
"""


def _left() -> list[int]:
    """Processes that `FORKS` started and that are alive."""
    processes = psutil.process_iter(["cmdline", "status"])
    return [p.pid for p in processes if p.info["cmdline"] == ["sleep", "87654"]]


@pytest.mark.parametrize("isolation", ["none", "bubblewrap"])
@pytest.mark.parametrize("end", ["", "; cat <&4"])
def test_nothing_that_a_command_started_is_left(tmp_path: Path, isolation: str, end: str) -> None:
    runner = _runner(tmp_path, isolation)
    pipe = "mkfifo {out}/pipe; exec 3<>{out}/pipe 4<&3; "
    result = _train(
        runner, runner.repository.base, command=f"{pipe}python -c {shlex.quote(FORKS)}{end}", timeout_s=6.0
    )
    assert result.finished.timed_out == bool(end)
    assert result.tail() == "started\n"
    assert _left() == []


def test_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes("grüße\n".encode() * 3 + b"\xff\n")
    finished = Finished(0, False, 1.0, 1.0, 0)
    result = Result("c", finished, tmp_path, tmp_path, log, tmp_path)
    assert result.tail() == "grüße\n" * 3 + "\ufffd\n"
    assert [result.tail(size) for size in (2, 5, 6)] == ["\n", "e\n\ufffd\n", "ße\n\ufffd\n"]


def test_a_command_that_cannot_be_started_is_an_error_of_ours(tmp_path: Path) -> None:
    runner = _runner(tmp_path, isolation="none")
    with pytest.raises(RunnerError, match="can't be run in"):
        _train(runner, runner.repository.base, command=f"true {'x' * 3_000_000}")
    assert not (tmp_path / "run/attempts/a/code").exists()
