"""What git says about the project; it is only read, and nothing that its configuration names is run."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class Repository:
    """The repository that holds the project.

    Attributes:
        root: its working tree.
        folder: the project's folder in it, `""` for all of it.
        head: the commit; None where there is none yet.
        changed: paths (relative to the project) that differ from it, not counting untracked ones.
        untracked: Python files that are not in it.
        tracked: the project's files that are.
        submodules: paths of submodules in the project.
        pointers: files that are LFS pointers.
    """

    root: Path
    folder: str
    head: str | None
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    tracked: frozenset[str] = frozenset()
    submodules: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()


def read_repository(project: Path) -> Repository | None:
    """The repository of a folder, or None where there is none that git can read."""
    top = _git(project, "rev-parse", "--show-toplevel")
    if not top or not top.strip():
        return None
    root = Path(top.rstrip("\n"))
    folder = _git(project, "rev-parse", "--show-prefix") or ""
    head = (_git(project, "rev-parse", "--verify", "--quiet", "HEAD") or "").strip() or None
    entries = [
        entry.partition("\t")
        for entry in (_git(project, "ls-files", "-z", "--stage") or "").split("\0")
        if entry
    ]
    tracked = frozenset(path for _, _, path in entries)
    submodules = tuple(path for info, _, path in entries if info.startswith("160000"))
    prefix = folder.rstrip("\n")
    status = _git(
        project, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all", "--", "."
    )
    changed = [entry[3:].removeprefix(prefix) for entry in (status or "").split("\0") if len(entry) > 3]
    untracked = _git(project, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py") or ""
    return Repository(
        root,
        prefix.rstrip("/"),
        head,
        tuple(changed),
        tuple(path for path in untracked.split("\0") if path),
        tracked,
        submodules,
        tuple(sorted(path for path in tracked if _is_pointer(project / path))),
    )


def _is_pointer(path: Path) -> bool:
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > 1024:
            return False
        with path.open("rb") as file:
            return file.read(len(_LFS)) == _LFS
    except OSError:
        return False


def _git(folder: Path, *arguments: str) -> str | None:
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {
        **keep,
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
    }
    safe = [
        "-c",
        "safe.directory=*",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.quotePath=false",
    ]
    command = ["git", *safe, *_without_filters(folder, env), "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _without_filters(folder: Path, env: dict[str, str]) -> list[str]:
    """Options that switch off the programs which the repository's own configuration would have git run on files."""
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "-C",
        str(folder),
        "config",
        "--name-only",
        "--get-regexp",
        r"^filter\..*\.(clean|process)$",
    ]
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = [
        line
        for line in done.stdout.decode("utf-8", "replace").splitlines()
        if re.fullmatch(r"filter\.[^=\n]+\.(?:clean|process)", line)
    ]
    required = {line.rsplit(".", 1)[0] + ".required" for line in names}
    return [word for name in names for word in ("-c", f"{name}=")] + [
        word for name in sorted(required) for word in ("-c", f"{name}=false")
    ]
