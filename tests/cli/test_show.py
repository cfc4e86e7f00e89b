import json
from pathlib import Path

from agentmig.journal import Journal
from agentmig.journal.events import ClaimMade, ClaimVerified, MigrationFinished, MigrationStarted
from tests.journal.builders import put
from tests.tiny import agentmig


def _finished(cwd: Path) -> None:
    with Journal(cwd / ".agentmig" / "runs" / "20260101-000000-tiny-0000") as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
        put(journal, ClaimVerified, summary="[rejected] for [a reason]")
        put(journal, MigrationFinished, verdict="rejected", reason="no")


def test_a_run_is_shown_to_people_and_to_programs(tmp_path: Path) -> None:
    _finished(tmp_path)
    people = agentmig(tmp_path, "show")
    assert people.returncode == 0
    assert people.stdout.startswith("REJECTED no")
    assert "EMULATED xla" in people.stdout
    programs = agentmig(tmp_path, "show", "20260101", "--json")
    assert json.loads(programs.stdout)["verdict"] == "rejected"


def test_a_run_that_is_not_there_is_said_without_a_traceback(tmp_path: Path) -> None:
    done = agentmig(tmp_path, "show", "nothing")
    assert done.returncode == 2
    assert "no run 'nothing'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
