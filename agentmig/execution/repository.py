"""The repositories of a run: one that the agent works in, and one that it can't reach.

The project's own repository is only read. Its base commit becomes the single root commit of `clean.git` (a folder
inside a repository becomes a whole project by that), from which the agent's repository and worktree are made. What
the agent commits is read back through `clean.git`, which borrows the agent's objects and nothing else: no hook,
configuration or ref that an agent plants takes part in a snapshot, a bundle or a checkout.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import git

from agentmig.errors import AgentmigError
from agentmig.spec.paths import protected_files

BRANCH = "agentmig"
_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "agentmig"), ("EMAIL", "agentmig@localhost"))
}


class RepositoryError(AgentmigError):
    """The project's repository can't be used as it is."""


class Repository:
    """The repositories in a run's folder.

    Attributes:
        clean: our bare repository; the agent can't write it.
        agent: the bare repository behind the worktree.
        worktree: where the agent works.
        base: id of the root commit that holds the project at its base commit.
        source_commit: id of that commit in the project's own repository.
    """

    def __init__(self, run: Path, base: str, source_commit: str):
        self.clean = run / "clean.git"
        self.agent = run / "repo.git"
        self.worktree = run / "worktree"
        self.base = base
        self.source_commit = source_commit

    @classmethod
    def create(cls, project: str, revision: str, beside: Path, run: Path) -> "Repository":
        """Make the run's repositories from a project.

        Args:
            project: path (relative to `beside`) or URL of the project.
            revision: its base commit.
            beside: folder of the workload file.
            run: folder of the run; made if needed.

        Raises:
            RepositoryError: no repository there, no such commit, or nothing of the project in it.
        """
        run.mkdir(parents=True, exist_ok=True)
        source, folder = _source(project, beside, run)
        commit = _resolve(source, revision)
        clean = run / "clean.git"
        _git(None, "init", "--quiet", "--bare", "--initial-branch", BRANCH, str(clean))
        base = _import(source, commit, folder, clean, parents=[])
        _git(clean, "update-ref", f"refs/heads/{BRANCH}", base)
        return cls(run, base, commit)

    @classmethod
    def reopen(cls, run: Path, source_commit: str) -> "Repository":
        """The repositories of a run that began earlier.

        Raises:
            RepositoryError: they are gone or damaged.
        """
        base = _git(run / "clean.git", "rev-parse", "--verify", f"refs/heads/{BRANCH}^{{commit}}")
        return cls(run, base, source_commit)

    def import_candidate(self, project: str, revision: str, beside: Path, run: Path) -> str:
        """Bring a commit of the project in as a candidate on top of the base; returns its id here.

        Raises:
            RepositoryError: as `create`.
        """
        source, folder = _source(project, beside, run)
        return _import(source, _resolve(source, revision), folder, self.clean, parents=[self.base])

    def add_worktree(self) -> Path:
        """Make the agent's repository and its worktree, both outside the project."""
        _git(None, "clone", "--quiet", "--bare", "--no-hardlinks", str(self.clean), str(self.agent))
        _git(self.agent, "remote", "remove", "origin")
        _git(self.agent, "worktree", "add", "--quiet", str(self.worktree), BRANCH)
        alternates = self.clean / "objects" / "info" / "alternates"
        alternates.write_text(f"{self.agent / 'objects'}\n")
        return self.worktree

    def head(self) -> str:
        """The commit that the agent's worktree stands on."""
        return _git(self._worktree_git, "rev-parse", "--verify", "HEAD^{commit}")

    def commit(self, revision: str) -> str:
        """The full id of a commit the agent names.

        Raises:
            RepositoryError: there is no such commit.
        """
        if revision in ("", "HEAD"):
            return self.head()
        try:
            return _git(self.clean, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        except RepositoryError:
            return _git(
                self._worktree_git, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
            )

    @property
    def _worktree_git(self) -> Path:
        """The worktree's own git directory, by name: the agent can rewrite what the worktree's `.git` points to."""
        return self.agent / "worktrees" / self.worktree.name

    def snapshot(self, message: str) -> str:
        """A commit of the worktree as it stands, uncommitted and untracked files included; no ref moves."""
        head = self.head()
        with tempfile.TemporaryDirectory(dir=self.clean) as scratch:
            env = {"GIT_WORK_TREE": str(self.worktree), "GIT_INDEX_FILE": str(Path(scratch) / "index")}
            _git(self.clean, "add", "--all", cwd=self.worktree, env=env)
            tree = _git(self.clean, "write-tree", env=env)
        if tree == _git(self.clean, "rev-parse", f"{head}^{{tree}}"):
            return head
        return _git(self.clean, "commit-tree", tree, "-p", head, "-m", message, env=_IDENTITY)

    def is_committed(self) -> bool:
        """Whether the worktree holds nothing that its HEAD doesn't."""
        return self.snapshot("uncommitted work") == self.head()

    def checkout(self, commit: str, folder: Path, restore: Sequence[str] = ()) -> Path:
        """A fresh clone of one commit, through a bundle that holds nothing else; protected files are the base's.

        Args:
            commit: full id.
            folder: must not exist yet.
            restore: protected paths and globs.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        bundle = folder.parent / f"{folder.name}.bundle"
        reference = f"refs/bundles/{commit}"
        _git(self.clean, "update-ref", reference, commit)
        _git(self.clean, "bundle", "create", "--quiet", str(bundle), reference)
        _git(None, "clone", "--quiet", "--no-checkout", str(bundle), str(folder))
        inside = folder / ".git"
        _git(inside, "fetch", "--quiet", str(bundle), reference, cwd=folder)
        _git(
            inside, "checkout", "--quiet", "--detach", commit, cwd=folder, env={"GIT_WORK_TREE": str(folder)}
        )
        bundle.unlink()
        self._restore(folder, commit, restore)
        return folder

    def _restore(self, folder: Path, commit: str, patterns: Sequence[str]) -> None:
        if not patterns or commit == self.base:
            return
        kept = protected_files(self._files(self.base), patterns)
        for path in set(protected_files(self._files(commit), patterns)) - set(kept):
            (folder / path).unlink()
        if kept:
            _git(
                folder / ".git",
                "checkout",
                "--quiet",
                self.base,
                "--",
                *kept,
                cwd=folder,
                env={"GIT_WORK_TREE": str(folder)},
            )

    def _files(self, commit: str) -> list[str]:
        return _git(self.clean, "ls-tree", "-r", "-z", "--name-only", commit).rstrip("\0").split("\0")

    def tree(self, commit: str) -> str:
        """Id of a commit's tree: what it holds, whatever its history."""
        return _git(self.clean, "rev-parse", f"{commit}^{{tree}}")


_SAFE = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.file.allow=always"]


def _source(project: str, beside: Path, run: Path) -> tuple[Path, str]:
    """The git directory of a project, and the project's folder inside the repository (`""` for all of it)."""
    if "://" in project or (":" in project and not Path(project).exists() and "@" in project):
        mirror = run / "source.git"
        if not mirror.exists():
            _git(None, "clone", "--quiet", "--mirror", project, str(mirror))
        return mirror, ""
    path = (beside / project).resolve()
    try:
        repository = git.Repo(path, search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
        what = (
            "there is no such folder"
            if isinstance(error, git.NoSuchPathError)
            else "it is not in a git repository"
        )
        raise RepositoryError(
            f"project {path}: {what}; agentmig migrates a commit: `git init`, add and commit first"
        ) from error
    top = Path(repository.working_tree_dir or repository.git_dir).resolve()
    folder = "" if path == top or repository.bare else path.relative_to(top).as_posix()
    return Path(repository.git_dir), folder


def _resolve(source: Path, revision: str) -> str:
    try:
        return _git(source, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except RepositoryError as error:
        raise RepositoryError(
            f"{source}: no commit {revision!r}; name one that `git log` shows, or commit the project first"
        ) from error


def _import(source: Path, commit: str, folder: str, clean: Path, parents: Sequence[str]) -> str:
    """Copy the objects of one tree and put a commit on them; the id depends on the content and `commit` alone."""
    try:
        tree = _git(source, "rev-parse", "--verify", f"{commit}:{folder}" if folder else f"{commit}^{{tree}}")
    except RepositoryError as error:
        raise RepositoryError(
            f"commit {commit[:12]} of {source} has no folder {folder!r}: commit it first"
        ) from error
    pack = subprocess.run(
        ["git", *_SAFE, "--git-dir", str(source), "pack-objects", "--revs", "--stdout", "-q"],
        input=f"{tree}\n".encode(),
        capture_output=True,
        check=False,
        env=_environment(),
    )
    if pack.returncode:
        raise RepositoryError(f"{source}: can't read commit {commit[:12]}: {pack.stderr.decode().strip()}")
    subprocess.run(
        ["git", "--git-dir", str(clean), "index-pack", "--stdin"],
        input=pack.stdout,
        capture_output=True,
        check=True,
        env=_environment(),
    )
    when = _git(source, "show", "--no-patch", "--format=%cI", commit)
    env = {**_IDENTITY, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    arguments = [argument for parent in parents for argument in ("-p", parent)]
    return _git(clean, "commit-tree", tree, *arguments, "-m", f"The project at {commit}", env=env)


def _environment() -> dict[str, str]:
    """No user's or system's git configuration, no prompts."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "SSH_AUTH_SOCK") if name in os.environ}
    return {
        **keep,
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def _git(
    git_dir: Path | None, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    where = ["--git-dir", str(git_dir)] if git_dir else []
    return _run(["git", *_SAFE, *where, *arguments], cwd=cwd, env=env)


def _run(argv: Sequence[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        argv, cwd=cwd, env={**_environment(), **(env or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RepositoryError(
            f"git failed: {' '.join(argv[1:])}: {done.stderr.strip() or done.stdout.strip()}"
        )
    return done.stdout.strip()


def remove(folder: Path) -> None:
    """Delete a checkout or other scratch folder that this run made."""
    shutil.rmtree(folder, ignore_errors=True)
