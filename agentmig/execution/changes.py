"""What a project's folder holds that its checked-out commit doesn't, and a migration of that commit won't see."""

import os
from pathlib import Path

from agentmig.execution.plumbing import RepositoryError, git, git_bytes, items, shown
from agentmig.execution.sources import Source, git_dir_of, is_url, local_source

_PROGRAMS = r"^filter\..*\.(clean|process|required)$"


def uncommitted(project: str, beside: Path) -> list[str]:
    """Paths in a project's folder, relative to it, that are changed or new against HEAD and not ignored.

    A folder of new files is one path that ends with `/`; a path that was renamed is two. What is in submodules counts
    too. Nothing is written, and no program that the repository configures is run.

    Args:
        project: path (relative to `beside`) or URL of the project; a URL has no changes.
        beside: folder of the workload file.

    Raises:
        RepositoryError: there is no repository, or git can't read it.
    """
    if is_url(project, beside):
        return []
    source = local_source(project, beside)
    if source.top is None:
        return []
    return [
        shown(os.path.relpath(path, source.folder or ".")) + "/" * path.endswith("/")
        for path in _paths(source)
    ]


def _paths(source: Source) -> list[str]:
    """Changed paths from the top of a repository."""
    assert source.top is not None
    env = {**_own_configuration(), **_without_programs(source)}
    listed = git_bytes(
        source.git_dir,
        *("--work-tree", str(source.top), "--no-optional-locks", "--literal-pathspecs"),
        *("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"),
        *("--ignore-submodules=dirty", "--", source.folder or "."),
        cwd=source.top,
        env=env,
    )
    paths = [line[3:] for line in items(os.fsdecode(listed))]
    staged = git(
        source.git_dir,
        *("--literal-pathspecs", "ls-files", "--stage", "-z", "--", source.folder or "."),
        cwd=source.top,
        env={"GIT_WORK_TREE": str(source.top)},
    )
    for path in [line.partition("\t")[2] for line in items(staged) if line.startswith("160000 ")]:
        inner = source.top / path
        if (inner / ".git").exists():
            paths += [f"{path}/{changed}" for changed in _paths(Source(git_dir_of(inner), inner))]
    return paths


def _own_configuration() -> dict[str, str]:
    """Variables with which git knows the person's own ignore rules and filters, such as git-lfs."""
    home = Path(os.environ.get("HOME", "/nonexistent"))
    places = [
        home / ".gitconfig",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config",
    ]
    found = next((str(place) for place in places if place.is_file()), os.devnull)
    configuration = os.environ.get("GIT_CONFIG_GLOBAL", found)
    return {"HOME": str(home), "GIT_CONFIG_GLOBAL": configuration, "GIT_CONFIG_NOSYSTEM": "0"}


def _without_programs(source: Source) -> dict[str, str]:
    """Variables that take the filters away which the repository's own configuration brings."""
    try:
        argv = ["config", "--show-scope", "--name-only", "-z", "--get-regexp", _PROGRAMS]
        listed = items(source.ask(*argv))
    except RepositoryError:
        return {}  # there are none
    names = [
        name for scope, name in zip(listed[::2], listed[1::2], strict=True) if scope in ("local", "worktree")
    ]
    settings = [
        ("safe.directory", "*"),
        *((name, "false" if name.endswith(".required") else "") for name in names),
    ]
    pairs = enumerate(settings)
    return {"GIT_CONFIG_COUNT": str(len(settings))} | {
        f"GIT_CONFIG_{part}_{number}": text
        for number, pair in pairs
        for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
