"""Which Python each environment has, as far as it is built; the doctor builds none."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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


def of_workload(workload: Workload, code: Path | None, cache: Path) -> list[Interpreter]:
    """The environments that the reference and the targets use, in the order in which a run builds them.

    Args:
        workload: names them.
        code: a checkout of the base commit, for requirements files; None where there is none.
        cache: the folder in which they are kept.
    """
    users = [workload.reference.environment, *(t.environment for t in workload.targets.values())]
    return [
        _find(name, workload.environments[name], workload.file, code, cache) for name in dict.fromkeys(users)
    ]


def _find(name: str, environment: Environment, file: Path, code: Path | None, cache: Path) -> Interpreter:
    if code is None and environment.requirements_file:
        return Interpreter(name, None, warn("not looked for: its requirements file is in the project"))
    try:
        built = environments.find(name, environment, code or file.parent, cache)
    except AgentmigError as error:
        return Interpreter(name, None, missing(str(error), f"correct environments.{name} in {file}"))
    if built:
        how = f"built, in {built.prefix}" if built.ours else f"the interpreter {built.python}"
        return Interpreter(name, built, ok(how))
    found = _builder(environment) or warn("not built yet", f"agentmig reference make {file}")
    return Interpreter(name, None, found)


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
    for marker in sorted(folder.glob(f"*/{environments.MARKER}")):
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
