"""What a gate found, read from its evidence; whatever is missing or of another shape is left out.

Evidence is free-form and older journals hold less of it, so nothing here is taken for granted.
"""

import math
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from agentmig.journal.events import GateResult
from agentmig.report.model import (
    Divergence,
    FindingView,
    GoalView,
    Number,
    NumericsView,
    Pair,
    SemanticsView,
)
from agentmig.report.text import number

QUANTITIES = ("loss", "norm_before_clip", "grad_norm", "update_norm", "lr")
"""The quantities of a step in the order in which it computes them."""
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LONG = 12
_ROWS = 150
_DEPTH = 6
# Told in tables and figures of their own.
_SHOWN_ELSEWHERE = {"trace", "losses", "errors", "calibration_errors"}


def as_number(value: Any) -> Number:
    """The value as a float; the words that stand for NaN and infinities in JSON are read, anything else is None."""
    if isinstance(value, str):
        return _WORDS.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_numbers(value: Any) -> list[Number]:
    """A list of numbers; empty for anything else."""
    return [as_number(item) for item in value] if isinstance(value, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def as_whole(value: Any) -> int | None:
    """A whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def relative(candidate: Number, reference: Number) -> Number:
    """|candidate - reference| in units of the reference; infinite where only one is finite, None where one lacks."""
    if candidate is None or reference is None:
        return None
    if candidate == reference or (math.isnan(candidate) and math.isnan(reference)):
        return 0.0
    if not (math.isfinite(candidate) and math.isfinite(reference)):
        return math.inf
    return abs(candidate - reference) / max(abs(reference), 1e-300)


def semantics(result: GateResult | None) -> SemanticsView | None:
    """The float64 pass; None without a step."""
    evidence = result.evidence if result else {}
    trace = evidence.get("trace")
    rows = [row for row in trace if isinstance(row, dict)] if isinstance(trace, list) else []
    if not rows:
        return None
    quantities = {name: [_pair(row.get(name)) for row in rows] for name in QUANTITIES}
    seen = {
        name: pairs for name, pairs in quantities.items() if any(p.reference or p.candidate for p in pairs)
    }
    tolerance = evidence.get("tolerance")
    found = evidence.get("findings")
    return SemanticsView(
        steps=[
            index if (step := as_whole(row.get("step"))) is None else step for index, row in enumerate(rows)
        ],
        quantities=seen,
        differences={name: [difference(pair) for pair in pairs] for name, pairs in seen.items()},
        tolerance=as_number(as_mapping(tolerance).get("loss")),
        first_divergence=_divergence(evidence.get("first_divergence")),
        findings=[_finding(item) for item in found if isinstance(item, dict)]
        if isinstance(found, list)
        else [],
    )


def _pair(value: Any) -> Pair:
    if not isinstance(value, list) or len(value) != 2:
        return Pair()
    sides = [as_numbers(side) if isinstance(side, list) else [as_number(side)] for side in value]
    old, new = ([] if all(item is None for item in side) else side for side in sides)
    return Pair(reference=old, candidate=new)


def difference(pair: Pair) -> Number:
    """The largest relative difference over the ranks; a single value stands for all ranks."""
    old, new = pair.reference, pair.candidate
    if not old or not new:
        return None
    size = max(len(old), len(new))
    theirs, ours = (side * size if len(side) == 1 else side for side in (old, new))
    errors = [relative(mine, other) for mine, other in zip_longest(ours, theirs)]
    return max((error for error in errors if error is not None), default=None)


def _divergence(value: Any) -> Divergence | None:
    if not isinstance(value, dict) or not value:
        return None
    quantity = str(value.get("quantity", "a quantity")).replace("_", " ")
    step, rank = as_whole(value.get("step")), as_whole(value.get("rank"))
    old, new, error = (as_number(value.get(name)) for name in ("reference", "candidate", "error"))
    tensor = value.get("tensor") if isinstance(value.get("tensor"), str) else None
    what = f"{quantity} of tensor {tensor}" if tensor else quantity
    place = f"{what} at step {step if step is not None else '?'}" + (
        f" on rank {rank}" if rank is not None else ""
    )
    if old is None or new is None:
        words = f"{place}: error {number(error, 3)}"
    else:
        words = (
            f"{place}: {number(new, 6)} instead of {number(old, 6)} (relative difference {number(error, 3)})"
        )
    return Divergence(
        step=step,
        quantity=quantity,
        rank=rank,
        tensor=tensor,
        reference=old,
        candidate=new,
        error=error,
        words=words,
    )


def _finding(value: Mapping[str, Any]) -> FindingView:
    return FindingView(
        cause=str(value.get("cause", "unknown")),
        step=as_whole(value.get("step")),
        summary=str(value.get("summary", "")),
    )


def numerics(result: GateResult | None) -> NumericsView | None:
    """The teacher-forced pass; None where the evidence has neither losses nor errors."""
    evidence = result.evidence if result else {}
    losses = evidence.get("losses")
    pairs = [_pair(item) for item in losses] if isinstance(losses, list) else []
    errors = _series(evidence.get("errors"))
    if not pairs and not errors:
        return None
    return NumericsView(
        reference=[_first(pair.reference) for pair in pairs],
        candidate=[_first(pair.candidate) for pair in pairs],
        errors=errors,
        calibration_errors=_series(evidence.get("calibration_errors")),
        limits={key: as_number(value) for key, value in as_mapping(evidence.get("limits")).items()},
        medians={key: as_number(value) for key, value in as_mapping(evidence.get("medians")).items()},
    )


def _series(value: Any) -> dict[str, list[Number]]:
    read = {key: as_numbers(item) for key, item in as_mapping(value).items()}
    return {key: values for key, values in read.items() if values}


def _first(values: list[Number]) -> Number:
    return values[0] if values else None


def goal(result: GateResult | None) -> GoalView | None:
    """The goal metric's values and test; None where the evidence has no value of the candidate."""
    evidence = result.evidence if result else {}
    candidate = as_numbers(evidence.get("candidate"))
    if not candidate:
        return None
    interval = [*as_numbers(evidence.get("interval")), None, None]
    return GoalView(
        metric=str(evidence.get("metric", "metric")),
        direction=str(evidence.get("direction", "maximize")),
        margin=as_number(evidence.get("margin")),
        reference=as_numbers(evidence.get("reference")),
        candidate=candidate,
        difference=as_number(evidence.get("difference")),
        low=interval[0],
        high=interval[1],
        level=as_number(evidence.get("nominal_alpha")),
    )


def flat(evidence: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The evidence as names and values for people; what has a table of its own is left out, and long lists are cut."""
    rows = [
        row
        for key, value in evidence.items()
        if key not in _SHOWN_ELSEWHERE
        for row in _rows(str(key), value, 1)
    ]
    if len(rows) <= _ROWS:
        return rows
    return [*rows[:_ROWS], ("…", f"{len(rows) - _ROWS} more; `agentmig show RUN --json` has all")]


def _rows(name: str, value: Any, depth: int) -> list[tuple[str, str]]:
    if isinstance(value, dict) and value and depth < _DEPTH:
        return [row for key, item in value.items() for row in _rows(f"{name}.{key}", item, depth + 1)]
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value) and depth < _DEPTH:
        shown = [
            row for i, item in enumerate(value[:_LONG]) for row in _rows(f"{name}[{i}]", item, depth + 1)
        ]
        return [*shown, *_rest(name, value)]
    return [(name, scalar(value))]


def _rest(name: str, value: list[Any]) -> list[tuple[str, str]]:
    return [(name, f"{len(value) - _LONG} more")] if len(value) > _LONG else []


def scalar(value: Any) -> str:
    """A value, or a list of values, in words."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case int() | float():
            return number(as_number(value), 6)
        case list():
            shown = ", ".join(scalar(item) for item in value[:_LONG])
            more = f", … ({len(value)} in all)" if len(value) > _LONG else ""
            return shown + more if value else "none"
        case _:
            return str(value) if value else "none"
