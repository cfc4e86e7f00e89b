import os
import subprocess
from pathlib import Path

import pytest

from agentmig.execution.changes import uncommitted
from agentmig.execution.plumbing import RepositoryError
from tests.execution.projects import git, owned_by_another, project, submodule, write

FILES = {"train.py": "1\n", "in/a file.py": "1\n", "in/größe.py": "1\n", ".gitignore": "*.log\n"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return project(tmp_path / "a project", FILES)


def test_a_clean_project_has_none(folder: Path) -> None:
    write(folder, {"noise.log": "x"})
    assert uncommitted("a project", folder.parent) == []


def test_changed_new_staged_removed_and_renamed_files_are_told(folder: Path) -> None:
    git(folder, "mv", "in/a file.py", "in/another file.py")
    write(folder, {"in/größe.py": "2\n", "new/one.py": "1\n", "new/two.py": "1\n", "staged.py": "1\n"})
    git(folder, "add", "staged.py")
    (folder / "train.py").unlink()
    assert sorted(uncommitted(str(folder), folder)) == [
        *("in/a file.py", "in/another file.py", "in/größe.py", "new/", "staged.py", "train.py")
    ]


def test_only_the_projects_own_folder_counts(folder: Path) -> None:
    write(folder, {"train.py": "2\n", "in/größe.py": "2\n", "in/new.py": "2\n"})
    assert uncommitted("in", folder) == ["größe.py", "new.py"]


def test_a_folder_that_is_new_as_a_whole(folder: Path) -> None:
    write(folder, {"other/new.py": "2\n"})
    assert uncommitted("other", folder) == ["./"]


def test_what_a_person_ignores_everywhere_is_ignored(folder: Path) -> None:
    write(folder.parent, {".config/git/ignore": ".idea\n"})
    write(folder, {".idea/x": "1\n"})
    assert uncommitted("in/..", folder) == []
    write(folder.parent, {".gitconfig": "[core]\nexcludesFile = /dev/null\n"})
    assert uncommitted("in/..", folder) == [".idea/"]


def test_no_program_of_the_repository_runs_and_nothing_is_written(folder: Path) -> None:
    sign = folder.parent / "ran"
    script = folder.parent / "program"
    script.write_text(f"#!/bin/sh\ntouch '{sign}'\ncat\n")
    script.chmod(0o755)
    hook = folder / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script.read_text())
    hook.chmod(0o755)
    write(folder, {".git/info/attributes": "*.py filter=evil\n"})
    settings = {"core.fsmonitor": script, "filter.evil.clean": script, "filter.evil.process": script}
    for name, value in {**settings, "filter.evil.required": "true"}.items():
        git(folder, "config", name, str(value))
    os.utime(folder / "train.py", (1, 1))
    before = (folder / ".git/index").read_bytes()
    assert uncommitted(str(folder), folder) == []
    assert not sign.exists()
    assert (folder / ".git/index").read_bytes() == before


def test_changes_in_a_submodule_count(folder: Path) -> None:
    submodule(folder, "lib", project(folder.parent / "lib", {"lib.py": "1\n"}))
    assert uncommitted(str(folder), folder) == []
    write(folder, {"lib/lib.py": "2\n", "lib/new.py": "2\n"})
    assert uncommitted(str(folder), folder) == ["lib/lib.py", "lib/new.py"]
    git(folder / "lib", "commit", "--quiet", "--all", "-m", "moved")
    assert uncommitted(str(folder), folder) == ["lib", "lib/new.py"]


def test_a_url_and_a_bare_repository_have_none(folder: Path) -> None:
    git(folder, "clone", "--quiet", "--bare", ".", "../bare.git")
    assert uncommitted("../bare.git", folder) == []
    assert uncommitted("https://localhost/x.git", folder) == []
    assert uncommitted("me@localhost:x.git", folder) == []


def test_a_folder_without_a_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="not in a git repository"):
        uncommitted(".", tmp_path)


def test_the_folder_of_another_user_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned_by_another(folder.parent / "bin", monkeypatch)
    write(folder, {"train.py": "2\n"})
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "status")
    assert uncommitted(str(folder), folder) == ["train.py"]
