from pathlib import Path

from agentmig.drafting.repository import read_repository
from tests.execution.projects import git, pointer, project, submodule, write


def test_a_folder_inside_a_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "all", {"part/train.py": "x", "part/a b.py": "x", "other.py": "x"})
    write(root, {"part/train.py": "changed", "other.py": "changed", "part/new.py": ""})
    found = read_repository(root / "part")
    assert found is not None
    assert found.root == root.resolve()
    assert (found.folder, found.head) == ("part", git(root, "rev-parse", "HEAD"))
    assert found.changed == ("train.py",)
    assert found.untracked == ("new.py",)
    assert found.tracked == {"train.py", "a b.py"}


def test_submodules_and_pointers(tmp_path: Path) -> None:
    other = project(tmp_path / "other", {"a.py": ""})
    root = project(tmp_path / "project", {"train.py": "x", "weights.bin": pointer(b"12")})
    submodule(root, "vendor", other)
    found = read_repository(root)
    assert found is not None
    assert (found.submodules, found.pointers) == (("vendor",), ("weights.bin",))


def test_no_repository_and_no_commit(tmp_path: Path) -> None:
    assert read_repository(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    found = read_repository(tmp_path)
    assert found is not None and found.head is None and found.changed == ()


def test_programs_of_the_repository_configuration_are_not_run(tmp_path: Path) -> None:
    root = project(tmp_path / "project", {"train.py": "x", ".gitattributes": "*.py filter=bad\n"})
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for key in ("filter.bad.clean", "filter.bad.process", "core.fsmonitor"):
        git(root, "config", key, str(trap))
    git(root, "config", "filter.bad.required", "true")
    (root / "train.py").write_text("changed")
    found = read_repository(root)
    assert found is not None and found.changed == ("train.py",)
    assert not (tmp_path / "sprung").exists()
