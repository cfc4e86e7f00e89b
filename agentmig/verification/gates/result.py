"""How the gates put their results together."""

import math
from typing import Any

from agentmig.journal.events import GateResult, Verdict
from agentmig.verification.findings import Finding


def passed(gate: str, target: str, summary: str, **evidence: Any) -> GateResult:
    """The gate found nothing wrong."""
    return GateResult(
        gate=gate, target=target, verdict=Verdict.PASS, summary=summary, evidence=plain(evidence)
    )


def failed(gate: str, target: str, cause: str, summary: str, **evidence: Any) -> GateResult:
    """The gate found a fault, and names it."""
    return GateResult(
        gate=gate,
        target=target,
        verdict=Verdict.FAIL,
        cause=cause,
        summary=summary,
        evidence=plain(evidence),
    )


def inconclusive(gate: str, target: str, cause: str, summary: str, **evidence: Any) -> GateResult:
    """The gate can't tell, and says why."""
    return GateResult(
        gate=gate,
        target=target,
        verdict=Verdict.INCONCLUSIVE,
        cause=cause,
        summary=summary,
        evidence=plain(evidence),
    )


def plain(value: Any) -> Any:
    """The value as strict JSON holds it; NaN and infinities become words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def described(found: list[Finding]) -> list[dict[str, Any]]:
    """Findings as evidence."""
    return [{"cause": f.cause, "summary": f.summary, "step": f.step, **f.evidence} for f in found]


def several(found: list[Finding]) -> str:
    """The first finding in full, with the names of the others."""
    others = [finding.cause for finding in found[1:]]
    return found[0].summary + (f" Also found: {', '.join(others)}." if others else "")
