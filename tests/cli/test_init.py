import json
from pathlib import Path

from agentmig.spec import load_workload
from tests.execution.projects import project
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
