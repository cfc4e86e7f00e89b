"""The project of a workload, brought into a scratch folder as a run would bring it, and what a run would not see."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from agentmig.doctor.child import run, shortened
from agentmig.doctor.results import Finding, broken, missing, ok, warn
from agentmig.execution.changes import uncommitted
from agentmig.execution.plumbing import RepositoryError, command, environment, without_credentials
from agentmig.execution.repository import Repository
from agentmig.execution.sources import is_url
from agentmig.spec.workload import Workload

_TIMEOUT_S = 20.0
_SHOWN = 3


@dataclass(frozen=True)
class Opened:
    """What there is of a project.

    Attributes:
        findings: by name.
        code: a checkout of the base commit; None where there is none.
    """

    findings: dict[str, Finding]
    code: Path | None = None


async def knock(workload: Workload) -> Opened:
    """Ask the server of a project that is named by a URL; a run clones it, the doctor does not.

    Raises:
        OSError: there is no git.
    """
    url = workload.project.path
    name = without_credentials(url)
    done = await run(command(None, "ls-remote", "--", url), timeout_s=_TIMEOUT_S, env=environment())
    if not done.ok:
        seen = f"{name} does not answer without a prompt and without your git configuration: {done.how}"
        found = broken(seen, "clone it yourself, and name the folder as project.path in the workload file")
    else:
        found = ok(
            f"{name} answers; whether it holds {workload.project.base_commit} is seen when it is cloned"
        )
    return Opened({"project": found})


def is_remote(workload: Workload) -> bool:
    """Whether the project is named by a URL."""
    return is_url(workload.project.path, workload.file.parent)


def open_project(workload: Workload, scratch: Path) -> Opened:
    """Bring the base commit of a project on this machine into a scratch folder, with all that it points to.

    Args:
        workload: names the project and its commit.
        scratch: an empty folder.
    """
    project, beside = workload.project, workload.file.parent
    if shutil.which("git") is None:
        return Opened({"project": missing("not looked at: git is not installed")})
    try:
        repository = Repository.create(project.path, project.base_commit, beside, scratch / "run")
        code = repository.checkout(repository.base, scratch / "base")
        changed = uncommitted(project.path, beside)
    except RepositoryError as error:
        # What happened, and after the last semicolon what to do.
        what, _, step = str(error).rpartition("; ")
        return Opened(
            {"project": missing(what or step, step if what else "correct project.path in the workload file")}
        )
    place, short = (beside / project.path).resolve(), repository.source_commit[:12]
    found = {"project": ok(f"{place} at {short}, complete with what submodules and Git LFS keep of it")}
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        names = shortened(", ".join(changed[:_SHOWN]) + more)
        found["uncommitted"] = warn(
            f"changed or new in the folder: {names}; a run takes {short} and sees none of it",
            f"git -C {place} add . && git -C {place} commit  (if it belongs to the project)",
        )
    return Opened(found, code)
