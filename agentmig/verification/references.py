"""The reference: what the untouched code does on the hardware it was written for.

Three kinds of result, each cached outside the checkout under the hash of all that it depends on: *records* (initial
state, batches, gradients and fingerprints of the first steps, in float64 or production precision, for a world size),
*calibrations* (how far the reference leaves its own record when its parameters are perturbed by a rounding error), and
the *goal*: the metric over several seeds.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from agentmig.errors import AgentmigError
from agentmig.execution.launch import PROBE, Plan
from agentmig.execution.runner import LocalRunner, Result
from agentmig.spec.workload import Workload
from agentmig.verification.gates.performance import samples_per_s
from agentmig.verification.retries import retried
from agentmig.verification.traces import World, read_world

_RECORD_SEED = 17
_FIRST_GOAL_SEED = 1001

Precision = Literal["float64", "production"]


class ReferenceFailed(AgentmigError):  # noqa: N818  it names what happened
    """The untouched project doesn't do on its own hardware what the workload file says."""


class GoalReference(BaseModel):
    """The goal metric of the untouched code, and what its runs looked like."""

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
        self._root = root / "references"
        self._note = on_note
        self.key = reference_key(runner)
        self.folder = self._root / self.key

    async def goal(self) -> tuple[GoalReference, bool]:
        """The goal metric over the reference's seeds, and whether it was in the cache.

        Raises:
            ReferenceFailed: a training or an evaluation failed, or printed no metric.
        """
        file = self.folder / "goal.json"
        with self._lock("goal"):
            if file.exists():
                return GoalReference.model_validate_json(file.read_text()), True
            measured = await self._measure_goal()
            file.write_text(measured.model_dump_json(indent=1))
        return measured, False

    async def record(self, chips: int, precision: Precision) -> Path:
        """Folder of the record for a world size and precision."""
        tolerance = self._workload.acceptance
        steps = tolerance.semantics.steps if precision == "float64" else tolerance.numerics.steps
        plan = Plan(mode="record", steps=steps, precision=precision, dropout=False)
        return await self._traced(f"record-{chips}-{precision}", chips, plan)

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
            perturb=numerics.perturbation,
        )
        return await self._traced(f"calibration-{chips}", chips, plan)

    async def _traced(self, name: str, chips: int, plan: Plan) -> Path:
        folder = self.folder / name
        with self._lock(name):
            if not folder.exists():
                self._note(f"reference: {name.replace('-', ' ')}")
                result = await self._train(name, _RECORD_SEED, plan, chips)
                _keep(result.probe, folder)
        return folder

    async def _measure_goal(self) -> GoalReference:
        begin = time.monotonic()
        seeds = [_FIRST_GOAL_SEED + index for index in range(self._workload.reference.seeds)]
        values: list[float] = []
        runs: list[tuple[Result, World]] = []
        for number, seed in enumerate(seeds, start=1):
            self._note(f"reference: training {number} of {len(seeds)} (seed {seed})")
            result = await self._train(f"goal-{seed}", seed, Plan(mode="watch", values=False), None)
            runs.append((result, read_world(result.probe)))
            values.append(await metric_of(self._runner, f"reference-goal-{seed}-evaluate", result.checkpoint))
        world = runs[0][1]
        _keep(runs[0][0].probe, self.folder / "watch")
        ends = [trace.end for trace in world.ranks.values() if trace.end]
        return GoalReference(
            values=values,
            seeds=seeds,
            wall_s=time.monotonic() - begin,
            run_s=sum(result.finished.wall_s for result, _ in runs) / len(runs),
            runs_s=[result.finished.wall_s for result, _ in runs],
            steps=min((end.steps for end in ends), default=0),
            samples_per_s=samples_per_s(world, self._workload.acceptance.performance.warmup_steps),
            hardware=f"{ends[0].hardware.device_kind if ends else 'unknown'}, {world.size} processes",
        )

    @property
    def watch(self) -> Path:
        """Folder of the traces of the first goal run; exists after `goal`."""
        return self.folder / "watch"

    async def _train(self, name: str, seed: int, plan: Plan, chips: int | None) -> Result:
        label = f"reference-{name}"
        base = self._runner.repository.base

        async def make(number: int) -> Result:
            place = label if number == 1 else f"{label}-again-{number}"
            return await self._runner.train(place, base, target=None, seed=seed, plan=plan, chips=chips)

        result = await retried(make)
        if not result.ok:
            why = (
                "did not end in time"
                if result.finished.timed_out
                else f"ended with {result.finished.exit_code}"
            )
            raise ReferenceFailed(
                f"the untouched project {why} in {label} (`{result.command}`), so there is nothing to compare with:\n"
                f"{_indented(result.tail(2000))}\n  All of its output: {result.log}"
            )
        world = read_world(result.probe)
        if world.missing:
            raise ReferenceFailed(
                f"the probe was not loaded in rank {', '.join(map(str, world.missing))} of {label}; "
                f"does the train command use another interpreter than the environment's? ({result.log})"
            )
        return result

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """Two migrations of one workload measure its reference once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


async def metric_of(runner: LocalRunner, label: str, checkpoint: Path) -> float:
    """The goal metric of a checkpoint, by the base commit's evaluation.

    Raises:
        ReferenceFailed: the evaluation failed or printed no number.
    """
    if not checkpoint.exists():
        raise ReferenceFailed(
            f"{label}: the training left no checkpoint {checkpoint}; see `train.checkpoint`"
        )
    result = await runner.evaluate(label, checkpoint)
    text = result.tail()
    if not result.ok:
        raise ReferenceFailed(
            f"{label}: the evaluation ended with {result.finished.exit_code}:\n{_indented(text[-1500:])}"
        )
    goal = runner.workload.goal
    found = re.findall(goal.pattern, text)
    if not found:
        raise ReferenceFailed(
            f"{label}: the evaluation printed nothing that goal.pattern ({goal.pattern!r}) finds:\n{_indented(text[-1500:])}"
        )
    try:
        return float(found[-1])
    except ValueError as error:
        raise ReferenceFailed(f"{label}: goal.pattern found {found[-1]!r}, which is no number") from error


def reference_key(runner: LocalRunner) -> str:
    """Hash of everything that the reference's results depend on."""
    workload: Workload = runner.workload
    acceptance = workload.acceptance
    parts = [
        runner.repository.tree(runner.repository.base),
        runner.built[workload.reference.environment].key,
        workload.train.model_dump(mode="json"),
        workload.evaluate.model_dump(mode="json"),
        workload.goal.model_dump(mode="json"),
        workload.reference.model_dump(mode="json"),
        {name: data.model_dump(mode="json") for name, data in workload.data.items()},
        [acceptance.semantics.steps, acceptance.numerics.steps, acceptance.numerics.perturbation],
        [platform.machine(), os.cpu_count()],
        hash_of_folder(PROBE),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def hash_of_folder(folder: Path) -> str:
    """Hash of the sources in a folder, by path and content."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _keep(source: Path, folder: Path) -> None:
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial)
    partial.rename(folder)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
