"""What there is of a reference, for people and programs: parts, spread of the goal metric, and what doesn't apply and why."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

from pydantic import BaseModel, ConfigDict
from scipy import stats

from agentmig.spec.workload import GoalTest, Workload
from agentmig.verification.reference_cache import GOAL, WATCH, Entry, entries, needed_parts
from agentmig.verification.reference_key import (
    DocumentError,
    Manifest,
    Origin,
    differences,
    read_document,
)
from agentmig.verification.references import MADE, GoalReference, Made, hardware_of
from agentmig.verification.statistics import (
    Direction,
    claim_alpha,
    compare,
    nominal_alpha,
    runs_needed,
)
from agentmig.verification.traces import World, read_world

_POWER = 0.8
"""The chance that `runs_needed` plans with."""


class Part(Made):
    """A record or a calibration."""

    name: str
    bytes: int


class Margin(BaseModel):
    """Whether the declared margin can be shown with the declared looks, by a candidate that is exactly as good."""

    margin: float
    in_deviations: float | None
    """The margin over the standard deviation; None where the reference doesn't vary."""
    looks: list[int]
    nominal_alpha: float
    """Level of each look of a first claim."""
    shown_at: dict[int, float]
    """The smallest margin that each look shows with a chance of 80%. More runs of the candidate need not show a smaller
    one: where the reference has few seeds, they are what is uncertain."""
    look: int | None
    """The first look that shows the declared margin; None: it can't be relied on to be shown."""
    runs_needed: int | None
    """Fewest candidate runs that would show it; None where no number up to 256 does."""


class Goal(BaseModel):
    """The goal metric of the reference."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    metric: str
    direction: Direction
    values: dict[int, float]
    """By seed."""
    mean: float
    deviation: float
    """Standard deviation over the seeds."""
    margin: Margin | None
    """None where a value isn't finite."""
    measured: datetime | None
    hardware: str
    imported_from: str | None
    as_declared: bool | None
    steps: int
    run_s: float
    runs_s: list[float]
    wall_s: float
    samples_per_s: float | None
    bytes: int


class OtherKey(BaseModel):
    """Results in the cache that don't apply."""

    key: str
    workload: str
    base_commit: str
    newest: datetime
    parts: list[str]
    bytes: int
    differences: list[str]
    """What is another there than here."""


class Inspection(BaseModel):
    """What there is of a workload's reference at its present base commit."""

    schema_version: Literal[1] = 1
    workload: str
    base_commit: str
    key: str
    folder: str
    goal: Goal | None
    seeds_measured: int
    """Of a goal that isn't complete."""
    parts: list[Part]
    missing: list[str]
    """Parts that a verification on all targets needs and that are not there."""
    bytes: int
    origin: Origin | None
    others: list[OtherKey]
    unknown: list[str]
    """Keys whose folder has no manifest that can be read, so that nobody can tell what they are of."""


def inspect(workload: Workload, entry: Entry, manifest: Manifest) -> Inspection:
    """Look at what there is.

    Args:
        workload: the workload as it is now.
        entry: the results of its key.
        manifest: what results made now would be of.

    Raises:
        DocumentError: a document of these results is damaged.
    """
    found = read_document(GoalReference, entry.goal_file)
    kept = entry.manifest()
    others, unknown = _others(entry, manifest)
    return Inspection(
        workload=workload.name,
        base_commit=manifest.commit,
        key=entry.key,
        folder=str(entry.folder),
        goal=_goal(workload, entry, found) if found else None,
        seeds_measured=0 if found else entry.measured_seeds(),
        parts=[part_of(entry.folder / name, entry.size(name)) for name in entry.parts() if name != GOAL],
        missing=[name for name in needed_parts(workload) if name not in entry.parts()],
        bytes=entry.size(),
        origin=kept.origin if kept else None,
        others=others,
        unknown=unknown,
    )


