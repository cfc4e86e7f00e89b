"""The reference: what the untouched code does on the hardware it was written for.

Three kinds of result, each cached outside the checkout under the hash of all that it depends on: *records* (initial
state, batches, gradients and fingerprints of the first steps, in float64 or production precision, for a world size),
*calibrations* (how far the reference leaves its own record when its parameters are perturbed by a rounding error), and
the *goal*: the metric over several seeds. Results that were measured on another machine and imported serve as well.
"""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agentmig.errors import AgentmigError
from agentmig.execution.launch import Plan
from agentmig.execution.runner import LocalRunner, Result
from agentmig.verification.accelerators import is_declared
from agentmig.verification.gates.performance import samples_per_s
from agentmig.verification.metric import MetricError, read_metric
from agentmig.verification.reference_cache import (
    WATCH,
    Entry,
    again_name,
    calibration_name,
    record_name,
)
from agentmig.verification.reference_key import (
    Manifest,
    key_parts,
    read_document,
    write_document,
)
from agentmig.verification.retries import retried
from agentmig.verification.traces import World, read_world

_FIRST_GOAL_SEED = 1001

Kind = Literal["float64", "plain", "production"]
"""Of a record: `float64` is provoked and has short epochs, `plain` is in float64 as the program is, `production` in its own
precision."""


class ReferenceFailed(AgentmigError):  # noqa: N818  it names what happened
    """The untouched project doesn't do on its own hardware what the workload file says."""


class GoalReference(BaseModel):
    """The goal metric of the untouched code, and what its runs looked like."""

    # JSON has no NaN; a metric that isn't finite must be read back as what it is.
    model_config = ConfigDict(ser_json_inf_nan="strings")

    values: list[float]
    seeds: list[int]
    wall_s: float
    """Seconds that the measurement took when it was made, evaluations included."""
    run_s: float
    """Mean seconds of one training."""
    runs_s: list[float] = []
    """Seconds of each training, in the order of the seeds."""
    steps: int
    """Optimizer steps of a training, by any rank."""
    samples_per_s: float | None
    hardware: str
    """Device and number of processes; of an imported reference also where it was measured, and whether the device is
    the declared one."""
    measured: datetime | None = None
    imported_from: str | None = None
    """Host name of the machine that measured it, if that wasn't this one."""
    as_declared: bool | None = None
    """Whether the device is the `[reference] accelerator`; None where the names can't tell."""


class SeedResult(BaseModel):
    """One training of the goal with its evaluation; kept until all seeds are there."""

    model_config = ConfigDict(ser_json_inf_nan="strings")

    seed: int
    value: float
    run_s: float
    wall_s: float
    """With the evaluation."""
    steps: int
    samples_per_s: float | None
    device_kind: str
    ranks: int


class Made(BaseModel):
    """How a record or calibration came about; lies in its folder."""

    measured: datetime | None
    wall_s: float | None
    """Seconds of the run; both are None where an earlier version of agentmig made it and nothing tells."""
    hardware: str
    imported_from: str | None = None
    seed: int | None = None
    """What the run was started with."""


MADE = "made.json"
"""File of `Made` in a part's folder."""


