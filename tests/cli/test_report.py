import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from agentmig.cli.report import report
from agentmig.errors import AgentmigError
from agentmig.journal import Journal
from agentmig.journal.events import MigrationFinished, MigrationStarted
from tests.journal.builders import put

app = typer.Typer()
app.command()(report)


def finished(runs: Path, name: str, verdict: str = "rejected") -> Path:
    with Journal(runs / name) as journal:
        put(journal, MigrationStarted, run_id=name)
        put(journal, MigrationFinished, verdict=verdict, reason="[bold]no[/bold]")
    return runs / name


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the runs of a project that is the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".agentmig" / "runs"


def called(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_both_files_go_into_the_run_s_folder(home: Path) -> None:
    run = finished(home, "20260101-tiny")
    done = called()
    assert done.exit_code == 0
    first, html, markdown = done.stdout.splitlines()
    assert first == "REJECTED (on EMULATED targets): [bold]no[/bold]"
    assert (Path(html), Path(markdown)) == (run / "report.html", run / "report.md")
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (run / "report.md").read_text(encoding="utf-8").startswith("# REJECTED (on EMULATED targets)")


def test_only_what_is_named_is_written(home: Path, tmp_path: Path) -> None:
    run = finished(home, "20260101-tiny")
    done = called("20260101", "--markdown", "mine.md")
    assert done.stdout.splitlines()[1:] == ["mine.md"]
    assert (tmp_path / "mine.md").exists()
    assert not (run / "report.html").exists() and not (run / "report.md").exists()


def test_json_is_one_document_and_writes_nothing(home: Path) -> None:
    run = finished(home, "20260101-tiny")
    document = json.loads(called("latest", "--json").stdout)
    assert document["schema_version"] == 1
    assert document["runs"][0]["run"]["verdict"] == "rejected"
    assert sorted(file.name for file in run.iterdir()) == ["journal.jsonl"]


def test_several_runs_make_one_document_beside_them(home: Path) -> None:
    finished(home, "20260101-tiny")
    finished(home, "20260102-tiny", "accepted")
    done = called("20260101", "20260102", str(home / "20260101-tiny"))
    assert done.stdout.startswith("2 runs: 1 rejected, 1 accepted")
    assert "20260102-tiny" in (home / "report.md").read_text(encoding="utf-8")


def test_runs_of_different_places_are_reported_where_one_is(home: Path, tmp_path: Path) -> None:
    one, other = finished(home, "a"), finished(tmp_path / "elsewhere", "b")
    assert called(str(one), str(other)).stdout.splitlines()[1:] == ["report.html", "report.md"]
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing",), "no run 'nothing'"),
        (("20260101", "--html", "no/such/folder/x.html"), "there is no folder no/such/folder; make it first"),
        (("20260101", "--markdown", "."), "name a file that can be written"),
    ],
)
def test_what_cannot_be_done_is_said(home: Path, arguments: tuple[str, ...], words: str) -> None:
    finished(home, "20260101-tiny")
    with pytest.raises(AgentmigError, match=words):
        called(*arguments)


def test_the_command_starts_without_matplotlib(home: Path) -> None:
    code = "import sys, agentmig.cli.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
