"""Bringing a commit of a stranger's project into a run's repository, complete, with nothing taken over but content.

Only objects are read from the project's repository: commands run in the run's own one, which borrows the project's
objects for the moment, so that no configuration, filter, hook or replaced object there takes part. What a commit only
points to is put in its place, without a network: submodules (`submodules.py`) and files kept by Git LFS (`lfs.py`).
The tree, and with it every id, depends on the content and the commit alone.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agentmig.execution.plumbing import (
    RepositoryError,
    command,
    environment,
    git,
    items,
    shown,
    without_credentials,
)

IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "agentmig"), ("EMAIL", "agentmig@localhost"))
}


@dataclass(frozen=True)
class Source:
    """A repository on this machine that commits are read from.

    Attributes:
        git_dir: its git directory; a linked worktree has one of its own.
        top: the checked-out folder; None if there is none.
        folder: the project's folder inside the repository; `""` for all of it.
    """

    git_dir: Path
    top: Path | None
    folder: str = ""

    @property
    def name(self) -> str:
        """As a person knows it."""
        return shown(str(self.top or self.git_dir))

    @property
    def shared(self) -> Path:
        """The git directory that its linked worktrees share; objects, submodules and LFS files lie there."""
        common = git(self.git_dir, "rev-parse", "--git-common-dir")
        return (self.git_dir / common).resolve()

    def borrowed(self) -> dict[str, str]:
        """Variables that let git read this repository's objects from another one."""
        path = str(self.shared / "objects").replace("\\", "\\\\").replace('"', '\\"')
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}

    def is_at(self, commit: str) -> bool:
        """Whether its checked-out commit is this one."""
        try:
            return git(self.git_dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") == commit
        except RepositoryError:
            return False

    def remedy(self, commit: str, here: str) -> str:
        """What a person can do so that a commit is complete on this machine.

        Args:
            commit: its id.
            here: git's command for it, without `git`; it works on what is checked out.
        """
        if self.top is None:
            return "clone it with its submodules and LFS files (`git clone --recurse-submodules`), and name that folder as project.path"
        place = f"git -C {shlex.quote(self.name)}"
        first = "" if self.is_at(commit) else f"`{place} checkout {commit[:12]}`, then "
        return f"run {first}`{place} {here}`"


class Entry(NamedTuple):
    """What a tree holds at a path: `mode` as git writes it, `size` in bytes (None for a submodule)."""

    mode: str
    object: str
    size: int | None
    path: str


def is_url(project: str, beside: Path) -> bool:
    """Whether a project is reached by a URL, or as `user@host:path`."""
    return "://" in project or ("@" in project and ":" in project and not (beside / project).exists())


def find_source(project: str, beside: Path, run: Path) -> Source:
    """The repository that a project lies in; one that a URL names is cloned into the run's folder.

    Raises:
        RepositoryError: there is none.
    """
    if is_url(project, beside):
        mirror = run / "source.git"
        if not mirror.exists():
            _clone(project, mirror)
        return Source(mirror, None)
    return local_source(project, beside)


def local_source(project: str, beside: Path) -> Source:
    """The repository that a project's folder lies in.

    Raises:
        RepositoryError: there is no such folder, or it isn't in a git repository.
    """
    path = (beside / project).resolve()
    if not path.is_dir():
        raise RepositoryError(f"project {path}: there is no such folder")
    for place in (path, *path.parents):
        if (place / ".git").exists():
            return Source(git_dir_of(place), place, "" if place == path else path.relative_to(place).as_posix())
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            return Source(place, None)
    raise RepositoryError(
        f"project {path}: it is not in a git repository; agentmig migrates a commit: `git init`, add and commit first"
    )


def git_dir_of(top: Path) -> Path:
    """The git directory of a checked-out folder, whose `.git` may be a file that names it.

    Raises:
        RepositoryError: the file names one that isn't there.
    """
    try:
        return Path(git(None, "rev-parse", "--resolve-git-dir", str(top / ".git"))).resolve()
    except RepositoryError as error:
        raise RepositoryError(
            f"{top / '.git'} is no git directory and names none that is there; was the folder copied or mounted "
            "without the repository that it belongs to?"
        ) from error


def resolve(source: Source, revision: str) -> str:
    """The full id of a commit.

    Raises:
        RepositoryError: there is no such commit.
    """
    try:
        return git(source.git_dir, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except RepositoryError as error:
        shallow = (source.shared / "shallow").exists()
        remedy = f"run `git -C {shlex.quote(source.name)} fetch --unshallow`" if shallow else "commit the project first"
        raise RepositoryError(
            f"{source.name}: no commit {revision!r}; name one that `git log` shows, or {remedy}"
        ) from error


def object_format(source: Source) -> str:
    """The hash that names a repository's objects: `sha1` or `sha256`."""
    return git(source.git_dir, "rev-parse", "--show-object-format")


def import_commit(source: Source, commit: str, clean: Path, parents: Sequence[str]) -> str:
    """Copy one commit's complete tree and put a commit of its own on it; returns that one's id.

    Args:
        source: where the commit is.
        commit: its full id.
        clean: the repository that gets it.
        parents: the new commit's parents.

    Raises:
        RepositoryError: the project's folder isn't in the commit, or something of it isn't on this machine.
    """
    tree = complete_tree(source, commit, clean)
    when = git(clean, "show", "--no-patch", "--format=%cI", commit, env=source.borrowed())
    env = {**IDENTITY, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    arguments = [argument for parent in parents for argument in ("-p", parent)]
    return git(clean, "commit-tree", tree, *arguments, "-m", f"The project at {commit}", env=env)


def complete_tree(source: Source, commit: str, clean: Path) -> str:
    """Copy the tree of a commit (of the project's folder in it), with what it points to; returns its id in `clean`."""
    # Both modules build on this one: a submodule is a repository whose commit is brought in.
    from agentmig.execution.lfs import large_files
    from agentmig.execution.submodules import submodule_trees

    tree = _tree(source, commit, clean)
    _copy(source, commit, tree, clean)
    entries = _entries(clean, tree)
    subtrees = submodule_trees(source, commit, entries, clean)
    files = large_files(source, commit, entries, clean)
    return _with(clean, tree, files, subtrees) if files or subtrees else tree
