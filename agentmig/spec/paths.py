"""Which files of a project a migration may not change."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath


def is_protected(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path, relative to the project with `/`, is one of the protected ones or lies below one.

    In a pattern `*` does not stop at `/`.
    """
    parts = PurePosixPath(path).parts
    heads = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    wanted = [PurePosixPath(pattern.strip("/")).as_posix() for pattern in patterns]
    return any(fnmatchcase(head, pattern) for pattern in wanted for head in heads)


def protected_files(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The protected ones of `paths`, sorted."""
    return sorted(path for path in paths if is_protected(path, patterns))
