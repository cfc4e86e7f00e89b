"""The repositories on this machine that a project's commits are read from: its own, and those of its submodules."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentmig.execution.plumbing import RepositoryError, git, items, shown, without_credentials

_SHOWN = 3


@dataclass(frozen=True)
class Source:
    """A repository on this machine that commits are read from.

    Attributes:
        git_dir: its git directory; a linked worktree has one of its own.
        top: the checked-out folder; None if there is none.
        folder: the project's folder inside the repository; `""` for all of it.
        outer: the repository that this one is a submodule of.
    """

    git_dir: Path
    top: Path | None
    folder: str = ""
    outer: "Source | None" = None

    @property
    def name(self) -> str:
        """As a person knows it."""
        return shown(str(self.top or self.git_dir))

    @property
    def shared(self) -> Path:
        """The git directory that its linked worktrees share; objects, submodules and LFS files lie there."""
        return (self.git_dir / self.ask("rev-parse", "--git-common-dir")).resolve()

    @property
    def object_format(self) -> str:
        """The hash that names its objects: `sha1` or `sha256`."""
        return self.ask("rev-parse", "--show-object-format")

    def borrowed(self) -> dict[str, str]:
        """Variables with which a git command reads this repository's objects as if they were in another one."""
        path = str(self.shared / "objects").replace("\\", "\\\\").replace('"', '\\"')
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}

    def ask(self, *arguments: str) -> str:
        """What git says of the repository itself; works where the checked-out folder that it names is gone."""
        return git(self.git_dir, *arguments, env={"GIT_WORK_TREE": str(self.git_dir)})

    def holds(self, commit: str) -> bool:
        """Whether a commit is here."""
        return self._commit(commit) == commit

    def _commit(self, revision: str) -> str | None:
        try:
            return self.ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        except RepositoryError:
            return None

    def remedy(self, commit: str, *steps: str) -> str:
        """What a person can do so that a commit is complete on this machine.

        Args:
            commit: its id.
            steps: git's commands for it, without `git`; they work on what is checked out.
        """
        if self.top is None and self.outer:
            return self.outer._remedy("submodule update --init --recursive")
        first = [] if self._commit("HEAD") == commit else [f"checkout {commit[:12]}"]
        return self._remedy(*first, *steps)

    def _remedy(self, *steps: str) -> str:
        if self.top is None:
            return (
                "clone it with a working tree (`git clone --recurse-submodules`, with Git LFS installed where the "
                "project uses it) and name that folder as project.path"
            )
        commands = [f"`git -C {shlex.quote(self.name)} {step}`" for step in steps]
        return f"run {', then '.join(commands)}"


def is_url(project: str, beside: Path) -> bool:
    """Whether a project is reached by a URL, or as `user@host:path`."""
    return "://" in project or ("@" in project and ":" in project and not (beside / project).exists())


def find_source(project: str, beside: Path, run: Path) -> Source:
    """The repository that a project lies in; one that a URL names is cloned into the run's folder.

    Args:
        project: path (relative to `beside`) or URL of the project.
        beside: folder of the workload file.
        run: folder of the run.

    Raises:
        RepositoryError: there is none.
    """
    if not is_url(project, beside):
        return local_source(project, beside)
    mirror = run / "source.git"
    if not mirror.exists():
        try:
            git(None, "clone", "--quiet", "--mirror", "--", project, str(mirror))
        except RepositoryError as error:
            raise RepositoryError(
                f"project {without_credentials(project)} can't be cloned (without a prompt and without your git "
                f"configuration): {error}; clone it yourself and name the folder as project.path"
            ) from error
    return Source(mirror, None)


def local_source(project: str, beside: Path) -> Source:
    """The repository that a project's folder lies in.

    Raises:
        RepositoryError: there is no such folder, or it isn't in a git repository.
    """
    path = (beside / project).resolve()
    if not path.is_dir():
        raise RepositoryError(f"project {path}: there is no such folder")
    # Found here and not by git, which refuses to look into folders of other users.
    for place in (path, *path.parents):
        if (place / ".git").exists():
            folder = "" if place == path else path.relative_to(place).as_posix()
            return Source(git_dir_of(place), place, folder)
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            return Source(place, None)
    raise RepositoryError(
        f"project {path}: it is not in a git repository; agentmig migrates a commit: `git init`, add and commit first"
    )


