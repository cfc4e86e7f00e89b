import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from agentmig.bench import campaign as campaign_module
from agentmig.bench.arms import Arm
from agentmig.bench.manifests import CLEAN
from agentmig.bench.model import FaultBench
from agentmig.bench.rows import FILE
from agentmig.bench.verifying import Verified
from agentmig.cli import bench
from agentmig.cli.bench import app as group
from agentmig.errors import AgentmigError
from tests.bench.builders import MUTANT, observation, verified, write_example, write_operators

app = typer.Typer()
app.add_typer(group, name="bench")
Verdicts = dict[str, Verified | BaseException]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bench", "faults", *arguments])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a project and two operators, and nobody's settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("RUNS", "QUIET", "ISOLATION", "POLICY", "PRICES"):
        monkeypatch.delenv(f"AGENTMIG_{name}", raising=False)
    write_example(tmp_path / "examples")
    write_operators(
        tmp_path / "operators", {"lr": MUTANT, "half": MUTANT.replace("0.7", "0.2") + "short = true\n"}
    )
    return tmp_path


HERE = ("--workloads", "examples", "--operators-from", "operators", "--no-isolation")


@pytest.fixture
def came_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """Verifications by arm, of those that don't come out as they should; nothing is trained."""
    verdicts: Verdicts = {}

    async def observed(self: campaign_module.Campaign, arm: Arm) -> object:
        found = verdicts.get(arm.id)
        if isinstance(found, BaseException):
            raise found
        return observation(arm, found)

    monkeypatch.setattr(campaign_module.Campaign, "_observed", observed)
    return verdicts


def test_people_see_each_arm_and_the_counts(came_out: Verdicts) -> None:
    result = call(*HERE, "--out", "results")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("3 arms: 2 mutants, 1 correct (")
    assert re.fullmatch(rf"1/3  {CLEAN}\.tiny\.cpu: accepted \(0 s, about 0 s left\)", lines[1])
    assert "3/3  lr.tiny.cpu: rejected by semantics (learning_rate) (0 s)" in lines
    assert any(line.startswith("2 of 2 mutants rejected (100.0%") for line in lines)
    assert lines[-2:] == ["wrote results/fault-bench.json", "wrote results/fault-bench.md"]
    made = FaultBench.model_validate_json(Path("results/fault-bench.json").read_text())
    assert made.summary.detected == 2
    assert "2 of 2 mutants rejected" in Path("results/fault-bench.md").read_text()


def test_a_second_time_nothing_is_run_and_the_same_is_written(came_out: Verdicts) -> None:
    call(*HERE, "--out", "results")
    before = Path("results/fault-bench.json").read_text()
    came_out["lr.tiny.cpu"] = AssertionError("was run again")
    result = call(*HERE, "--out", "results")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "3 arms: 2 mutants, 1 correct; 3 of them are done already, with the same key"
    )
    assert Path("results/fault-bench.json").read_text() == before


@pytest.mark.parametrize(
    ("arm", "made", "words"),
    [
        ("lr.tiny.cpu", verified("pass"), "missed lr.tiny.cpu: Every gate passed."),
        (f"{CLEAN}.tiny.cpu", verified("fail"), f"not accepted {CLEAN}.tiny.cpu: The learning rate"),
        ("lr.tiny.cpu", AgentmigError("no [room]"), "not run lr.tiny.cpu: no [room]"),
    ],
)
def test_targets_that_are_missed_are_told_with_exit_code_1(
    came_out: Verdicts, arm: str, made: Verified | BaseException, words: str
) -> None:
    came_out[arm] = made
    result = call(*HERE)
    assert result.exit_code == 1
    assert words in result.stdout


def test_json_is_one_document_and_quiet_leaves_the_end_alone(came_out: Verdicts) -> None:
    document = call(*HERE, "--json").stdout
    assert json.loads(document)["summary"]["mutants"] == 2
    assert FaultBench.model_validate_json(document).rows[0].kind == "clean"
    quiet = call(*HERE, "--quiet").stdout
    assert "arms:" not in quiet
    assert quiet.startswith("2 of 2 mutants rejected")


def test_docs_are_written_only_where_all_that_ships_is_run(
    came_out: Verdicts, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        bench, "resource", lambda *parts: home / {"workloads": "examples"}.get(parts[-1], "operators")
    )
    for arguments in (HERE, ("--operator", "lr"), ("--workload", "tiny"), ("--short",)):
        assert call("--no-isolation", *arguments).exit_code == 0
        assert not Path("docs").exists()
    assert call("--no-isolation").exit_code == 0
    assert Path("docs/fault-bench.md").exists()


@pytest.mark.parametrize(
    ("arguments", "arms"),
    [
        (("--operator", "lr"), ["lr.tiny.cpu"]),
        (("--operator", CLEAN), [f"{CLEAN}.tiny.cpu"]),
        (("--operator", CLEAN, "--operator", "half"), [f"{CLEAN}.tiny.cpu", "half.tiny.cpu"]),
        (("--short",), ["half.tiny.cpu"]),
    ],
)
def test_what_is_chosen_is_run(came_out: Verdicts, arguments: tuple[str, ...], arms: list[str]) -> None:
    made = FaultBench.model_validate_json(call(*HERE, *arguments, "--json").stdout)
    assert [row.arm for row in made.rows] == arms


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--operator", "nope"), "no operator 'nope'"),
        (("--workload", "nope"), "no project 'nope'"),
        (("--workloads", "nowhere"), "no project in this folder"),
        (("--operators-from", "nowhere"), "there is no such folder"),
        (("--operator", "lr", "--short"), "no arm is left to run"),
        (("--work", "examples/tiny/train.py"), "--work"),
        (("--out", "examples/tiny/train.py"), "all rows are kept, name another folder with --out"),
    ],
)
def test_wrong_input_is_told_and_nothing_is_printed(
    came_out: Verdicts, arguments: tuple[str, ...], words: str
) -> None:
    result = call(*HERE, "--quiet", *arguments)
    assert isinstance(result.exception, AgentmigError), result.output
    assert result.exception.exit_code == 2
    assert words in str(result.exception)
    assert result.stdout == ""


def test_an_installation_without_projects_asks_for_some(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*parts: str) -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(bench, "resource", missing)
    assert "name a folder with --workloads" in str(call().exception)
    assert "name a folder with --operators-from" in str(call("--workloads", "examples").exception)


def test_a_mistake_in_any_manifest_is_told_before_anything_runs(home: Path, came_out: Verdicts) -> None:
    (home / "operators" / "bad.toml").write_text('schema_version = 1\nname = "bad"\ncolour = 1\n')
    result = call(*HERE, "--operator", "lr")
    assert "bad.toml" in str(result.exception)
    assert not (home / ".agentmig").exists()


def test_an_interruption_says_how_to_go_on(came_out: Verdicts) -> None:
    came_out["lr.tiny.cpu"] = KeyboardInterrupt()
    result = call(*HERE)
    assert result.exit_code == 130 or isinstance(result.exception, KeyboardInterrupt)
    assert "interrupted; 2 arms done and kept in" in result.output
    assert len((Path(".agentmig/runs/bench") / FILE).read_text().splitlines()) == 2


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds: float, words: str) -> None:
    assert bench.duration(seconds) == words
