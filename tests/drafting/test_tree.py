import os
from pathlib import Path

from agentmig.drafting.tree import Bounds, decode_python, read_tree
from tests.execution.projects import write


def test_what_is_no_part_of_the_project_is_left_out(tmp_path: Path) -> None:
    files = dict.fromkeys(
        ("train.py", "pkg/a.py", ".git/b.py", "node_modules/c.py", "my_env/lib/d.py"), "x = 1\n"
    )
    write(tmp_path, {**files, "my_env/pyvenv.cfg": "", "env/make.py": "", "README.md": "hi", "data.bin": "x"})
    tree = read_tree(tmp_path)
    assert set(tree.python) == {"train.py", "pkg/a.py", "env/make.py"}
    assert set(tree.texts) == {"README.md"}
    assert "data.bin" in tree.names
    assert tree.has_folder("pkg") and not tree.has_folder("my_env")


def test_links_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "project", {"train.py": ""})
    write(tmp_path / "elsewhere", {"secret.py": ""})
    (tmp_path / "project" / "loop").symlink_to(tmp_path / "project")
    (tmp_path / "project" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "project" / "link.py").symlink_to(tmp_path / "elsewhere" / "secret.py")
    os.mkfifo(tmp_path / "project" / "pipe.py")
    assert set(read_tree(tmp_path / "project").python) == {"train.py"}


def test_the_work_is_bounded_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, {f"deep/{n}.py": "x" for n in range(5)} | {"train.py": "x", "huge.py": "x" * 50})
    tree = read_tree(tmp_path, Bounds(files=3, file_bytes=20))
    assert "train.py" in tree.python and len(tree.python) == 3
    assert any("huge.py was not read" in note for note in tree.notes)
    assert any("3 of 6 files were not read" in note for note in tree.notes)
    few = read_tree(tmp_path, Bounds(entries=3))
    assert any("more than 3 files and folders" in note for note in few.notes)


def test_unreadable_names_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": ""})
    (tmp_path / os.fsdecode(b"bad-\xff.py")).write_text("")
    tree = read_tree(tmp_path)
    assert set(tree.python) == {"train.py"}
    assert tree.notes == ["1 files have names or permissions that can't be read"]


def test_encodings() -> None:
    assert decode_python("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1")).endswith("'é'\n")
    assert "\ufffd" in decode_python(b"x = '\xff'\n")
    assert decode_python(b"# coding: no-such-codec\nx\n").endswith("x\n")
    assert decode_python(b"# coding: hex\nx\n").endswith("x\n")


def test_notebooks_and_cuda_sources_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.ipynb": "{}", "ops/kernel.cu": ""})
    tree = read_tree(tmp_path)
    assert tree.notebooks == ["a.ipynb"]
    assert tree.cuda_sources == ["ops/kernel.cu"]
