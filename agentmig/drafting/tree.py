"""The files of a stranger's project, read within bounds: nothing is followed out of it, nothing is run."""

import os
import stat
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path

from agentmig.drafting.findings import one_line

_SKIPPED = frozenset(
    {
        "__pycache__",
        "build",
        "dist",
        "lightning_logs",
        "node_modules",
        "site-packages",
        "wandb",
    }
)
_TEXTS = (".md", ".rst", ".txt", ".sh", ".bash", ".toml", ".cfg", ".yaml", ".yml", ".slurm", ".sbatch")
_NAMES = ("makefile", "pipfile", "readme", "justfile", "dockerfile")
_CUDA = (".cu", ".cuh")
_LONGEST_LINE = 8000
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta", "bin/activate")
"""What marks a folder as a Python environment, whatever its name."""


@dataclass(frozen=True)
class Bounds:
    """How much of a tree is read at most."""

    entries: int = 100_000
    """Files and folders that are looked at."""
    files: int = 5_000
    """Files that are read, the shallow ones first."""
    file_bytes: int = 1_000_000
    total_bytes: int = 48_000_000


@dataclass
class Tree:
    """What was read of a project.

    Attributes:
        root: its folder.
        python: texts of Python files by path relative to the root.
        texts: the same of documents, shell scripts and configuration files.
        names: paths of all files that were seen.
        notebooks: paths of notebooks.
        cuda_sources: paths of CUDA source files.
        notes: what was left out, for people.
    """

    root: Path
    python: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    notebooks: list[str] = field(default_factory=list)
    cuda_sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def has_folder(self, path: str) -> bool:
        """Whether any file was seen below a folder of the project."""
        return path.rstrip("/") in self.folders

    @cached_property
    def folders(self) -> set[str]:
        """Paths of all folders that hold a file."""
        return {
            "/".join(name.split("/")[:depth])
            for name in self.names
            for depth in range(1, name.count("/") + 1)
        }


def read_tree(root: Path, bounds: Bounds | None = None) -> Tree:
    """Read what matters of a folder; a file that can't be read is left out and noted.

    Args:
        root: an existing folder.
        bounds: how much to read.
    """
    bounds = bounds or Bounds()
    tree = Tree(root)
    wanted: list[tuple[int, str, int]] = []
    for path, size in _files(root, tree, bounds):
        tree.names.add(path)
        name = path.rsplit("/", 1)[-1].lower()
        if name.endswith(".ipynb"):
            tree.notebooks.append(path)
        elif name.endswith(_CUDA):
            tree.cuda_sources.append(path)
        elif name.endswith((".py", *_TEXTS)) or name.split(".")[0] in _NAMES:
            if size > bounds.file_bytes:
                if name.endswith(".py"):
                    tree.notes.append(f"{one_line(path)} was not read: it has {size:,} bytes")
            else:
                # Code before texts, and what lies near the root before what lies deep.
                wanted.append((path.count("/") + (0 if name.endswith(".py") else 1), path, size))
    _read(tree, sorted(wanted), bounds)
    tree.notebooks.sort()
    tree.cuda_sources.sort()
    return tree


def _files(root: Path, tree: Tree, bounds: Bounds) -> Iterator[tuple[str, int]]:
    """Regular files below a folder with their sizes; links are not followed, broken names are left out."""
    seen = 0
    unreadable = 0
    for folder, folders, files in os.walk(root, followlinks=False):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_skipped(here / name))
        seen += len(files) + len(folders)
        if seen > bounds.entries:
            tree.notes.append(f"more than {bounds.entries:,} files and folders: the rest was not looked at")
            return
        for name in sorted(files):
            path = here / name
            try:
                status = path.lstat()
                relative = path.relative_to(root).as_posix()
                relative.encode()
            except (OSError, UnicodeEncodeError):
                unreadable += 1
                continue
            if stat.S_ISREG(status.st_mode):
                yield relative, status.st_size
    if unreadable:
        tree.notes.append(f"{unreadable} files have names or permissions that can't be read")


def _is_skipped(folder: Path) -> bool:
    name = folder.name
    return (
        name in _SKIPPED
        or (name.startswith(".") and name != ".github")
        or name.endswith(".egg-info")
        or Path(folder).is_symlink()
        or any(os.path.lexists(folder / mark) for mark in _ENVIRONMENT)
    )


def _read(tree: Tree, wanted: list[tuple[int, str, int]], bounds: Bounds) -> None:
    total = 0
    for number, (_, path, size) in enumerate(wanted):
        if number >= bounds.files or total + size > bounds.total_bytes:
            tree.notes.append(f"{len(wanted) - number:,} of {len(wanted):,} files were not read")
            return
        total += size
        try:
            data = (tree.root / path).read_bytes()
        except OSError as error:
            tree.notes.append(f"{one_line(path)} can't be read: {error.strerror}")
            continue
        if path.lower().endswith(".py"):
            tree.python[path] = decode_python(data)
        else:
            lines = data.decode("utf-8", errors="replace").split("\n")
            # Nobody wrote a line of that length by hand, and patterns on it could take for ever.
            tree.texts[path] = "\n".join(line if len(line) <= _LONGEST_LINE else "" for line in lines)


def decode_python(data: bytes) -> str:
    """The text of a Python file in its declared encoding; bytes that don't fit are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        return data.decode(encoding, errors="replace")
    except (SyntaxError, LookupError, ValueError):
        return data.decode("utf-8", errors="replace")
