"""The goal metric, read from what an evaluation printed; or why there is none."""

import math
import re
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.execution.runner import Result
from agentmig.failures.classify import classify
from agentmig.spec.workload import Workload

_READ = 1 << 20
"""Bytes of the log's end in which the metric is looked for."""
_SHOWN = 1500


class MetricError(AgentmigError):
    """An evaluation gave no metric that can be compared."""


def read_metric(result: Result, workload: Workload) -> float:
    """The number that an evaluation printed; the last one counts.

    Args:
        result: of the evaluation.
        workload: says how the metric is printed, and where the evaluation runs.

    Raises:
        MetricError: the evaluation failed, or printed no number, or one that isn't finite.
    """
    if not result.ok:
        limit = (
            f" (evaluate.timeout_s is {workload.evaluate.timeout_s:g})" if result.finished.timed_out else ""
        )
        raise MetricError(
            f"the evaluation {result.ended}{limit}{_cuda(result, workload)}:\n{_quoted(result)}"
        )
    pattern = workload.goal.pattern
    found = re.findall(pattern, result.tail(_READ))
    if not found:
        raise MetricError(
            f"the evaluation printed nothing that goal.pattern ({pattern!r}) finds:\n{_quoted(result)}"
        )
    try:
        value = float(found[-1])
    except ValueError as error:
        raise MetricError(
            f"goal.pattern ({pattern!r}) found {found[-1]!r}, which is no number{_unit(found[-1])}:\n{_quoted(result)}"
        ) from error
    if not math.isfinite(value):
        raise MetricError(
            f"the metric is {value}: nothing can be compared with it. Did the training diverge, or does the evaluation "
            f"divide by zero?\n{_quoted(result)}"
        )
    return value


def _unit(text: str) -> str:
    if re.search(r"\d", text) and re.search(r"[%,]|\s", text.strip()):
        return "; its group must leave percent signs, units and separators out, or the evaluation print plain digits"
    return ""


def _cuda(result: Result, workload: Workload) -> str:
    """What an evaluation that needs CUDA is told where there is none."""
    cause = classify(result.finished.exit_code, result.finished.timed_out, result.tail()).cause
    if cause != "cuda_unavailable":
        return ""
    where = f"the reference's environment ({workload.reference.environment}) on this machine"
    if Path("/dev/nvidia0").exists():
        return f". It runs in {where}, whose PyTorch can't use the CUDA device: install a build that fits the driver"
    return (
        f". It runs in {where}, which has no CUDA device: in the base commit, load checkpoints with map_location and "
        "evaluate on the CPU where there is no GPU, or run agentmig where the GPU is"
    )


def _quoted(result: Result) -> str:
    lines = result.tail(_SHOWN).strip().splitlines()
    return (
        "\n".join(f"    {line}" for line in lines or ["(it printed nothing)"])
        + f"\n  All of its output: {result.log}"
    )
