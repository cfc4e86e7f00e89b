import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from agentmig.cli import doctor as command
from agentmig.doctor import Examined, Report, Result
from agentmig.doctor.results import broken, missing, not_needed, ok, warn
from agentmig.settings import Settings

APP = typer.Typer()
APP.command()(command.doctor)

FINE = [
    ok("2.1 starts").named("Claude Code", "agent"),
    not_needed("no [device]").named("TPU", "backends"),
    warn("not built\nyet", "build [it]").named("environment", "workload"),
]
ILL = [
    *FINE,
    missing("not installed", "install git").named("git", "machine"),
    broken("crashed", "repair torch").named("torch", "backends"),
]


def _found(monkeypatch: pytest.MonkeyPatch, results: list[Result], settings: Settings | None = None) -> None:
    async def examine(file: Path | None, on_running: object) -> Examined:
        return Examined(Report(agentmig="1", workload=str(file) if file else None, results=results), settings)

    monkeypatch.setattr(command, "examine", examine)


def test_results_are_shown_by_groups_and_the_steps_last(monkeypatch: pytest.MonkeyPatch) -> None:
    _found(monkeypatch, ILL)
    done = CliRunner().invoke(APP, [])
    assert done.exit_code == 2
    lines = done.stdout.splitlines()
    assert lines.index("Agent") < lines.index("This machine") < lines.index("Backends") < lines.index("To do")
    assert "  ✓ Claude Code  2.1 starts" in lines
    assert "  · TPU          not needed: no [device]" in lines
    assert "  ! environment  not built yet" in lines
    assert "  ✗ git          missing: not installed" in lines
    assert lines[lines.index("To do") + 1 :] == [
        "  1. install git",
        "  2. repair torch",
        "Worth doing",
        "  1. build [it]",
        "not ready: 2 things that `agentmig run` needs are missing or broken",
    ]


def test_warnings_alone_end_well(monkeypatch: pytest.MonkeyPatch) -> None:
    _found(monkeypatch, FINE)
    done = CliRunner().invoke(APP, ["workload.toml"])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("ready: ")
    assert "To do" not in done.stdout


def test_programs_get_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    _found(monkeypatch, ILL)
    done = CliRunner().invoke(APP, ["workload.toml", "--json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 2
    assert (document["schema_version"], document["ready"]) == (1, False)
    assert document["workload"] == "workload.toml"
    assert document["todo"] == ["install git", "repair torch"]
    assert {result["state"] for result in document["results"]} == {
        "ok",
        "not needed",
        "warn",
        "missing",
        "broken",
    }


@pytest.mark.parametrize("by_setting", [True, False])
def test_quietly_only_the_end_is_printed(monkeypatch: pytest.MonkeyPatch, by_setting: bool) -> None:
    _found(monkeypatch, ILL, Settings(quiet=by_setting))
    done = CliRunner().invoke(APP, [] if by_setting else ["--quiet"])
    assert done.stdout.splitlines()[0] == "To do"
    assert "Claude Code" not in done.stdout


def test_the_whole_command_never_ends_with_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTMIG_ISOLATION", "perhaps")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "no address")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(APP, [str(tmp_path / "none.toml"), "--json"])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    found = {result["name"]: result["state"] for result in json.loads(done.stdout)["results"]}
    assert found["settings"] == "broken" and found["file"] == "broken" and found["git"] == "missing"
