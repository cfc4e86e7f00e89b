"""What people do by mistake, met by the real command line: a clear message, no traceback, nothing lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.execution.isolation import Isolation
from agentmig.journal import Journal, fold, read_journal
from agentmig.journal.events import ClaimMade, MigrationFinished, MigrationStarted
from tests.execution.projects import git
from tests.journal.builders import put
from tests.tiny import agentmig, environment, tiny

NO_TORCH = Path(sys.executable)
"""For what ends before anything is trained."""


def _refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    text = done.stderr.replace("\n", " ")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    for each in said:
        assert each in text, text


def _run(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Verify the project's own HEAD: no key and no session is needed to come to the reference."""
    env = environment(AGENTMIG_CACHE=str(folder.parent / "cache"), **more)
    return agentmig(folder.parent, "verify", folder, "--candidate", "HEAD", env=env)


def test_five_mistakes_in_a_workload_file_are_five_lines(tmp_path: Path) -> None:
    changes = {"margin": "-1", "direction": '"up"', "pattern": "'('", "seeds": "1", "accelerator": "7"}
    folder = tiny(tmp_path / "project", NO_TORCH, changes=changes)
    done = _run(folder)
    _refused(done, "has 5 mistakes", "goal.margin", "goal.direction", "goal.pattern", "reference.seeds")
    assert "targets.cpu.accelerator" in done.stderr
    assert not (tmp_path / ".agentmig").exists()


def test_a_path_that_is_no_git_repository(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    shutil.rmtree(folder / ".git")
    _refused(_run(folder), "not in a git repository", "git init")
    assert list((tmp_path / ".agentmig" / "runs").iterdir()) == [tmp_path / ".agentmig/runs/.gitignore"]


def test_a_base_commit_that_does_not_exist(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    file = folder / "workload.toml"
    file.write_text(file.read_text() + '\n[project]\nbase_commit = "v9"\n')
    _refused(_run(folder), "no commit 'v9'", "git log")


def test_a_candidate_that_does_not_exist(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    done = agentmig(tmp_path, "verify", folder, "--candidate", "no-such-branch")
    _refused(done, "no commit 'no-such-branch'")


def test_a_dirty_project_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    (folder / "train.py").write_text("print('other')\n")
    (folder / "new file.py").write_text("")
    done = agentmig(tmp_path, "plan", folder, "--json")
    remarks = " ".join(json.loads(done.stdout)["remarks"])
    assert "2 uncommitted changes" in remarks and "train.py" in remarks and "new file.py" in remarks


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nosuchprogram --seed {seed} --out {out}", "nosuchprogram"),
        ("python train.py --seed {seed} --out {out} --no-such-flag", "unrecognized arguments"),
    ],
)
def test_a_train_command_that_is_not_there(tmp_path: Path, command: str, said: str) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH, changes={"command": f'"{command}"'})
    train = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--seed')\np.add_argument('--out')\np.parse_args()\n"
    (folder / "train.py").write_text(train)
    git(folder, "commit", "--quiet", "--all", "-m", "other")
    _refused(_run(folder), said, "nothing to compare with", "log.txt")


def test_a_train_command_that_never_ends_leaves_nothing_running(tmp_path: Path) -> None:
    forks = "import os, signal\nos.fork()\nos.setsid() if os.getpid() != os.getsid(0) else None\nos.fork()\nsignal.pause()\n"
    folder = tiny(tmp_path / "project", NO_TORCH, {"train.py": forks}, {"timeout_s": "2"})
    _refused(_run(folder), "did not end in time")
    left = [p for p in Path("/proc").glob("[0-9]*/cwd") if _points_into(p, tmp_path)]
    assert left == []


def _points_into(link: Path, folder: Path) -> bool:
    try:
        return str(link.readlink()).startswith(str(folder))
    except OSError:
        return False