def git_dir_of(top: Path) -> Path:
    """The git directory of a checked-out folder, whose `.git` may be a file that names it.

    Raises:
        RepositoryError: `.git` names none that is there.
    """
    try:
        return Path(git(None, "rev-parse", "--resolve-git-dir", str(top / ".git"))).resolve()
    except RepositoryError as error:
        if not shutil.which("git"):
            raise
        raise RepositoryError(
            f"{top / '.git'} is no git directory and names none that is there: was the folder copied or mounted "
            "without the repository that it belongs to?"
        ) from error


def resolve(source: Source, revision: str) -> str:
    """The full id of a commit that a person names.

    Raises:
        RepositoryError: there is no such commit.
    """
    try:
        return source.ask("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except RepositoryError as error:
        remedy = "commit the project first"
        if (source.shared / "shallow").exists():
            remedy = f"run `git -C {shlex.quote(source.name)} fetch --unshallow`: the clone is a shallow one"
        raise RepositoryError(
            f"{source.name}: no commit {revision!r}; name one that `git log` shows, or {remedy}"
        ) from error


def submodule_sources(
    source: Source, commit: str, links: Mapping[str, str], clean: Path
) -> dict[str, Source]:
    """The repositories on this machine that hold the commits of submodules, by path.

    Args:
        source: the repository that the submodules are part of.
        commit: its commit.
        links: the commit of each, by its path from the top of the repository.
        clean: the repository that commands run in.

    Raises:
        RepositoryError: one is not on this machine.
    """
    names = _submodule_names(source, commit, clean) if links else {}
    found: dict[str, Source] = {}
    missing: list[tuple[str, str]] = []
    for path, wanted in links.items():
        places = _submodule_places(source, path, names.get(path))
        match = next((place for place in places if place.holds(wanted)), None)
        if match:
            found[path] = match
        else:
            missing.append((path, wanted))
    if missing:
        raise RepositoryError(_missing(source, commit, missing, names))
    return found


def _submodule_places(source: Source, path: str, name: str | None) -> list[Source]:
    """Where a submodule's commits may be: in its folder, and in the git directory around it."""
    outer = source if source.top else source.outer
    places = []
    if source.top and (source.top / path / ".git").exists():
        with suppress(RepositoryError):  # one that was moved; it may still be in the git directory around it
            places.append(Source(git_dir_of(source.top / path), source.top / path, outer=outer))
    if name:
        for around in dict.fromkeys((source.git_dir, source.shared)):
            place = around / "modules" / name
            if (place / "HEAD").is_file():
                places.append(Source(place, None, outer=outer))
    return places


def _submodule_names(source: Source, commit: str, clean: Path) -> dict[str, str]:
    """Names of submodules by path, as the commit's `.gitmodules` gives them."""
    try:
        blob = ["--blob", f"{commit}:.gitmodules", "--no-includes", "-z"]
        listed = git(clean, "config", *blob, "--get-regexp", r"^submodule\..*\.path$", env=source.borrowed())
    except RepositoryError:
        return {}
    pairs = [item.partition("\n") for item in items(listed)]
    names = {path: key.removeprefix("submodule.").removesuffix(".path") for key, _, path in pairs}
    # A name is a path below `modules`, and the commit is a stranger's.
    return {path: name for path, name in names.items() if _stays_inside(name)}


def _stays_inside(name: str) -> bool:
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def _missing(source: Source, commit: str, missing: Sequence[tuple[str, str]], names: dict[str, str]) -> str:
    listed = ", ".join(f"{shown(path)} at {wanted[:12]}" for path, wanted in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    one = len(missing) == 1
    text = f"commit {commit[:12]} of {source.name} has {'a submodule' if one else 'submodules'} whose files are not on this machine: {listed}{more}; "
    strays = [path for path, _ in missing if path not in names]
    if strays:
        return text + (
            f"{shown(strays[0])} is not in .gitmodules (a repository was added inside another one), so git can't fetch "
            "it: commit its files, or remove it with `git rm --cached` and commit that"
        )
    return text + source.remedy(commit, "submodule update --init --recursive")