class References:
    """Makes and finds the results of one workload's untouched code.

    Args:
        runner: runs the base commit.
        root: the cache's folder.
        on_note: gets a line for people about what is being done.
    """

    def __init__(self, runner: LocalRunner, root: Path, on_note: Callable[[str], None]):
        self._runner = runner
        self._workload = runner.workload
        self._note = on_note
        repository = runner.repository
        environment = runner.built[runner.workload.reference.environment].key
        parts = key_parts(runner.workload, repository.tree(repository.base), environment)
        self._manifest = Manifest(workload=runner.workload.name, commit=repository.source_commit, parts=parts)
        self.key = parts.key
        self._entry = Entry(root / "references", self.key)
        self.folder = self._entry.folder

    async def goal(self) -> tuple[GoalReference, bool]:
        """The goal metric over the reference's seeds, and whether it was in the cache.

        Raises:
            ReferenceFailed: a training or an evaluation failed, or printed no metric.
        """
        found = read_document(GoalReference, self._entry.goal_file)
        if found is None:
            async with self._entry.locked(self._note):
                found = read_document(GoalReference, self._entry.goal_file)
                if found is None:
                    return await self._measure_goal(), False
        self._entry.describe(self._manifest)
        return found, True

    def seed_of(self, record: Path) -> int:
        """The seed of a record, and so of the runs that are matched to it: they have the same data to begin with."""
        made = read_document(Made, record / MADE)
        return self._own_seed if made is None or made.seed is None else made.seed

    @property
    def _own_seed(self) -> int:
        """The seed of the records that are made here; an imported one has its own."""
        return int(self.key[:7], 16)

    async def record(self, chips: int, kind: Kind) -> Path:
        """Folder of the record of a kind, for the processes that the reference starts for so many chips."""
        processes = self._workload.reference_processes(chips)
        plan = Plan(mode="record", dropout=False, **self.pass_of(kind))
        return await self._traced(record_name(processes, kind), processes, plan)

    def pass_of(self, kind: Kind) -> dict[str, Any]:
        """How a record of this kind, and what is matched to it, is run."""
        semantics, numerics = self._workload.acceptance.semantics, self._workload.acceptance.numerics
        if kind == "production":
            return {"steps": numerics.steps}
        provoked = {"short": semantics.epoch_batches, "stress": semantics.stress} if kind == "float64" else {}
        return {"steps": semantics.steps, "precision": "float64", **provoked}

    async def again(self, chips: int, kind: Kind) -> Path:
        """Folder of a second run of the reference, matched to its own record: does it reproduce itself?"""
        reference = await self.record(chips, kind)
        plan = Plan(mode="match", dropout=False, reference=reference, **self.pass_of(kind))
        processes = self._workload.reference_processes(chips)
        return await self._traced(again_name(processes, kind), processes, plan)

    async def calibration(self, chips: int) -> Path:
        """Folder of the reference's run against its own production record, with perturbed parameters."""
        reference = await self.record(chips, "production")
        numerics = self._workload.acceptance.numerics
        plan = Plan(
            mode="match",
            steps=numerics.steps,
            dropout=False,
            reference=reference,
            teacher_forced=True,
            replay=True,
            perturb=numerics.perturbation,
        )
        processes = self._workload.reference_processes(chips)
        return await self._traced(calibration_name(processes), processes, plan)

    async def _traced(self, name: str, chips: int, plan: Plan) -> Path:
        folder = self.folder / name
        if folder.exists():
            return folder
        async with self._entry.locked(self._note):
            if not folder.exists():
                self._entry.describe(self._manifest)
                self._note(f"reference: {name.replace('-', ' ')}")
                seed = self.seed_of(plan.reference) if plan.reference else self._own_seed
                result = await self._train(name, seed, plan, chips)
                made = Made(
                    measured=datetime.now(UTC),
                    wall_s=result.finished.wall_s,
                    hardware=hardware_of(read_world(result.probe)),
                    seed=seed,
                )
                _keep(result.probe, folder, made)
        return folder

    async def _measure_goal(self) -> GoalReference:
        """Measure the seeds that are missing; each is kept at once, so that an interruption costs one at most."""
        self._entry.describe(self._manifest)
        self._entry.seeds.mkdir(exist_ok=True)
        seeds = [_FIRST_GOAL_SEED + index for index in range(self._workload.reference.seeds)]
        results: list[SeedResult] = []
        for number, seed in enumerate(seeds, start=1):
            file = self._entry.seeds / f"{seed}.json"
            result = read_document(SeedResult, file)
            if result is None:
                self._note(f"reference: training {number} of {len(seeds)} (seed {seed})")
                result = await self._measure_seed(seed, first=number == 1)
                write_document(file, result)
                metric = self._workload.goal.metric
                self._note(f"reference: seed {seed}: {metric} {result.value:.4g} ({result.wall_s:.0f} s)")
            results.append(result)
        goal = _together(results, self._workload.reference.accelerator)
        write_document(self._entry.goal_file, goal)
        shutil.rmtree(self._entry.seeds, ignore_errors=True)
        return goal

    async def _measure_seed(self, seed: int, first: bool) -> SeedResult:
        begin = time.monotonic()
        result = await self._train(f"goal-{seed}", seed, Plan(mode="watch", values=False), None)
        value = await metric_of(self._runner, f"reference-goal-{seed}-evaluate", result.checkpoint)
        world = read_world(result.probe)
        if first:
            _keep(result.probe, self.watch)
        ends = [trace.end for trace in world.ranks.values() if trace.end]
        return SeedResult(
            seed=seed,
            value=value,
            run_s=result.finished.wall_s,
            wall_s=time.monotonic() - begin,
            steps=min((end.steps for end in ends), default=0),
            samples_per_s=samples_per_s(world, self._workload.acceptance.performance.warmup_steps),
            device_kind=device_kind(world),
            ranks=world.size,
        )

    @property
    def watch(self) -> Path:
        """Folder of the traces of the first goal run; exists after `goal`."""
        return self.folder / WATCH

    async def _train(self, name: str, seed: int, plan: Plan, chips: int | None) -> Result:
        label = f"reference-{name}"
        base = self._runner.repository.base

        async def make(number: int) -> Result:
            place = label if number == 1 else f"{label}-again-{number}"
            return await self._runner.train(place, base, target=None, seed=seed, plan=plan, chips=chips)

        result = await retried(make)
        if not result.ok:
            raise ReferenceFailed(
                f"the untouched project {result.ended} in {label} (`{result.command}`), so there is nothing to compare with:\n"
                f"{_indented(result.tail(2000))}\n  All of its output: {result.log}"
            )
        world = read_world(result.probe)
        if world.missing:
            raise ReferenceFailed(
                f"the probe was not loaded in rank {', '.join(map(str, world.missing))} of {label}; "
                f"does the train command use another interpreter than the environment's? ({result.log})"
            )
        return result


