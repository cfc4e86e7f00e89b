"""Bringing a commit of a stranger's project into a run's repository: complete, and nothing but its content.

Only objects are read from the project's repository: commands run in the run's own one, which borrows the project's
objects for the moment, so that no configuration, filter, hook or replaced object there takes part. What a commit only
points to, submodules and files kept by Git LFS, is put in its place, without a network. The tree, and with it every
id, depends on the content and the commit alone.
"""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentmig.execution.lfs import Blob, large_files
from agentmig.execution.plumbing import RepositoryError, command, environment, git, items, lines, shown
from agentmig.execution.sources import Source, submodule_sources

IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "agentmig"), ("EMAIL", "agentmig@localhost"))
}
_LINK = "160000"


def import_commit(source: Source, commit: str, clean: Path, parents: Sequence[str]) -> str:
    """Copy one commit's complete tree and put a commit of our own on it; returns that one's id.

    Args:
        source: where the commit is.
        commit: its full id.
        clean: the repository that gets it.
        parents: the new commit's parents.

    Raises:
        RepositoryError: the project's folder isn't in the commit, or something of it isn't on this machine.
    """
    tree = _complete_tree(source, commit, clean)
    # Not `git show`, which wants the parents as well: a shallow clone has none.
    told = git(clean, "cat-file", "commit", commit, env=source.borrowed())
    seconds, zone = next(line for line in told.splitlines() if line.startswith("committer ")).split()[-2:]
    when = f"@{seconds} {zone}"
    env = {**IDENTITY, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    arguments = [argument for parent in parents for argument in ("-p", parent)]
    return git(clean, "commit-tree", tree, *arguments, "-m", f"The project at {commit}", env=env)


def _complete_tree(source: Source, commit: str, clean: Path) -> str:
    """Copy the project's tree at a commit, and what it points to; returns its id in `clean`."""
    tree = _tree(source, commit, clean)
    _copy(source, commit, tree, clean)
    blobs, links = _entries(clean, tree)
    prefix = f"{source.folder}/" if source.folder else ""
    above = {prefix + path: wanted for path, wanted in links.items()}
    places = submodule_sources(source, commit, above, clean)
    subtrees = {path: _complete_tree(places[prefix + path], wanted, clean) for path, wanted in links.items()}
    files = large_files(source, commit, blobs, clean)
    return _rebuilt(clean, tree, files, subtrees) if files or subtrees else tree


def _tree(source: Source, commit: str, clean: Path) -> str:
    """The id of the project's tree at a commit."""
    if not source.folder:
        return git(clean, "rev-parse", "--verify", f"{commit}^{{tree}}", env=source.borrowed())
    try:
        found = git(clean, "rev-parse", "--verify", f"{commit}:{source.folder}", env=source.borrowed())
    except RepositoryError as error:
        raise RepositoryError(
            f"commit {commit[:12]} of {source.name} has no folder {shown(source.folder)!r}: commit it first"
        ) from error
    try:
        kind = git(clean, "cat-file", "-t", found, env=source.borrowed())
    except RepositoryError:
        kind = "commit"
    if kind != "tree":
        raise RepositoryError(
            f"{shown(source.folder)!r} in commit {commit[:12]} of {source.name} is no folder but a "
            f"{'submodule' if kind == 'commit' else 'file'}; "
            + source.remedy(commit, "submodule update --init --recursive")
        )
    return found


def _copy(source: Source, commit: str, tree: str, clean: Path) -> None:
    """Copy the objects of a tree, from process to process."""
    with tempfile.TemporaryFile() as errors:
        argv = command(clean, "pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        with subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**environment(), **source.borrowed()},
        ) as packer:
            assert packer.stdin and packer.stdout
            packer.stdin.write(f"{tree}\n".encode())
            packer.stdin.close()
            indexed = subprocess.run(
                command(clean, "index-pack", "--stdin"),
                stdin=packer.stdout,
                capture_output=True,
                env=environment(),
                check=False,
            )
        errors.seek(0)
        if packer.returncode or indexed.returncode:
            why = shown(errors.read().strip() or indexed.stderr.strip())
            raise RepositoryError(_unreadable(source, commit, tree, clean, why))


def _unreadable(source: Source, commit: str, tree: str, clean: Path, why: str) -> str:
    try:
        argv = ["rev-list", "--objects", "--missing=print", tree]
        known = git(clean, *argv, env=source.borrowed()).splitlines()
    except RepositoryError:
        known = []
    missing = sum(line.startswith("?") for line in known)
    if not missing:
        return f"{source.name}: can't read commit {commit[:12]}: {why}"
    what = f"{missing} object{'s' if missing != 1 else ''} of commit {commit[:12]}"
    return (
        f"{what} {'are' if missing != 1 else 'is'} not in {source.name}, which is a partial clone or damaged; "
        f"{source.remedy(commit, 'fetch --refetch --no-filter')}"
    )


def _entries(clean: Path, tree: str) -> tuple[list[Blob], dict[str, str]]:
    """The files of a tree, and the commits of the submodules in it by path."""
    blobs: list[Blob] = []
    links: dict[str, str] = {}
    for item in items(git(clean, "ls-tree", "-r", "-l", "-z", tree)):
        head, _, path = item.partition("\t")
        mode, _, name, size = head.split()
        if mode == _LINK:
            links[path] = name
        else:
            blobs.append(Blob(mode, name, int(size), path))
    return blobs, links


def _rebuilt(clean: Path, tree: str, files: Sequence[Blob], subtrees: Mapping[str, str]) -> str:
    """A tree with other contents for some files, and with trees for submodules."""
    none = "0" * len(tree)
    changes = [f"0 {none}\t{path}" for path in subtrees]
    changes += [f"{blob.mode} {blob.object}\t{blob.path}" for blob in files]
    with tempfile.TemporaryDirectory(dir=clean) as scratch:
        # An empty folder is the work tree that `read-tree --prefix` asks for.
        place = Path(scratch) / "empty"
        place.mkdir()
        env = {"GIT_INDEX_FILE": str(Path(scratch) / "index"), "GIT_WORK_TREE": str(place)}
        git(clean, "read-tree", tree, env=env)
        git(clean, "update-index", "-z", "--index-info", stdin=lines(changes), env=env)
        for path, subtree in subtrees.items():
            git(clean, "read-tree", f"--prefix={path}/", subtree, cwd=place, env=env)
        return git(clean, "write-tree", env=env)
