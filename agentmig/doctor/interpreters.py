"""Which Python each environment has, as far as it is built; the doctor builds none."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentmig.doctor.project import Project
from agentmig.doctor.results import Finding, broken, missing, ok, warn
from agentmig.errors import AgentmigError
from agentmig.execution import environments
from agentmig.execution.environments import Built
from agentmig.spec.workload import Environment, Workload


@dataclass(frozen=True)
class Interpreter:
    """A Python that trains, or would.

    Attributes:
        name: of its environment.
        built: None where it isn't there (yet).
        finding: what is to be said about it.
    """

    name: str
    built: Built | None
    finding: Finding

    @property
    def unbuilt(self) -> bool:
        """Whether a run would build it."""
        return self.built is None and self.finding.state == "warn"


async def of_workload(workload: Workload, project: Project, cache: Path) -> list[Interpreter]:
    """The environments that the reference and the targets use, in the order in which a run builds them.

    Args:
        workload: names them.
        project: for requirements files at the base commit.
        cache: the folder in which they are kept.
    """
    users = [workload.reference.environment, *(t.environment for t in workload.targets.values())]
    return [
        await _find(name, workload.environments[name], workload, project, cache)
        for name in dict.fromkeys(users)
    ]


async def _find(
    name: str, environment: Environment, workload: Workload, project: Project, cache: Path
) -> Interpreter:
    key = f"environments.{name}"
    folder = project.path or workload.file.parent
    try:
        if environment.kind in ("python", "container"):
            built = await environments.build(name, environment, folder)  # builds nothing for these kinds
            return Interpreter(name, built, ok(f"the interpreter {built.python}"))
        with tempfile.TemporaryDirectory(prefix="agentmig-doctor-") as checkout:
            if environment.requirements_file:
                text = await project.file(environment.requirements_file)
                if text is None:
                    seen = f"{environment.requirements_file} can't be read at {project.revision} of {project.url}"
                    return Interpreter(
                        name, None, missing(seen, f"commit it, or correct {key}.requirements_file")
                    )
                file = Path(checkout) / environment.requirements_file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = _cached(name, environment, Path(checkout), cache)
    except AgentmigError as error:
        return Interpreter(name, None, missing(str(error), f"correct {key} in {workload.file}"))
    if found:
        return Interpreter(name, found, ok(f"built, in {found.prefix}"))
    return Interpreter(
        name, None, _builder(environment) or warn("not built yet", f"agentmig reference make {workload.file}")
    )


def _cached(name: str, environment: Environment, checkout: Path, cache: Path) -> Built | None:
    key = environments._key(environment, environments._requirements(name, environment, checkout))
    folder = cache / "environments" / key
    there = (folder / environments._MARKER).exists()
    return Built(name, key, folder / "bin" / "python", True, True, 0.0) if there else None


def _builder(environment: Environment) -> Finding | None:
    """What lacks to build it; None where nothing is known to."""
    if environment.kind != "pip" and shutil.which(environment.kind) is None:
        return missing(
            f"not built yet, and {environment.kind} is not on PATH",
            f'install {environment.kind}, or use kind = "pip"',
        )
    if environment.kind == "pip" and environment.python and shutil.which(environment.python) is None:
        return broken(
            f"not built yet, and there is no {environment.python}", "correct its `python`, or install that"
        )
    return None


def of_cache(cache: Path) -> list[Interpreter]:
    """The Python that runs agentmig, and every environment in the cache."""
    own = Built("agentmig's Python", "", Path(sys.executable), False, True, 0.0)
    return [Interpreter(own.name, own, ok(str(own.python))), *_kept(cache / "environments")]


def _kept(folder: Path) -> Iterator[Interpreter]:
    for marker in sorted(folder.glob(f"*/{environments._MARKER}")):
        place = marker.parent
        try:
            name = f"{json.loads(marker.read_text())['name']} ({place.name[:6]})"
        except (OSError, ValueError, KeyError, TypeError):
            name = place.name
        built = Built(name, place.name, place / "bin" / "python", True, True, 0.0)
        if os.access(built.python, os.X_OK):
            yield Interpreter(name, built, ok(f"in {place}"))
        else:
            yield Interpreter(name, None, broken(f"{built.python} can't be executed", f"rm -r {place}"))
