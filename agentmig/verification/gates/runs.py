"""Does it run to its end? Exit code, time, ranks, optimizer steps and the checkpoint."""

import math
from pathlib import Path
from typing import Any

from agentmig.failures.classify import classify
from agentmig.journal.events import GateResult, Outcome
from agentmig.verification.gates.result import failed, inconclusive, passed
from agentmig.verification.traces import World

GATE = "runs"
_SHARE_OF_STEPS = 0.99


def judge(
    target: str,
    *,
    exit_code: int | None,
    timed_out: bool,
    log_tail: str,
    world: World,
    expected_ranks: int,
    expected_steps: int | None,
    checkpoint: Path | None,
    needs_checkpoint: bool,
) -> GateResult:
    """Judge how a run ended and what it left.

    Args:
        target: its name.
        exit_code: of the command.
        timed_out: whether it was ended because its time was over.
        log_tail: the end of its output.
        world: what the probe saw.
        expected_ranks: processes that should have trained.
        expected_steps: the reference's optimizer steps; at least 99% of them are needed. None: one is.
        checkpoint: where the workload says that the training leaves it.
        needs_checkpoint: False for a run that was cut short on purpose.
    """
    evidence: dict[str, Any] = {
        "exit_code": exit_code,
        "timed_out": timed_out,
        "ranks": sorted(world.handshakes),
        "declared_ranks": world.size if world.handshakes else 0,
        "expected_ranks": expected_ranks,
        "steps": world.count,
        "expected_steps": expected_steps,
        "ends": {rank: trace.end.how if trace.end else None for rank, trace in world.ranks.items()},
        "cut_off": [rank for rank, trace in world.ranks.items() if trace.cut_off],
        "probe_errors": world.errors[:5],
        "unknown_lines": sum(sum(trace.unknown.values()) for trace in world.ranks.values()),
    }
    ended = classify(exit_code, timed_out, log_tail)
    if ended.cause is not None:
        evidence["outcome"] = ended.outcome.value
        if ended.outcome is Outcome.INFRA:
            summary = f"The run {ended.summary} This is no fault of the code."
            return inconclusive(GATE, target, ended.cause, summary, **evidence)
        return failed(GATE, target, ended.cause, f"The run {ended.summary}", **evidence)
    missing = [
        rank for rank in range(expected_ranks) if rank not in world.handshakes or rank not in world.ranks
    ]
    if missing:
        ranks = ", ".join(map(str, missing))
        summary = (
            f"{expected_ranks - len(missing)} of {expected_ranks} processes trained in the target's environment, with the "
            f"probe; rank {ranks} was not seen."
        )
        return failed(GATE, target, "rank_missing", summary, **evidence)
    if world.damage:
        summary = f"What the ranks reported can't be read: {world.damage[0]}."
        return failed(GATE, target, "trace_damaged", summary, damage=world.damage, **evidence)
    if world.count == 0:
        return failed(
            GATE, target, "no_optimizer_step", "The run ended well, but no optimizer made a step.", **evidence
        )
    needed = math.ceil(_SHARE_OF_STEPS * expected_steps) if expected_steps is not None else 1
    if world.count < needed:
        summary = f"The run made {world.count} optimizer steps; the reference makes {expected_steps}."
        return failed(GATE, target, "too_few_steps", summary, **evidence)
    if needs_checkpoint and (checkpoint is None or not checkpoint.is_file() or not checkpoint.stat().st_size):
        saved = sorted({c.path for trace in world.ranks.values() for c in trace.checkpoints})
        where = f" It saved {', '.join(saved[:5])}." if saved else " It saved nothing."
        name = checkpoint.name if checkpoint else "that the workload names"
        summary = f"The run left no checkpoint {name} in its output folder.{where}"
        return failed(GATE, target, "checkpoint_missing", summary, saved=saved, **evidence)
    summary = f"The run ended by itself: {world.count} optimizer steps on {expected_ranks} rank{'s' if expected_ranks != 1 else ''}."
    if expected_steps is not None:
        summary = summary[:-1] + f"; the reference makes {expected_steps}."
    return passed(GATE, target, summary, **evidence)
