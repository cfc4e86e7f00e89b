"""A repository of our own for each example project: its base commit, its correct migrations, and every mutant."""

import ast
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentmig.bench.examples import Example
from agentmig.execution.importing import IDENTITY
from agentmig.execution.plumbing import git, git_bytes, items

_LEFT_OUT = {".git", "__pycache__", ".agentmig"}
# Commits depend on their content alone.
_WHEN = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}


@dataclass(frozen=True)
class Change:
    """A file that differs between two commits.

    Attributes:
        cosmetic: Python whose syntax tree is the same: only comments or layout changed.
    """

    path: str
    how: Literal["added", "removed", "edited"]
    cosmetic: bool = False


class Scratch:
    """The repository.

    Args:
        folder: where; made anew.
        example: the project, whose files become the base commit.

    Attributes:
        base: id of the base commit.
    """

    def __init__(self, folder: Path, example: Example):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self._git = folder / ".git"
        git(None, "init", "--quiet", "--initial-branch", "main", str(folder))
        with tempfile.TemporaryDirectory(dir=folder) as place:
            files = Path(place) / "files"
            shutil.copytree(example.folder, files, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
            self.base = self._commit(files, None, f"{example.name} as it is", [])
        git(self._git, "update-ref", "refs/heads/main", self.base)

    @contextmanager
    def changed(self, parent: str) -> Iterator[Path]:
        """A checkout of a commit, to change and to give to `commit`; it is gone afterwards."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            files = Path(place) / "files"
            files.mkdir()
            env = {"GIT_INDEX_FILE": str(Path(place) / "index"), "GIT_WORK_TREE": str(files)}
            git(self._git, "read-tree", parent, env=env)
            git(self._git, "checkout-index", "--all", cwd=files, env=env)
            yield files

    def apply(self, patch: Path, files: Path) -> None:
        """Apply a patch to a checkout.

        Raises:
            RepositoryError: it doesn't apply; says at which file and line.
        """
        env = {"GIT_WORK_TREE": str(files)}
        git(self._git, "apply", "--whitespace=nowarn", str(patch.resolve()), cwd=files, env=env)

    def commit(self, files: Path, parent: str, branch: str, message: str) -> str:
        """Commit all that a checkout holds, ignored files too; returns the commit's id."""
        commit = self._commit(files, parent, message, ["--force"])
        git(self._git, "update-ref", f"refs/heads/{branch}", commit)
        return commit

    def _commit(self, files: Path, parent: str | None, message: str, options: list[str]) -> str:
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            env = {"GIT_INDEX_FILE": str(Path(place) / "index"), "GIT_WORK_TREE": str(files)}
            git(self._git, "add", "--all", *options, cwd=files, env=env)
            tree = git(self._git, "write-tree", env=env)
        parents = ["-p", parent] if parent else []
        return git(self._git, "commit-tree", tree, *parents, "-m", message, env={**IDENTITY, **_WHEN})

    def tree(self, commit: str) -> str:
        """Id of a commit's tree."""
        return git(self._git, "rev-parse", f"{commit}^{{tree}}")

    def changes(self, old: str, new: str) -> list[Change]:
        """The files in which two commits differ, in the order of their names."""
        told = items(git(self._git, "diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new))
        hows: dict[str, Literal["added", "removed", "edited"]] = {"A": "added", "D": "removed"}
        found = []
        for status, path in zip(told[::2], told[1::2], strict=True):
            how = hows.get(status, "edited")
            same = how == "edited" and path.endswith(".py") and self._same_code(old, new, path)
            found.append(Change(path, how, same))
        return found

    def _same_code(self, old: str, new: str, path: str) -> bool:
        texts = [git_bytes(self._git, "cat-file", "blob", f"{commit}:{path}") for commit in (old, new)]
        try:
            before, after = (ast.dump(ast.parse(text)) for text in texts)
        except (SyntaxError, ValueError):
            return False
        return before == after
