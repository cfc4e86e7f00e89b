import asyncio
from pathlib import Path

import pytest

from agentmig.doctor import machine
from agentmig.doctor.checks import perform
from agentmig.settings import Settings
from tests.doctor.conftest import Script


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("echo git version 2.39.5", "ok", "2.39.5 at"),
        ("echo 'git version 2.48.1 (Apple Git-154)'", "ok", "2.48.1 at"),
        ("echo git version 2.20.1", "broken", "too old; 2.28"),
        ("echo git version 1.8.3.1", "broken", "too old"),
        ("echo hello", "broken", "exit code 0: hello"),
        ("exit 1", "broken", "exit code 1"),
    ],
)
def test_git(script: Script, text: str, state: str, said: str) -> None:
    script("git", text)
    found = asyncio.run(machine.examine_git())
    assert found.state == state and said in found.seen


@pytest.mark.usefixtures("nothing_on_path")
def test_without_git_it_is_said_how_to_get_it() -> None:
    found = asyncio.run(machine.examine_git())
    assert found.state == "missing" and "git" in found.fix


def test_a_python_without_ensurepip_can_not_make_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.judge_python().state == "ok"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = machine.judge_python()
    assert found.state == "missing" and "-venv" in found.fix


@pytest.mark.parametrize(
    ("free", "unbuilt", "state"), [(100, 2, "ok"), (13, 2, "missing"), (14, 2, "ok"), (6, 0, "warn")]
)
def test_disk_against_the_environments_that_are_to_be_built(free: float, unbuilt: int, state: str) -> None:
    assert machine.judge_disk(free, Path("/cache"), unbuilt).state == state


def test_memory_against_the_processes_that_train_at_once() -> None:
    assert machine.judge_strength(2, 8.0, 4).state == "ok"
    assert machine.judge_strength(2, 2.0, 4).state == "warn"
    assert machine.judge_strength(2, 0.5, 0).state == "ok"


def test_folders_are_tried_and_left_as_they_were(tmp_path: Path) -> None:
    assert machine.judge_folder(tmp_path, "runs").seen.endswith("can be written")
    assert machine.judge_folder(tmp_path / "a" / "b", "runs").seen.endswith("will be made")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_folders_place_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = machine.judge_folder(tmp_path / "file" / "cache", "cache")
    assert found.state == "broken" and "AGENTMIG_CACHE" in found.fix


def test_a_folder_that_can_not_be_written_is_broken() -> None:
    assert machine.judge_folder(Path("/proc/agentmig"), "cache").state == "broken"


def test_settings_are_told_with_their_places_and_misspelt_ones_are_said() -> None:
    assert machine.judge_settings(["PATH"], []).seen == "defaults"
    found = machine.judge_settings(["AGENTMIG_CACHE", "AGENTMIG_PROCESS"], [Path("/a/agentmig.toml")])
    assert (found.state, found.seen) == ("ok", "/a/agentmig.toml, AGENTMIG_CACHE")
    found = machine.judge_settings(["AGENTMIG_CAHCE"], [])
    assert found.state == "warn" and found.fix.startswith("unset AGENTMIG_CAHCE ")


def test_a_policy_that_can_not_be_read_is_broken(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path, runs=tmp_path, policy=tmp_path / "no.toml")
    found = {result.name: result for result in asyncio.run(perform(machine.checks(settings, 0, 0)))}
    assert found["policy and prices"].state == "broken" and "no.toml" in found["policy and prices"].seen
    assert found["cores and memory"].state == "ok"
    assert found["cache folder"].state == "ok"


def test_without_settings_nothing_that_needs_them_is_looked_at() -> None:
    names = [check.name for check in machine.checks(None, 0, 0)]
    assert names == ["Python", "git", "cores and memory"]
