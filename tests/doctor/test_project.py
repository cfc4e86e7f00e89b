import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.doctor.project import Opened, is_remote, knock, open_project
from agentmig.spec import Workload

Make = Callable[..., Workload]


def _git(folder: Path, *arguments: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environ, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed project."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)\n")
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "-m", "one")
    return folder


def _open(workload: Workload, tmp_path: Path) -> Opened:
    (tmp_path / "scratch").mkdir(parents=True, exist_ok=True)
    return open_project(workload, tmp_path / "scratch")


def _of(make: Make, path: Path | str, commit: str = "HEAD") -> Workload:
    return make(tail=f'[project]\npath = "{path}"\nbase_commit = "{commit}"')


def test_a_committed_project_is_brought_as_a_run_would(workload: Make, tmp_path: Path, project: Path) -> None:
    opened = _open(_of(workload, project), tmp_path)
    assert {name: found.state for name, found in opened.findings.items()} == {"project": "ok"}
    assert opened.code is not None and (opened.code / "train.py").read_text() == "print(1)\n"


def test_what_is_not_committed_is_a_warning(workload: Make, tmp_path: Path, project: Path) -> None:
    (project / "train.py").write_text("print(2)\n")
    for number in range(4):
        (project / f"new{number}.py").touch()
    found = _open(_of(workload, project), tmp_path).findings["uncommitted"]
    assert found.state == "warn" and "train.py" in found.seen and "and 2 more" in found.seen


def test_no_repository_no_folder_and_no_commit_are_said_with_a_step(
    workload: Make, tmp_path: Path, project: Path
) -> None:
    (tmp_path / "bare folder").mkdir()
    for path, commit, said in [
        (tmp_path / "bare folder", "HEAD", "not in a git repository"),
        (tmp_path / "none", "HEAD", "no such folder"),
        (project, "v9", "no commit 'v9'"),
    ]:
        opened = _open(_of(workload, path, commit), tmp_path)
        (found,) = opened.findings.values()
        assert found.state == "missing" and said in found.seen and found.fix
        assert opened.code is None


def test_a_submodule_that_is_not_here_keeps_a_run_from_beginning(
    workload: Make, tmp_path: Path, project: Path
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    _git(outer, "init", "--quiet")
    _git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project), "part")
    _git(outer, "commit", "--quiet", "-m", "with a part")
    assert _open(_of(workload, outer), tmp_path / "a").findings["project"].state == "ok"
    clone = tmp_path / "clone"
    _git(tmp_path, "clone", "--quiet", str(outer), str(clone))
    found = _open(_of(workload, clone), tmp_path / "b").findings["project"]
    assert found.state == "missing" and "part at" in found.seen and "submodule update" in found.fix


@pytest.mark.usefixtures("nothing_on_path")
def test_without_git_nothing_is_looked_at(workload: Make, tmp_path: Path) -> None:
    (found,) = _open(workload(), tmp_path).findings.values()
    assert found.state == "missing" and "git is not installed" in found.seen


def test_the_server_of_a_url_is_asked_and_its_login_is_not_told(
    workload: Make, tmp_path: Path, project: Path
) -> None:
    there = _of(workload, f"file://{project}")
    assert is_remote(there)
    assert asyncio.run(knock(there)).findings["project"].state == "ok"
    gone = _of(workload, "file://ann:pa55word@/nowhere/at/all")
    found = asyncio.run(knock(gone)).findings["project"]
    assert found.state == "broken" and "pa55word" not in found.seen
