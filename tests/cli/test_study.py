import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from agentmig.cli.common import NoRunError
from agentmig.cli.study import OutputError, study
from agentmig.errors import AgentmigError
from agentmig.journal import Outcome
from agentmig.study import TABLES, StudyView
from agentmig.study.reading import UnreadableError
from tests.study.migrations import run

app = typer.Typer()
app.command()(study)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def fails(error: type[AgentmigError], *arguments: str) -> str:
    result = call(*arguments)
    assert isinstance(result.exception, error), result.output
    assert result.exception.exit_code == 2
    assert result.stdout == ""
    return str(result.exception)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with three runs in `.agentmig/runs`, and nobody's settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AGENTMIG_HUMAN_USD_PER_HOUR", raising=False)
    monkeypatch.delenv("AGENTMIG_RUNS", raising=False)
    runs = tmp_path / ".agentmig" / "runs"
    failed = [(Outcome.LOUD, "device_mismatch"), (Outcome.SILENT, "recompilation")]
    run(runs / "2026-a", [*failed, (Outcome.OK, None)], interventions=2)
    run(runs / "2026-b", [(Outcome.OK, None)], words="digits (authored)", workload="[red]b")
    run(runs / "2025-c", verdict=None)
    yield tmp_path


def _rows(result: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_people_see_every_table_that_has_rows(home: Path) -> None:
    result = call()
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "3 migrations of 3 projects: 2 with a live model, 1 with played words, 0 by hand; 1 unfinished; 3 of 3 targets EMULATED.\n"
        "note: Not finished, so neither success nor failure: 2025-c.\n"
    )
    for title in (
        "Highest level reached",
        "Execution attempts",
        "Causes of failures",
        "Cost of a verified success",
    ):
        assert f"\n{title}" in result.stdout
    assert "[red]b" in result.stdout
    assert "n too small for an interval (2 projects, 5 needed)" in result.stdout


def test_long_tables_are_cut_for_people_unless_asked_for_alone(home: Path) -> None:
    for number in range(40):
        run(home / "many" / f"run-{number:02}", verdict="stopped")
    everything = call("many").stdout
    assert "10 more rows: --table migrations" in everything
    assert "run-39" in call("many", "--table", "migrations").stdout


def test_json_is_one_document(home: Path) -> None:
    result = call("--json")
    view = StudyView.model_validate_json(result.stdout)
    assert view.schema_version == 1
    assert [row.run for row in view.migrations.rows] == [
        "2025-c",
        "2026-a",
        "2026-b",
    ]
    assert call("--format", "json").stdout == result.stdout


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["2025"], {"2025-c"}),
        (["2026-a", "2025-c"], {"2026-a", "2025-c"}),
        (["2026*"], {"2026-a", "2026-b"}),
        ([".agentmig/runs"], {"2026-a", "2026-b", "2025-c"}),
        ([".agentmig/runs/2026-?"], {"2026-a", "2026-b"}),
        (["*/ru*"], set()),
        ([".agentmig/runs/2026-a", "2026-a", "."], set()),
    ],
)
def test_runs_are_found_by_name_folder_and_pattern(home: Path, names: list[str], found: set[str]) -> None:
    if not found:
        fails(NoRunError, *names)
    else:
        result = call(*names, "--format", "csv", "--table", "migrations")
        assert {row["run"] for row in _rows(result)} == found


def test_a_run_that_is_named_twice_counts_once(home: Path) -> None:
    document = json.loads(call("2026*", "2026-a", ".agentmig/runs", "--json").stdout)
    assert document["scope"]["migrations"] == 3
    assert document["scope"]["copies"] == []


def test_markdown_and_latex_go_to_stdout(home: Path) -> None:
    assert call("--format", "markdown").stdout.startswith("# Study\n\n3 migrations of 3 projects")
    assert call("--format", "latex").stdout.startswith("% \\usepackage{booktabs,longtable}\n")
    alone = call("--format", "markdown", "--table", "causes").stdout
    assert alone.count("## ") == 1
    assert "| recompilation | code | 0 | 1 | 1 |" in alone


def test_csv_is_a_file_for_each_table(home: Path) -> None:
    result = call("--format", "csv", "--output", "new/tables")
    assert (result.exit_code, result.stdout) == (0, "")
    assert sorted(file.stem for file in (home / "new" / "tables").iterdir()) == sorted(TABLES)
    alone = call("--format", "csv", "--table", "causes")
    assert (home / "new" / "tables" / "causes.csv").read_text() == alone.stdout
    call("--table", "causes", "--output", "causes.csv")
    assert (home / "causes.csv").read_text() == alone.stdout


@pytest.mark.parametrize(("file", "form"), [("t.md", "markdown"), ("t.tex", "latex"), ("t.json", "json")])
def test_the_ending_of_a_file_names_its_format(home: Path, file: str, form: str) -> None:
    assert call("--output", file).stdout == ""
    assert (home / file).read_text() == call("--format", form).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--table", "nothing"], "there is no such table"),
        (["--json", "--format", "csv"], "two formats"),
        (["--json", "--table", "causes"], "doesn't go with JSON"),
        (["--format", "csv"], "name a folder with --output, or one table with --table"),
        (["--output", "t.txt"], "say its format too"),
        (["--output", "missing/t.md"], "missing/t.md: No such file or directory"),
        (["--format", "csv", "--output", "taken"], "taken: "),
        (["--human-usd-per-hour", "inf"], "from 0 to 100,000"),
        (["--human-usd-per-hour", "nan"], "from 0 to 100,000"),
        (["--human-usd-per-hour", "-1"], "from 0 to 100,000"),
    ],
)
def test_options_that_cant_be_done(home: Path, arguments: list[str], words: str) -> None:
    (home / "taken").touch()
    assert words in fails(OutputError, *arguments)


def test_peoples_money_is_shown_where_an_hour_has_a_price(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def people(*arguments: str) -> list[str]:
        rows = _rows(call("--format", "csv", "--table", "cost", *arguments))
        return [
            r["total"] for r in rows if (r["measure"], r["unit"], r["group"]) == ("people", "$", "live model")
        ]

    assert people() == []
    assert people("--human-usd-per-hour", "90") == ["6.0"]
    monkeypatch.setenv("AGENTMIG_HUMAN_USD_PER_HOUR", "60")
    assert people() == ["4.0"]
    assert people("--human-usd-per-hour", "0") == ["0.0"]


def test_journals_that_cant_be_read_are_all_listed(home: Path) -> None:
    (home / ".agentmig/runs/2026-a/journal.jsonl").write_text("{}\n")
    (home / ".agentmig/runs/2025-c/journal.jsonl").write_text("")
    told = fails(UnreadableError)
    assert "2026-a/journal.jsonl:1: damaged" in told
    assert "2025-c/journal.jsonl: the journal is empty" in told
    assert "--keep-going" in told
    result = call("--keep-going", "--json")
    assert result.exit_code == 0
    assert result.stderr.count("left out:") == 2
    scope = json.loads(result.stdout)["scope"]
    assert (scope["migrations"], len(scope["left_out"])) == (1, 2)
    (home / ".agentmig/runs/2026-b/journal.jsonl").write_text("")
    assert "no other journal is left" in fails(UnreadableError, "--keep-going")


def test_without_a_run_there_is_no_study(home: Path) -> None:
    assert "no run 'other'" in fails(NoRunError, "other")
    (home / "bare").mkdir()
    assert "bare: no run in this folder" in fails(NoRunError, "bare")
    assert "no run matches" in fails(NoRunError, "20[0-9]?-z")
