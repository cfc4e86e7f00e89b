"""The project of a workload: its repository, its base commit, and what a checkout of it would lack."""

import os
from dataclasses import dataclass
from pathlib import Path

from agentmig.doctor.checks import Check
from agentmig.doctor.child import Ended, run, shortened
from agentmig.doctor.results import Finding, Result, broken, missing, ok, warn
from agentmig.spec.workload import Workload

_TIMEOUT_S = 30.0
_POINTER = "^version https://git-lfs.github.com/spec/v1$"


@dataclass(frozen=True)
class Project:
    """Where the project lies.

    Attributes:
        path: its folder; None where it is reached by URL.
        url: what the workload file says.
        revision: the base commit, as the workload file names it.
    """

    path: Path | None
    url: str
    revision: str

    @classmethod
    def of(cls, workload: Workload) -> "Project":
        """The project that a workload file names; a relative path begins beside it."""
        named = workload.project.path
        remote = "://" in named or ("@" in named and ":" in named)
        return cls(
            None if remote else (workload.file.parent / named).resolve(), named, workload.project.base_commit
        )

    async def git(self, *arguments: str) -> Ended:
        """Ask git about the project; it changes nothing, not even its own index.

        Raises:
            OSError: there is no git.
        """
        safe = ["-c", "core.fsmonitor=false", "-c", "safe.directory=*"]
        where = ["-C", str(self.path)] if self.path else []
        # What git finds by its variables would be another repository than that of the folder.
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
        return await run(["git", *safe, *where, *arguments], timeout_s=_TIMEOUT_S, env=env)

    async def file(self, name: str) -> str | None:
        """The text of a file at the base commit; None where it can't be read."""
        if self.path is None:
            return None
        done = await self.git("show", f"{self.revision}:./{name}")
        return done.output if done.ok else None


def checks(project: Project) -> list[Check]:
    """The project as a run would take it."""

    async def look() -> list[Result]:
        found = await (_local(project) if project.path else _remote(project))
        return [finding.named(name, "workload") for name, finding in found.items()]

    return [Check("project", "workload", look)]


async def _remote(project: Project) -> dict[str, Finding]:
    done = await project.git("ls-remote", "--", project.url)
    if not done.ok:
        return {"project": broken(f"{project.url}: {done.how}", f"git ls-remote {project.url}")}
    return {
        "project": ok(f"{project.url} answers; that it holds {project.revision} is seen when it is fetched")
    }


async def _local(project: Project) -> dict[str, Finding]:
    path = project.path
    assert path is not None
    if not path.is_dir():
        return {
            "project": missing(
                f"{path}: there is no such folder", "correct project.path in the workload file"
            )
        }
    top = await project.git("rev-parse", "--git-dir")
    if not top.ok:
        start = f"cd {path} && git init && git add . && git commit -m 'The project before its migration'"
        return {"project": missing(f"{path} is in no git repository ({top.last_line})", start)}
    commit = await project.git("rev-parse", "--verify", "--end-of-options", f"{project.revision}^{{commit}}")
    if not commit.ok:
        step = f"commit the project, or name a commit of `git -C {path} log` as project.base_commit"
        return {"project": missing(f"{path}: no commit {project.revision!r}", step)}
    short = commit.last_line[:12]
    tree = await project.git("ls-tree", "-r", project.revision, ".")
    if not tree.output.strip():
        step = f"git -C {path} add . && git -C {path} commit"
        return {"project": missing(f"{path}: commit {short} holds nothing of this folder", step)}
    return {"project": ok(f"{path} at {short}"), **await _details(project, path, short, tree.output)}


async def _details(project: Project, path: Path, short: str, tree: str) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    status = await project.git("status", "--porcelain", "--", ".")
    if changed := [line[3:] for line in status.output.splitlines() if status.ok]:
        found["uncommitted"] = warn(
            f"changed or new since {short}: {_listed(changed)}; a run takes the commit and sees none of it",
            f"git -C {path} add . && git -C {path} commit  (if it belongs to the project)",
        )
    if modules := [line.split("\t")[1] for line in tree.splitlines() if line.startswith("160000 ")]:
        found["submodules"] = warn(
            f"{_listed(modules)}: an empty folder in a run",
            "commit the files of the submodules themselves, or install them with the environment",
        )
    pointers = await project.git("grep", "--name-only", "-e", _POINTER, project.revision, "--", ".")
    if pointers.ok:
        names = [line.partition(":")[2] for line in pointers.output.splitlines()]
        found["LFS"] = warn(
            f"{_listed(names)}: a pointer of git LFS in a run, not the file",
            "name such files under [data.NAME] paths in the workload file, and use {data.NAME} in the commands",
        )
    return found


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return shortened(", ".join(names[:3]) + more)
