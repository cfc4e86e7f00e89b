import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from agentmig.cli.init import init
from agentmig.drafting import Document, DraftingError
from agentmig.spec import load_workload
from tests.execution.projects import project, write
from tests.tiny import EVALUATE, TRAIN, agentmig


def _project(folder: Path) -> Path:
    return project(folder, {"train.py": TRAIN, "evaluate.py": EVALUATE, "requirements.txt": "torch\n"})


def test_a_draft_validates_and_is_not_run_before_it_is_filled_in(tmp_path: Path) -> None:
    folder = _project(tmp_path / "my project")
    done = agentmig(tmp_path, "init", folder)
    assert done.returncode == 0, done.stderr
    assert "train.py" in done.stdout and "next:" in done.stdout
    drafted = load_workload(folder)
    assert "{seed}" in drafted.train.command
    document = json.loads(agentmig(tmp_path, "init", folder, "--force", "--json").stdout)
    assert document["written"] is True
    if document["unfilled"]:
        refused = agentmig(tmp_path, "plan", folder)
        assert refused.returncode == 2
        assert all(key in refused.stderr for key in document["unfilled"])


def test_a_placeholder_that_is_left_stops_every_command_that_would_run_it(tmp_path: Path) -> None:
    folder = _project(tmp_path / "project")
    agentmig(tmp_path, "init", folder)
    file = folder / "workload.toml"
    file.write_text(file.read_text().replace("[goal]\n", "[goal]\n# FILL-IN in a comment is nothing\n", 1))
    text = file.read_text()
    line = next(line for line in text.splitlines() if line.startswith("metric = "))
    file.write_text(text.replace(line, 'metric = "FILL-IN"', 1))
    for command in (["plan"], ["verify", "--candidate", "HEAD"]):
        done = agentmig(tmp_path, *command, folder)
        assert done.returncode == 2
        assert "goal.metric" in done.stderr and "FILL-IN" in done.stderr


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    folder = _project(tmp_path / "project")
    (folder / "workload.toml").write_text("mine\n")
    done = agentmig(tmp_path, "init", folder)
    assert done.returncode == 2 and "--force" in done.stderr
    assert (folder / "workload.toml").read_text() == "mine\n"
    assert agentmig(tmp_path, "init", folder, "--force").returncode == 0
    assert (folder / "workload.toml").read_text() != "mine\n"


def test_print_writes_nothing(tmp_path: Path) -> None:
    folder = _project(tmp_path / "project")
    done = agentmig(tmp_path, "init", folder, "--print")
    assert "schema_version = 1" in done.stdout
    assert not (folder / "workload.toml").exists()


def test_where_nothing_can_be_drafted_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("nowhere", "empty"):
        done = agentmig(tmp_path, "init", tmp_path / place)
        assert done.returncode == 2
        assert place in done.stderr and "Traceback" not in done.stderr


_APP = typer.Typer(pretty_exceptions_enable=False)
_APP.command()(init)
_BARE = (
    "import torch\nmodel.cuda()\nfor epoch in range(90):\n    loss.backward()\n    print(f'loss {loss}')\n"
)


def _init(*arguments: str | Path) -> str:
    done = CliRunner().invoke(_APP, [str(argument) for argument in arguments])
    if done.exception:
        raise done.exception
    return done.output


def test_people_read_what_was_found_and_numbered_questions(tmp_path: Path) -> None:
    write(tmp_path, {"train[red].py": _BARE})
    said = _init(tmp_path)
    assert "trains         train[red].py (train[red].py:1)" in said
    assert (
        "CUDA device: .cuda(): tensors and modules must go to the target's device (train[red].py:2) cuda_unavailable"
        in said
    )
    missing, look = said.split("What is missing")[1].split("What to look at")
    assert "  1. train.command: " in missing and "  2. train.checkpoint: " in missing
    assert "Is 90 epochs what a run should train?" in look
    assert "next: replace FILL-IN in train.command, train.checkpoint, evaluate.command, goal.pattern" in look


def test_programs_read_one_document(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": _BARE})
    document = Document.model_validate_json(_init(tmp_path, "--json", "--print"))
    assert (document.written, document.draft_path) == (False, str(tmp_path / "workload.toml"))
    assert not (tmp_path / "workload.toml").exists()
    assert {hazard.cause for hazard in document.hazards} >= {"cuda_unavailable", "no_optimizer_step"}
    assert all(finding.line for finding in document.findings if finding.file)


def test_what_is_printed_is_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": _BARE})
    printed = _init(tmp_path, "--print")
    _init(tmp_path)
    assert (tmp_path / "workload.toml").read_text() == printed


def test_a_draft_elsewhere_names_the_project_from_there(tmp_path: Path) -> None:
    write(tmp_path / "project", {"train.py": _BARE})
    (tmp_path / "files").mkdir()
    _init(tmp_path / "project", "--output", tmp_path / "files" / "w.toml")
    assert load_workload(tmp_path / "files" / "w.toml").project.path == "../project"
    with pytest.raises(DraftingError, match="No such file"):
        _init(tmp_path / "project", "--output", tmp_path / "gone" / "w.toml")


def test_the_training_program_can_be_named(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": _BARE, "a/other.py": _BARE})
    assert "a/other.py" in _train_command(_init(tmp_path, "--train", "./a/other.py", "--print"))


def _train_command(text: str) -> str:
    """The train command in the text of a draft."""
    return next(line for line in text.splitlines() if line.startswith("command = "))