async def metric_of(runner: LocalRunner, label: str, checkpoint: Path) -> float:
    """The goal metric of a checkpoint, by the base commit's evaluation.

    Raises:
        ReferenceFailed: the evaluation failed, or printed no number that can be compared.
    """
    if not checkpoint.exists():
        raise ReferenceFailed(
            f"{label}: the training left no checkpoint {checkpoint}; see `train.checkpoint`"
        )
    result = await runner.evaluate(label, checkpoint)
    try:
        return read_metric(result, runner.workload)
    except MetricError as error:
        raise ReferenceFailed(f"{label}: {error}") from error


def device_kind(world: World) -> str:
    """What the device of a run calls itself; `unknown` where no rank came to its end."""
    kinds = [trace.end.hardware.device_kind for trace in world.ranks.values() if trace.end]
    return (kinds[0] if kinds else "") or "unknown"


def hardware_of(world: World) -> str:
    """Device and number of processes of a run, in words."""
    return _hardware(device_kind(world), world.size)


def _hardware(kind: str, ranks: int) -> str:
    return f"{kind}, {ranks} process{'es' if ranks != 1 else ''}"


def _together(results: list[SeedResult], accelerator: str) -> GoalReference:
    first = results[0]
    return GoalReference(
        values=[result.value for result in results],
        seeds=[result.seed for result in results],
        wall_s=sum(result.wall_s for result in results),
        run_s=fmean(result.run_s for result in results),
        runs_s=[result.run_s for result in results],
        steps=first.steps,
        samples_per_s=first.samples_per_s,
        hardware=_hardware(first.device_kind, first.ranks),
        measured=datetime.now(UTC),
        as_declared=is_declared(accelerator, first.device_kind),
    )


def _keep(source: Path, folder: Path, made: Made | None = None) -> None:
    partial = folder.with_name(folder.name + ".partial")
    for earlier in (partial, folder):
        shutil.rmtree(earlier, ignore_errors=True)
    shutil.copytree(source, partial)
    if made:
        write_document(partial / MADE, made)
    partial.rename(folder)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
