"""The reference on its own: found, measured and foreseen for a workload, without a run and its journal."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.execution.environments import cache_root, environment_key
from agentmig.execution.isolation import Isolation
from agentmig.execution.repository import Repository, remove
from agentmig.execution.runner import LocalRunner
from agentmig.spec.workload import Workload
from agentmig.supervisor.setup import build_environments
from agentmig.verification.reference_cache import GOAL, Entry, entries, needed_parts
from agentmig.verification.reference_inspection import Inspection, inspect, part_of
from agentmig.verification.reference_key import DocumentError, Manifest, key_parts, read_document
from agentmig.verification.references import GoalReference, References


class ScratchError(AgentmigError):
    """There is no place to work in."""


@dataclass(frozen=True)
class Site:
    """A workload's project at its base commit, and where the results of its reference lie.

    Attributes:
        manifest: what results made now are of.
        entry: the results.
        repository: the project, in `folder`.
        folder: scratch space, gone with the site.
    """

    workload: Workload
    manifest: Manifest
    entry: Entry
    repository: Repository
    folder: Path

    def inspect(self) -> Inspection:
        """What there is."""
        return inspect(self.workload, self.entry, self.manifest)


@dataclass(frozen=True)
class Forecast:
    """What measuring a reference takes.

    Attributes:
        there: parts that are there already.
        missing: parts that have to be made.
        trainings: runs of the project that they take; those of the goal are evaluated as well.
        took: seconds of each missing part, and of one training of the goal with its evaluation, as the newest earlier
            results of the same workload tell.
        seconds: of all runs, where earlier results tell of each.
    """

    there: list[str]
    missing: list[str]
    trainings: int
    took: dict[str, float]
    seconds: float | None


def references_root() -> Path:
    """Folder of all references."""
    return cache_root() / "references"


@contextmanager
def site(workload: Workload) -> Iterator[Site]:
    """Find a workload's reference; builds nothing and runs nothing.

    Raises:
        AgentmigError: the project, its base commit or the reference's environment isn't there.
    """
    home = cache_root() / "scratch"
    try:
        home.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="reference-", dir=home))
    except OSError as error:
        raise ScratchError(
            f"{home}: {error.strerror}; set AGENTMIG_CACHE to a folder that can be written"
        ) from error
    try:
        repository = Repository.create(
            workload.project.path, workload.project.base_commit, workload.file.parent, folder
        )
        name = workload.reference.environment
        code = repository.checkout(repository.base, folder / "base")
        environment = environment_key(name, workload.environments[name], code)
        remove(code)
        parts = key_parts(workload, repository.tree(repository.base), environment)
        manifest = Manifest(workload=workload.name, commit=repository.source_commit, parts=parts)
        yield Site(workload, manifest, Entry(references_root(), manifest.key), repository, folder)
    except AgentmigError:
        _keep_logs(folder)
        raise
    except BaseException:
        remove(folder)
        raise
    remove(folder)


def _keep_logs(folder: Path) -> None:
    """Remove all but the logs of runs, which an error's text names."""
    logs = set(folder.glob("attempts/*/log.txt"))
    if not logs:
        remove(folder)
        return
    kept = {parent for log in logs for parent in (log, *log.parents)}
    for place in [*folder.iterdir(), *folder.glob("attempts/*"), *folder.glob("attempts/*/*")]:
        if place in kept:
            continue
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def forecast(here: Site, goal_only: bool = False) -> Forecast:
    """What measuring the reference takes for the targets of the workload.

    Args:
        here: the workload's reference.
        goal_only: leave records and calibrations to the verification.
    """
    present = here.entry.parts()
    needed = needed_parts(here.workload, goal_only)
    missing = [part for part in needed if part not in present]
    counts = dict.fromkeys(missing, 1)
    if GOAL in counts:
        counts[GOAL] = max(0, here.workload.reference.seeds - here.entry.measured_seeds())
    took = _took(here, missing)
    known = set(missing) <= set(took)
    return Forecast(
        there=[part for part in needed if part in present],
        missing=missing,
        trainings=sum(counts.values()),
        took=took,
        seconds=sum(count * took[part] for part, count in counts.items()) if known else None,
    )


def _took(here: Site, missing: list[str]) -> dict[str, float]:
    """Seconds of one run of each part in other results of the same workload, the newest that tell."""
    took: dict[str, float] = {}
    for other in entries(here.entry.root):
        try:
            manifest = other.manifest()
            if manifest is None or manifest.workload != here.workload.name:
                continue
            for part in set(missing) - set(took):
                seconds = _seconds(other, part)
                if seconds is not None:
                    took[part] = seconds
        except DocumentError:
            continue
    return took


def _seconds(entry: Entry, part: str) -> float | None:
    if part == GOAL:
        goal = read_document(GoalReference, entry.goal_file)
        # The time of imported results is that of another machine.
        return goal.wall_s / len(goal.values) if goal and goal.imported_from is None else None
    folder = entry.folder / part
    found = part_of(folder) if folder.exists() else None
    return found.wall_s if found and found.imported_from is None else None


async def make(
    here: Site,
    isolation: Isolation,
    goal_only: bool,
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> None:
    """Measure what a verification on the targets of the workload would need; each result is kept as soon as it is there.

    Args:
        here: the workload's reference.
        isolation: for every run of the project's code.
        goal_only: leave records and calibrations to the verification.
        on_note: gets a line for people at each step.
        on_line: gets the output of whatever runs.

    Raises:
        AgentmigError: the environment can't be built, or the project doesn't train or evaluate.
    """
    # The targets' environments, which may be large, take no part in this.
    alone = here.workload.model_copy(update={"targets": {}})
    built = await build_environments(alone, here.repository, here.folder, lambda made: None, on_note, on_line)
    runner = LocalRunner(here.workload, here.repository, built, isolation, here.folder / "attempts", on_line)
    references = References(runner, cache_root(), on_note)
    await references.goal()
    for chips in sorted({target.chips for target in here.workload.targets.values()}) if not goal_only else []:
        await references.record(chips, "float64")
        await references.calibration(chips)
