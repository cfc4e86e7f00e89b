import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from agentmig.journal import Journal
from agentmig.journal.events import ClaimMade, ClaimVerified, MigrationFinished, MigrationStarted
from tests.conftest import DIGITS
from tests.journal.builders import put


def _agentmig(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("ANTHROPIC")}
    command = [sys.executable, "-m", "agentmig.cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def _finished(cwd: Path) -> Path:
    run = cwd / ".agentmig" / "runs" / "20260101-000000-tiny-0000"
    with Journal(run) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
        put(journal, ClaimVerified, summary="[rejected] for [a reason]")
        put(journal, MigrationFinished, verdict="rejected", reason="no")
    return run


def test_show_prints_a_run_for_people_and_for_programs(tmp_path: Path) -> None:
    _finished(tmp_path)
    people = _agentmig(tmp_path, "show")
    assert people.returncode == 0
    assert people.stdout.startswith("REJECTED no")
    assert "EMULATED xla" in people.stdout
    programs = _agentmig(tmp_path, "show", "20260101", "--json")
    assert json.loads(programs.stdout)["verdict"] == "rejected"


def test_a_run_that_is_not_there_is_said_without_a_traceback(tmp_path: Path) -> None:
    done = _agentmig(tmp_path, "show", "nothing")
    assert done.returncode == 2
    assert "no run 'nothing'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    run = _finished(tmp_path)
    file = run / "journal.jsonl"
    file.write_text(file.read_text().replace('"claim_made"', '"claim_mode"'))
    done = _agentmig(tmp_path, "show")
    assert done.returncode == 2
    assert "journal.jsonl:2: damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_in_a_workload_file_are_listed(
    tmp_path: Path, workload_file: Callable[[str], Path], minimal: str
) -> None:
    file = workload_file(minimal.replace("margin = 0.01", "margin = 0").replace('"maximize"', '"most"'))
    done = _agentmig(tmp_path, "run", str(file), "--play", "x")
    assert done.returncode == 2
    assert "goal.margin" in done.stderr and "goal.direction" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".agentmig").exists()


def test_without_key_and_script_nobody_speaks_for_the_model(tmp_path: Path) -> None:
    done = _agentmig(tmp_path, "run", str(DIGITS))
    assert done.returncode == 2
    assert "--play" in done.stderr
    assert not (tmp_path / ".agentmig").exists()


def test_a_candidate_that_does_not_exist_is_said(tmp_path: Path) -> None:
    done = _agentmig(tmp_path, "verify", str(DIGITS), "--candidate", "no-such-branch")
    assert done.returncode == 2
    assert "no commit 'no-such-branch'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_the_version(tmp_path: Path) -> None:
    assert _agentmig(tmp_path, "--version").stdout.startswith("agentmig ")