def part_of(folder: Path, size: int = 0) -> Part:
    """A record or calibration as its folder tells."""
    made = read_document(Made, folder / MADE)
    if made:
        return Part(name=folder.name, bytes=size, **made.model_dump())
    world = read_world(folder)
    return Part(name=folder.name, measured=begun(world), hardware=hardware_of(world), wall_s=None, bytes=size)


def begun(world: World) -> datetime | None:
    """When the first rank of a run said that it was there."""
    times = [handshake.time for handshake in world.handshakes.values() if handshake.time is not None]
    return datetime.fromtimestamp(min(times), UTC) if times else None


def _goal(workload: Workload, entry: Entry, found: GoalReference) -> Goal:
    goal = workload.goal
    finite = all(math.isfinite(value) for value in found.values)
    return Goal(
        metric=goal.metric,
        direction=goal.direction,
        values=dict(zip(found.seeds, found.values, strict=True)),
        mean=fmean(found.values),
        deviation=_deviation(found.values) if finite else math.nan,
        margin=detectable(found.values, goal.margin, workload.acceptance.goal) if finite else None,
        measured=found.measured or begun(read_world(entry.folder / WATCH)),
        hardware=found.hardware,
        imported_from=found.imported_from,
        as_declared=found.as_declared,
        steps=found.steps,
        run_s=found.run_s,
        runs_s=found.runs_s,
        wall_s=found.wall_s,
        samples_per_s=found.samples_per_s,
        bytes=entry.size(GOAL),
    )


def detectable(values: Sequence[float], margin: float, test: GoalTest) -> Margin:
    """Whether a margin can be shown: what the test would need of a candidate with the reference's mean and spread.

    Args:
        values: the metric of the reference's seeds, finite, at least 2.
        margin: in the metric's unit.
        test: looks and alpha; the first claim's share is used.
    """
    deviation = _deviation(values)
    looks = sorted(set(test.looks))
    level = nominal_alpha(tuple(looks), claim_alpha(test.alpha, test.claims, 1))
    # Two values have the reference's mean and standard deviation, and leave every number of runs open. The means being
    # equal, the direction makes no difference.
    needed = runs_needed(values, _like(values, 2), margin, "maximize", level)
    shown_at = {look: _shown_at(values, look, level) for look in looks}
    return Margin(
        margin=margin,
        in_deviations=margin / deviation if deviation else None,
        looks=looks,
        nominal_alpha=level,
        shown_at=shown_at,
        look=next((look for look in looks if margin >= shown_at[look]), None),
        runs_needed=needed,
    )


def _shown_at(values: Sequence[float], look: int, level: float) -> float:
    """The margin that a look shows, by the same reckoning as `runs_needed`."""
    seen = compare(values, _like(values, look), 1.0, "maximize", level)
    if not seen.standard_error:
        return 0.0
    reach = stats.t.isf(level, seen.freedom) + stats.t.isf(1 - _POWER, seen.freedom)
    return float(reach) * seen.standard_error


def _like(values: Sequence[float], count: int) -> list[float]:
    """So many values with the same mean and standard deviation: pairs around the mean, and the mean itself."""
    mean, odd = fmean(values), count % 2
    half = _deviation(values) * math.sqrt((count - 1) / (count - odd))
    return [*[mean - half, mean + half] * (count // 2), *[mean] * odd]


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(set(values)) > 1 else 0.0


def _others(entry: Entry, manifest: Manifest) -> tuple[list[OtherKey], list[str]]:
    """Other keys of a workload of this name, and keys that can't be told."""
    others, unknown = [], []
    for other in entries(entry.root):
        if other.key == entry.key:
            continue
        try:
            kept = other.manifest()
        except DocumentError:
            kept = None
        if kept is None:
            unknown.append(other.key)
        elif kept.workload == manifest.workload:
            others.append(
                OtherKey(
                    key=other.key,
                    workload=kept.workload,
                    base_commit=kept.commit,
                    newest=other.newest(),
                    parts=other.parts(),
                    bytes=other.size(),
                    differences=[str(each) for each in differences(kept.parts, manifest.parts)],
                )
            )
    return others, unknown