def test_without_key_and_session_nobody_speaks_for_the_model(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    done = agentmig(tmp_path, "run", folder)
    _refused(done, "ANTHROPIC_API_KEY is not set", "--play")
    assert not (tmp_path / ".agentmig").exists()


def test_with_a_key_but_nobody_to_agree_nothing_is_spent(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    done = agentmig(tmp_path, "run", folder, env=environment(ANTHROPIC_API_KEY="none"))
    _refused(done, "costs money", "--yes")
    assert "up to" in done.stdout or "$0.00 to $5.00" in done.stdout
    assert not (tmp_path / ".agentmig").exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", NO_TORCH)
    here = tmp_path / "here"
    here.mkdir()
    # Whoever runs this may be root, whom no permission stops; a read-only mount does.
    command = [
        sys.executable,
        "-m",
        "agentmig",
        "verify",
        str(folder),
        "--candidate",
        "HEAD",
        "--no-isolation",
    ]
    locked = Isolation("bubblewrap").wrap(
        command, cwd=here, env=environment(), writable=[], readable=[tmp_path, *_interpreter()]
    )
    done = subprocess.run(locked, cwd=here, env=environment(), capture_output=True, text=True, check=False)
    _refused(done, ".agentmig", "Read-only file system", "can be written")


def test_a_disk_that_fills_while_the_journal_is_written_keeps_what_was_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    program = f"""
import shutil
from pathlib import Path
from agentmig.errors import AgentmigError
from agentmig.journal import Journal
from agentmig.journal.events import FeedbackSent, MigrationStarted
from tests.journal.builders import put
run = Path({str(disk)!r}) / "run"
try:
    with Journal(run) as journal:
        put(journal, MigrationStarted)
        while True:
            put(journal, FeedbackSent, text="x" * 9000, about="y")
except AgentmigError as error:
    print(len(journal.events), error)
shutil.copy(run / "journal.jsonl", {str(tmp_path / "copy")!r})
"""
    mount = ["bwrap", "--dev-bind", "/", "/", "--size", str(128 * 1024), "--tmpfs", str(disk)]
    command = [*mount, sys.executable, "-c", program]
    done = subprocess.run(command, cwd=Path.cwd(), capture_output=True, text=True, check=False)
    assert "No space left on device; free space, then resume" in done.stdout, done.stderr
    kept = tmp_path / "run"
    kept.mkdir()
    (tmp_path / "copy").rename(kept / "journal.jsonl")
    events = read_journal(kept)
    assert 10 <= len(events) <= 15
    assert len(events) == int(done.stdout.split()[0])  # what was told as written is what is there
    with Journal(kept) as journal:
        put(journal, MigrationFinished, verdict="stopped", reason="it goes on")
    assert len(read_journal(kept)) == len(events) + 1


def _interpreter() -> list[Path]:
    return [path for path in {Path(sys.prefix), Path(sys.base_prefix), Path.cwd()} if path.exists()]


def _journal(tmp_path: Path) -> Path:
    run = tmp_path / ".agentmig" / "runs" / "20260101-000000-tiny-0000"
    with Journal(run) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
    return run


def test_a_journal_that_was_cut_off_is_repaired_and_the_run_shown(tmp_path: Path) -> None:
    run = _journal(tmp_path)
    file = run / "journal.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    shown = json.loads(agentmig(tmp_path, "show", "--json").stdout)
    assert (shown["verdict"], shown["claims"]) == ("running", [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"claim_made"', '"claim_mode"'), "journal.jsonl:2: damaged"),
        (lambda text: text.replace('"schema_version":1', '"schema_version":2'), "newer version"),
        (lambda text: text.splitlines(keepends=True)[1], "lines were removed"),
    ],
)
def test_a_journal_that_cannot_be_trusted_is_named(
    tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    file = _journal(tmp_path) / "journal.jsonl"
    file.write_text(change(file.read_text()))
    for command in ("show", "resume", "report"):
        _refused(agentmig(tmp_path, command, "latest"), said)


def test_a_second_terminal_on_one_run_is_refused(tmp_path: Path) -> None:
    run = _journal(tmp_path)
    shutil.copy(Path(__file__), run / "inputs.json")
    with Journal(run):
        _refused(agentmig(tmp_path, "resume", "latest"), "inputs.json")
        (run / "inputs.json").write_text(_inputs(tmp_path))
        env = environment(ANTHROPIC_API_KEY="none")
        _refused(agentmig(tmp_path, "resume", "latest", env=env), "another agentmig process")


def _inputs(tmp_path: Path) -> str:
    from agentmig.supervisor.inputs import read_inputs

    return read_inputs(tiny(tmp_path / "project", NO_TORCH)).model_dump_json()


def test_a_claude_code_that_is_missing_stops_the_run_and_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentmig.agent import launch
    from agentmig.agent.service import AgentError

    (tmp_path / "sdk").mkdir()
    monkeypatch.setattr("claude_agent_sdk.__file__", str(tmp_path / "sdk" / "__init__.py"))
    with pytest.raises(AgentError, match="reinstall it"):
        launch.bundled_cli()


SESSION = """
[manifest]
origin = "authored"
workload = "tiny"
model = "claude-sonnet-4-5"
note = "a harmless change and a claim"
cli = "2.1.332"

[[turn]]
usage = { input = 5, output = 20 }
[[turn.tool]]
name = "Bash"
input = { command = "echo '# moved' >> train.py && git commit --quiet --all --message moved" }

[[turn]]
usage = { input = 5, output = 20 }
[[turn.tool]]
name = "mcp__agentmig__claim_success"
input = { summary = "moved" }

[[turn]]
usage = { input = 5, output = 20 }
text = "Done."
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, ref_python: Path) -> Path:
    """The project, in a path with spaces and letters of several alphabets, its reference in the cache beside it."""
    home = tmp_path_factory.mktemp("Übung – проект 模型 (1)")
    folder = tiny(home / "mon projet d'été", ref_python)
    (home / "session.toml").write_text(SESSION)
    planted = {"sitecustomize.py": "import os\n"}
    git(folder, "checkout", "--quiet", "-b", "planted")
    (folder / "sitecustomize.py").write_text(planted["sitecustomize.py"])
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "planted")
    git(folder, "checkout", "--quiet", "-")
    done = _verify_planted(folder)
    assert done.returncode == 1, done.stderr
    return folder


def _verify_planted(folder: Path) -> subprocess.CompletedProcess[str]:
    env = environment(AGENTMIG_CACHE=str(folder.parent / "cache"))
    return agentmig(folder.parent, "verify", folder, "--candidate", "planted", "--json", env=env)


@pytest.mark.torch
def test_a_path_with_spaces_and_other_letters_is_a_path_like_any_other(known: Path) -> None:
    run = json.loads(_verify_planted(known).stdout)
    assert (run["verdict"], run["claims"][0]["cause"]) == ("rejected", "planted_file")


@pytest.mark.torch
@pytest.mark.parametrize(
    "moment",
    [
        "plan for",
        "looking it up",
        "reference (CPU",
        "session started",
        "tools: Bash",
        "claim-1 at",
        "pass cpu/integrity",
        "attempt-1 by",
    ],
)
def test_ctrl_c_at_any_moment_keeps_what_was_recorded_and_the_run_can_go_on(known: Path, moment: str) -> None:
    home = known.parent
    runs = home / f"runs {moment}"
    env = environment(AGENTMIG_CACHE=str(home / "cache"), AGENTMIG_RUNS=str(runs))
    command = [sys.executable, "-m", "agentmig", "run", str(known), "--play", str(home / "session.toml")]
    process = subprocess.Popen(
        command,
        cwd=home,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if moment in line:
            os.kill(process.pid, signal.SIGINT)
            break
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 130, "".join(lines) + rest
    assert "Traceback" not in rest
    assert [p for p in Path("/proc").glob("[0-9]*/cwd") if _points_into(p, runs)] == []
    if moment == "plan for":
        return  # nothing had begun
    (run,) = [folder for folder in runs.iterdir() if folder.is_dir()]
    before = read_journal(run)
    stopped = fold(before).finished
    assert stopped and (stopped.verdict, stopped.reason) == ("stopped", "interrupted by a person")
    if moment in ("looking it up", "attempt-1 by"):
        done = agentmig(home, "resume", run, "--quiet", "--json", env=env)
        assert done.stdout, done.stderr
        document = json.loads(done.stdout)
        assert (done.returncode, document["verdict"]) == (0, "accepted"), document["reason"]
        assert read_journal(run)[: len(before)] == before
