from pathlib import Path

import pytest

from agentmig.execution.repository import Repository, RepositoryError
from tests.execution.projects import git, project, write

FILES = {
    "train.py": "print(1)\n",
    "data/test.csv": "1\n",
    "evaluate.py": "print(2)\n",
    ".gitignore": "*.log\n",
}


def _run(tmp_path: Path, where: str = "project") -> Repository:
    folder = project(tmp_path / where, FILES)
    repository = Repository.create(str(folder), "HEAD", tmp_path, tmp_path / "run")
    repository.add_worktree()
    return repository


def _commit(repository: Repository, files: dict[str, str]) -> str:
    write(repository.worktree, files)
    git(repository.worktree, "add", "--all")
    git(repository.worktree, "commit", "--quiet", "-m", "work")
    return repository.head()


def test_the_worktree_holds_the_base_and_the_project_is_untouched(tmp_path: Path) -> None:
    repository = _run(tmp_path, "a project with spaces and ümlauts")
    assert (repository.worktree / "train.py").read_text() == "print(1)\n"
    source = tmp_path / "a project with spaces and ümlauts"
    assert git(source, "status", "--porcelain") == ""
    assert git(source, "branch", "--list").split() == ["*", git(source, "branch", "--show-current")]
    assert git(source, "worktree", "list").count("\n") == 0


def test_a_folder_inside_a_repository_becomes_a_project_of_its_own(tmp_path: Path) -> None:
    outer = project(
        tmp_path / "outer", {f"inner/{name}": text for name, text in FILES.items()} | {"secret.txt": "x"}
    )
    repository = Repository.create("inner", "HEAD", outer, tmp_path / "run")
    repository.add_worktree()
    assert sorted(p.name for p in repository.worktree.iterdir()) == [
        ".git",
        ".gitignore",
        "data",
        "evaluate.py",
        "train.py",
    ]
    assert "secret" not in git(repository.worktree, "log", "--all", "--name-only")
    assert repository.source_commit == git(outer, "rev-parse", "HEAD")


