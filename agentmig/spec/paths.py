"""Which files of a project a migration may not change."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath


def is_protected(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path, relative to the project with `/`, falls under a protected path or glob.

    A pattern without wildcard protects that file, or all of that folder; `*` does not stop at `/`.
    """
    normal = PurePosixPath(path).as_posix()
    for pattern in patterns:
        plain = PurePosixPath(pattern).as_posix()
        if normal == plain or normal.startswith(plain + "/") or fnmatchcase(normal, plain):
            return True
    return False


def protected_files(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The protected ones of `paths`, sorted."""
    return sorted(path for path in paths if is_protected(path, patterns))
