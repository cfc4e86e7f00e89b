import sys
from pathlib import Path

import pytest

from agentmig.journal import Journal
from agentmig.journal.events import MigrationStarted
from agentmig.spec import load_workload
from agentmig.supervisor.foresight import history, known_before
from tests.execution.projects import git
from tests.journal.builders import put
from tests.tiny import tiny


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty caches and runs."""
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTMIG_RUNS", str(tmp_path / "runs"))


def test_of_a_new_workload_nothing_is_known_but_its_commit(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", Path(sys.executable))
    known = known_before(load_workload(folder))
    assert known.base_commit == git(folder, "rev-parse", "HEAD")
    assert (known.goal, known.missing_traces, list(known.history), list(known.uncommitted)) == (
        None,
        3,
        [],
        [],
    )
    assert list(known.to_build) == []
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


def test_an_environment_that_was_never_built_has_to_be(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", Path(sys.executable))
    file = folder / "workload.toml"
    file.write_text(
        file.read_text().replace('kind = "python"', 'kind = "pip"\nrequirements = ["never-built==1"]')
    )
    assert list(known_before(load_workload(folder)).to_build) == ["base"]


def test_changes_that_no_commit_holds_are_known(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", Path(sys.executable))
    (folder / "train.py").write_text("print()\n")
    (folder / "naïve file.py").write_text("")
    assert sorted(known_before(load_workload(folder)).uncommitted) == ["naïve file.py", "train.py"]


def test_history_is_of_the_same_workload_and_leaves_out_what_cannot_be_read(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name, workload in (("1-tiny-a", "tiny"), ("2-tiny-b", "tiny"), ("3-tiny-more-c", "tiny-more")):
        with Journal(runs / name) as journal:
            put(journal, MigrationStarted, run_id=name, workload=workload)
    (runs / "4-tiny-d").mkdir()
    (runs / "4-tiny-d" / "journal.jsonl").write_text("damaged\n")
    (runs / "5-tiny-e").mkdir()
    found = [state.started.run_id for state in history(runs, "tiny") if state.started]
    assert found == ["2-tiny-b", "1-tiny-a"]
