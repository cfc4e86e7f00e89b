"""One whole training of a commit, compared with nothing, and its evaluation: what the oracle and the baselines judge.

The probe only watches, without reading a value, and bridges the collectives of emulated chips. Every training has the
same seed.
"""

import json
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agentmig.bench import printed
from agentmig.execution.isolation import interpreter_folders
from agentmig.execution.launch import Plan
from agentmig.execution.processes import run_process
from agentmig.execution.runner import LocalRunner, Result
from agentmig.failures import classify
from agentmig.verification.references import ReferenceFailed, metric_of
from agentmig.verification.retries import retried
from agentmig.verification.traces import World, read_world

SEED = 20011
_TENSORS = Path(__file__).with_name("tensors.py")
_LOG_BYTES = 1 << 21
_COMPARISON_S = 300.0


class Part(BaseModel):
    """A part of what is kept."""

    # JSON has no NaN; a metric that isn't finite must be read back as what it is.
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class Distance(Part):
    """How far a checkpoint is from another one."""

    relative: float | None
    """Norm of the difference of all floating-point tensors over their norm; None where that can't be said."""
    problem: str | None = None
    """What differs besides, in words."""


class Plain(Part):
    """What a training left."""

    ok: bool
    """It ended by itself with exit code 0."""
    timed_out: bool
    ended: str
    """How it ended, in words."""
    wall_s: float
    steps: int
    """Optimizer steps that every process made."""
    processes: int
    devices: list[str]
    """Device and kind of each process, each pair once."""
    compilations: int | None
    """Of the process with most; None where the backend doesn't count them."""
    transfers: int | None
    """To the host, of the process with most."""
    fallbacks: int | None
    """Operations that ran on the host instead, of the process with most."""
    lines: list[str]
    """Lines of the log that hold numbers."""
    metric: float | None
    """By the base commit's evaluation."""
    metric_problem: str | None
    checkpoint: bool
    distance: Distance | None = None
    """To the correct migration's checkpoint; None for that itself, and where there is no checkpoint."""

    @property
    def losses(self) -> list[str]:
        """Losses in the order in which they were printed."""
        return printed.losses(self.lines)


async def train(runner: LocalRunner, label: str, commit: str, target: str | None) -> tuple[Plain, Result]:
    """Train a commit once and evaluate what it leaves.

    Args:
        runner: of the project.
        label: begins the names of the runs' folders.
        commit: its id in the runner's repository.
        target: where; None for the reference's hardware.
    """

    async def make(number: int) -> Result:
        plan = Plan(mode="watch", values=False)
        place = label if number == 1 else f"{label}-again-{number}"
        return await runner.train(place, commit, target=target, seed=SEED, plan=plan)

    result = await retried(make)
    world = read_world(result.probe)
    metric, problem = None, None
    if result.ok:
        try:
            metric = await metric_of(runner, f"{label}-evaluate", result.checkpoint)
        except ReferenceFailed as error:
            problem = str(error)
    ends = [trace.end for trace in world.ranks.values() if trace.end]
    plain = Plain(
        ok=result.ok,
        timed_out=result.finished.timed_out,
        ended=_ended(result),
        wall_s=result.finished.wall_s,
        steps=world.count,
        processes=len(world.ranks),
        devices=sorted({f"{e.hardware.device.split(':')[0]} ({e.hardware.device_kind})" for e in ends}),
        compilations=_most(world, "compiles"),
        transfers=_most(world, "transfers_to_host"),
        fallbacks=_most(world, "fallbacks"),
        lines=numbered_lines(result.tail(_LOG_BYTES).replace(str(result.out), "{out}")),
        metric=metric,
        metric_problem=problem,
        checkpoint=result.checkpoint.is_file(),
    )
    return plain, result


def numbered_lines(log: str) -> list[str]:
    """The lines of a log that hold numbers; a progress bar's states are lines too."""
    return [
        line for line in re.split(r"[\r\n]+", log) if re.search(r"\d|\bnan\b|\binf\b", line, re.IGNORECASE)
    ]


def _ended(result: Result) -> str:
    if result.ok:
        return "ended by itself"
    said = classify(result.finished.exit_code, result.finished.timed_out, result.tail())
    return f"{said.summary.removesuffix('.')} ({said.cause})"


def _most(world: World, counter: str) -> int | None:
    counts = [
        getattr(trace.end.counters, counter)
        for trace in world.ranks.values()
        if trace.end and trace.end.counters
    ]
    return max(counts, default=None)


async def distance(runner: LocalRunner, folder: Path, clean: Path, other: Path) -> Distance:
    """Compare two checkpoints in the reference's environment.

    Args:
        runner: of the project.
        folder: scratch space; made if needed.
        clean: the correct migration's checkpoint.
        other: another one.
    """
    python = runner.built[runner.workload.reference.environment].python
    folder.mkdir(parents=True, exist_ok=True)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "CUDA_VISIBLE_DEVICES": ""}
    argv = runner.isolation.wrap(
        [str(python), "-I", "-B", str(_TENSORS), str(clean), str(other)],
        cwd=folder,
        env=env,
        writable=[folder],
        readable=[*interpreter_folders(python), _TENSORS, clean, other],
    )
    log = folder / "log.txt"
    await run_process(argv, cwd=folder, env=env, log=log, timeout_s=_COMPARISON_S)
    said = log.read_text(errors="replace").strip()
    try:
        return Distance.model_validate(json.loads(said.splitlines()[-1]))
    except (ValueError, IndexError):
        return Distance(
            relative=None, problem=f"the checkpoints can't be compared: {said[-300:] or 'no reason given'}"
        )
