from pathlib import Path

from agentmig.bench.scratch import Change, Scratch
from tests.bench.builders import example
from tests.execution.projects import git
from tests.tiny import TRAIN


def scratch(tmp_path: Path, name: str = "scratch") -> Scratch:
    return Scratch(tmp_path / name, example(tmp_path / "examples")["tiny"])


def test_the_base_is_the_project_without_leftovers(tmp_path: Path) -> None:
    found = example(tmp_path / "examples")["tiny"]
    inner = found.folder / "package" / "migrations"
    for folder in (inner, found.folder / "__pycache__"):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("")
    made = Scratch(tmp_path / "scratch", found)
    names = git(made.folder, "ls-tree", "-r", "--name-only", "main").split()
    assert names == ["evaluate.py", "package/migrations/a.py", "train.py", "workload.toml"]


def test_the_same_files_are_the_same_commit(tmp_path: Path) -> None:
    one, other = scratch(tmp_path), scratch(tmp_path, "again")
    assert one.base == other.base


def test_a_commit_holds_what_the_checkout_held_also_what_is_ignored(tmp_path: Path) -> None:
    made = scratch(tmp_path)
    with made.changed(made.base) as files:
        assert (files / "train.py").read_text() == TRAIN
        (files / ".gitignore").write_text("*.pt\n")
        (files / "planted.pt").write_text("x")
        (files / "evaluate.py").unlink()
        (files / "train.py").write_text("# a word\n" + TRAIN)
        commit = made.commit(files, made.base, "mutant", "a mutant")
    assert not files.exists()
    assert made.changes(made.base, commit) == [
        Change(".gitignore", "added"),
        Change("evaluate.py", "removed"),
        Change("planted.pt", "added"),
        Change("train.py", "edited", cosmetic=True),
    ]
    assert git(made.folder, "rev-parse", "mutant") == commit


def test_python_that_does_the_same_is_told_from_what_does_not(tmp_path: Path) -> None:
    made = scratch(tmp_path)
    for text, cosmetic in (("x=1\n", True), ("x = 2\n", False), ("x = (\n", False)):
        with made.changed(made.base) as files:
            (files / "a.py").write_text("x = 1\n")
            before = made.commit(files, made.base, "before", "before")
            (files / "a.py").write_text(text)
            after = made.commit(files, before, "after", "after")
        assert made.changes(before, after) == [Change("a.py", "edited", cosmetic)]