def test_the_base_has_the_same_id_in_every_run(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    first, second = (
        Repository.create(str(folder), "HEAD", tmp_path, tmp_path / name) for name in ("one", "two")
    )
    assert first.base == second.base


def test_a_snapshot_holds_uncommitted_and_untracked_work_and_moves_nothing(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    head = repository.head()
    assert repository.snapshot("s") == head
    write(repository.worktree, {"train.py": "print(3)\n", "new.py": "x\n", "noise.log": "x\n"})
    assert not repository.is_committed()
    checkout = repository.checkout(repository.snapshot("s"), tmp_path / "out")
    assert (checkout / "train.py").read_text() == "print(3)\n"
    assert (checkout / "new.py").exists()
    assert not (checkout / "noise.log").exists()
    assert repository.head() == head
    assert git(repository.worktree, "status", "--porcelain") == "M train.py\n?? new.py"


def test_a_checkout_has_the_protected_files_of_the_base(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    git(repository.worktree, "mv", "data/test.csv", "data/renamed.csv")
    commit = _commit(repository, {"evaluate.py": "print('99%')\n", "train.py": "print(4)\n"})
    checkout = repository.checkout(commit, tmp_path / "out", restore=["evaluate.py", "data"])
    assert (checkout / "evaluate.py").read_text() == "print(2)\n"
    assert (checkout / "train.py").read_text() == "print(4)\n"
    assert [p.name for p in (checkout / "data").iterdir()] == ["test.csv"]
    plain = repository.checkout(commit, tmp_path / "plain")
    assert (plain / "evaluate.py").read_text() == "print('99%')\n"


def test_nothing_the_agent_plants_in_its_repository_takes_part(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    sign = tmp_path / "planted-code-ran"
    script = f"#!/bin/sh\ntouch '{sign}'\n"
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        path = repository.agent / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
    fsmonitor = tmp_path / "monitor"
    fsmonitor.write_text(script)
    fsmonitor.chmod(0o755)
    for key, value in (
        ("core.fsmonitor", str(fsmonitor)),
        ("filter.evil.smudge", str(fsmonitor)),
        ("filter.evil.clean", str(fsmonitor)),
    ):
        git(tmp_path, "--git-dir", str(repository.agent), "config", key, value)
    write(repository.worktree, {".gitattributes": "* filter=evil\n", "train.py": "print(5)\n"})
    commit = repository.snapshot("s")
    repository.checkout(commit, tmp_path / "out", restore=["evaluate.py"])
    repository.commit("HEAD")
    assert not sign.exists()


def test_a_commit_is_named_by_what_git_knows(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    commit = _commit(repository, {"train.py": "print(6)\n"})
    assert repository.commit("HEAD") == repository.commit(commit[:10]) == commit
    with pytest.raises(RepositoryError):
        repository.commit("no-such-thing")


def test_a_candidate_of_the_project_comes_in_on_top_of_the_base(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    repository = Repository.create(str(folder), "HEAD", tmp_path, tmp_path / "run")
    write(folder, {"train.py": "print(7)\n"})
    git(folder, "commit", "--quiet", "--all", "-m", "by hand")
    candidate = repository.import_candidate(str(folder), "HEAD", tmp_path, tmp_path / "run")
    assert (repository.checkout(candidate, tmp_path / "out") / "train.py").read_text() == "print(7)\n"


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="no such folder"):
        Repository.create("nowhere", "HEAD", tmp_path, tmp_path / "run")
    (tmp_path / "plain").mkdir()
    with pytest.raises(RepositoryError, match="not in a git repository"):
        Repository.create("plain", "HEAD", tmp_path, tmp_path / "run")
    folder = project(tmp_path / "project", FILES)
    with pytest.raises(RepositoryError, match="no commit 'v9'"):
        Repository.create(str(folder), "v9", tmp_path, tmp_path / "run")
    (folder / "new").mkdir()
    with pytest.raises(RepositoryError, match="has no folder 'new'"):
        Repository.create("new", "HEAD", folder, tmp_path / "run2")


def test_what_git_would_convert_or_ignore_is_no_uncommitted_work(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"forced.log": "1\n"})
    (folder / "lines.py").write_bytes(b"one\r\ntwo\r\n")
    (folder / "auto.md").write_bytes(b"one\r\ntwo\r\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "line ends of another system")
    write(folder, {".gitattributes": "* text=auto\n*.py text eol=lf\n", ".gitignore": "*.log\n"})
    git(folder, "add", ".gitattributes", ".gitignore")
    git(folder, "commit", "--quiet", "-m", "attributes that came later")
    repository = Repository.create(str(folder), "HEAD", tmp_path, tmp_path / "run")
    repository.add_worktree()
    assert repository.is_committed()
    write(repository.worktree, {"forced.log": "2\n"})
    assert not repository.is_committed()
    checkout = repository.checkout(repository.snapshot("s"), tmp_path / "out")
    assert (checkout / "forced.log").read_text() == "2\n"
    assert (checkout / "lines.py").read_bytes() == b"one\r\ntwo\r\n"


def test_a_protected_folder_that_became_a_link_is_a_folder_again(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    git(repository.worktree, "rm", "--quiet", "-r", "data")
    (repository.worktree / "data").symlink_to(outside)
    checkout = repository.checkout(_commit(repository, {}), tmp_path / "out", restore=["data"])
    assert (checkout / "data" / "test.csv").read_text() == "1\n"
    assert not (checkout / "data").is_symlink()
    assert list(outside.iterdir()) == []


def test_a_run_is_opened_again(tmp_path: Path) -> None:
    repository = _run(tmp_path)
    again = Repository.reopen(tmp_path / "run", repository.source_commit)
    assert (again.base, again.head()) == (repository.base, repository.head())
    with pytest.raises(RepositoryError):
        Repository.reopen(tmp_path / "nowhere", repository.source_commit)
