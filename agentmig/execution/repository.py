"""The repositories of a run: one that the agent works in, and one that it can't reach.

The project's own repository is only read. Its base commit becomes the single root commit of `clean.git` (a folder
inside a repository becomes a whole project by that), from which the agent's repository and worktree are made. What
the agent commits is read back through `clean.git`, which borrows the agent's objects and nothing else: no hook,
configuration or ref that an agent plants takes part in a snapshot, a bundle or a checkout.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentmig.execution.importing import IDENTITY, import_commit
from agentmig.execution.plumbing import RepositoryError, git, items, lines
from agentmig.execution.sources import find_source, resolve
from agentmig.spec.paths import protected_files

__all__ = ["BRANCH", "Repository", "RepositoryError", "remove"]

BRANCH = "agentmig"


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
        run = run.absolute()
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
            RepositoryError: no repository there, no such commit, nothing of the project in it, or something of it
                that isn't on this machine.
        """
        run = run.absolute()
        run.mkdir(parents=True, exist_ok=True)
        source = find_source(project, beside, run)
        commit = resolve(source, revision)
        clean = run / "clean.git"
        form = f"--object-format={source.object_format}"
        git(None, "init", "--quiet", "--bare", form, "--initial-branch", BRANCH, str(clean))
        base = import_commit(source, commit, clean, parents=[])
        git(clean, "update-ref", f"refs/heads/{BRANCH}", base)
        return cls(run, base, commit)

    @classmethod
    def reopen(cls, run: Path, source_commit: str) -> "Repository":
        """The repositories of a run that began earlier.

        Raises:
            RepositoryError: they are gone or damaged.
        """
        base = git(run / "clean.git", "rev-parse", "--verify", f"refs/heads/{BRANCH}^{{commit}}")
        return cls(run, base, source_commit)

    def import_candidate(self, project: str, revision: str, beside: Path, run: Path) -> str:
        """Bring a commit of the project in as a candidate on top of the base; returns its id here.

        Raises:
            RepositoryError: as `create`.
        """
        source = find_source(project, beside, run)
        return import_commit(source, resolve(source, revision), self.clean, parents=[self.base])

    def add_worktree(self) -> Path:
        """Make the agent's repository and its worktree, both outside the project."""
        branch = f"refs/heads/{BRANCH}"
        self._hand_over(branch, self.agent, f"{branch}:{branch}", "--bare")
        # Contents are in place of LFS pointers: a git-lfs that the system configures must not put pointers back.
        attributes = self.agent / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_text("* -filter\n")
        git(self.agent, "worktree", "add", "--quiet", str(self.worktree), BRANCH)
        alternates = self.clean / "objects" / "info" / "alternates"
        alternates.write_text(f"{self.agent / 'objects'}\n")
        return self.worktree

    def head(self) -> str:
        """The commit that the agent's worktree stands on."""
        return git(self._worktree_git, "rev-parse", "--verify", "HEAD^{commit}")

    def commit(self, revision: str) -> str:
        """The full id of a commit the agent names.

        Raises:
            RepositoryError: there is no such commit.
        """
        if revision in ("", "HEAD"):
            return self.head()
        try:
            return git(self.clean, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        except RepositoryError:
            return git(
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
            # What HEAD holds stays in, also where an ignore rule covers it or its line ends would be changed.
            git(self.clean, "read-tree", head, env=env)
            git(self.clean, "add", "--all", cwd=self.worktree, env=env)
            self._keep_unchanged(head, env)
            tree = git(self.clean, "write-tree", env=env)
        if tree == git(self.clean, "rev-parse", f"{head}^{{tree}}"):
            return head
        return git(self.clean, "commit-tree", tree, "-p", head, "-m", message, env=IDENTITY)

    def _keep_unchanged(self, head: str, env: dict[str, str]) -> None:
        """Undo in an index what git's conversions alone change: a file with HEAD's very bytes is HEAD's file."""
        changed = items(git(self.clean, "diff-index", "--cached", "--no-renames", "-z", head, env=env))
        before = {
            path: (mode.removeprefix(":"), blob)
            for (mode, new, blob, _, _), path in zip(map(str.split, changed[::2]), changed[1::2], strict=True)
            if mode[1:4] == new[:3] == "100" and path.isprintable()
        }
        argv = ["hash-object", "--no-filters", "--stdin-paths"]
        names = "".join(f"./{path}\n" for path in before)
        now = git(self.clean, *argv, stdin=names.encode(), cwd=self.worktree).split() if before else []
        kept = [
            f"{mode} {blob}\t{path}"
            for (path, (mode, blob)), found in zip(before.items(), now, strict=True)
            if blob == found
        ]
        git(self.clean, "update-index", "-z", "--index-info", stdin=lines(kept), env=env)

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
        reference = f"refs/bundles/{commit}"
        git(self.clean, "update-ref", reference, commit)
        self._hand_over(reference, folder, reference)
        inside = folder / ".git"
        git(inside, "checkout", "--quiet", "--detach", commit, cwd=folder, env={"GIT_WORK_TREE": str(folder)})
        self._restore(folder, commit, restore)
        return folder

    def _hand_over(self, reference: str, place: Path, refspec: str, *options: str) -> None:
        """Make a repository that gets what one reference holds, through a bundle that holds nothing else."""
        bundle = place.parent / f"{place.name}.bundle"
        git(self.clean, "bundle", "create", "--quiet", str(bundle), reference)
        form = f"--object-format={'sha256' if len(self.base) == 64 else 'sha1'}"
        git(None, "init", "--quiet", form, "--initial-branch", BRANCH, *options, str(place))
        inside = place if "--bare" in options else place / ".git"
        git(inside, "fetch", "--quiet", str(bundle), refspec)
        bundle.unlink()

    def _restore(self, folder: Path, commit: str, patterns: Sequence[str]) -> None:
        if not patterns or commit == self.base:
            return
        kept = protected_files(self._files(self.base), patterns)
        for path in set(protected_files(self._files(commit), patterns)) - set(kept):
            (folder / path).unlink()
        if kept:
            git(
                folder / ".git",
                *("--literal-pathspecs", "checkout", "--quiet", self.base),
                *("--pathspec-from-file=-", "--pathspec-file-nul"),
                stdin=lines(kept),
                cwd=folder,
                env={"GIT_WORK_TREE": str(folder)},
            )

    def _files(self, commit: str) -> list[str]:
        return items(git(self.clean, "ls-tree", "-r", "-z", "--name-only", commit))

    def tree(self, commit: str) -> str:
        """Id of a commit's tree: what it holds, whatever its history."""
        return git(self.clean, "rev-parse", f"{commit}^{{tree}}")


def remove(folder: Path) -> None:
    """Delete a checkout or other scratch folder that this run made."""
    shutil.rmtree(folder, ignore_errors=True)
