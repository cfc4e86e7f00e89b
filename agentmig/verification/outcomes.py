"""What a run and a verification came to: the outcome of an attempt, the verdict over all gates."""

from typing import Any

from agentmig.execution.runner import Result
from agentmig.failures.classify import classify
from agentmig.journal.events import GateResult, Outcome, Verdict


def attempt_fields(
    name: str, run: Result, gates: list[GateResult], usd_per_hour: float | None
) -> dict[str, Any]:
    """The fields of `AttemptFinished` for a run and what its gates said."""
    failed = next((g for g in gates if g.verdict is Verdict.FAIL), None)
    if not run.ok:
        outcome, cause, summary = classify(run.finished.exit_code, run.finished.timed_out, run.tail())
    elif failed:
        outcome, cause, summary = Outcome.SILENT, failed.cause, failed.summary
    elif any(g.verdict is Verdict.PASS for g in gates):
        outcome, cause, summary = Outcome.OK, None, "; ".join(g.summary for g in gates)
    else:
        outcome, cause, summary = (
            Outcome.UNVERIFIED,
            None,
            "; ".join(g.summary for g in gates) or "no gate could judge it",
        )
    return {
        "attempt": name,
        "outcome": outcome,
        "cause": cause,
        "summary": summary,
        "exit_code": run.finished.exit_code,
        "timed_out": run.finished.timed_out,
        "wall_s": run.finished.wall_s,
        "peak_memory_mb": run.finished.peak_memory_mb,
        "usd": None if usd_per_hour is None else usd_per_hour * run.finished.wall_s / 3600,
        "log": str(run.log),
        "gates": gates,
    }


def overall(results: list[GateResult]) -> tuple[Verdict, GateResult | None]:
    """The verdict of a verification and the gate that decided it; no gate decides a pass.

    A gate that was not reached is no pass: without a failed one before it, the claim is undecided.
    """
    if not results:
        return Verdict.INCONCLUSIVE, None
    for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_REACHED):
        if decisive := next((r for r in results if r.verdict is verdict), None):
            return (Verdict.FAIL if verdict is Verdict.FAIL else Verdict.INCONCLUSIVE), decisive
    return Verdict.PASS, None
