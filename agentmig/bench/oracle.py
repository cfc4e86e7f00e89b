"""Whether a mutant differs from the correct migration at all, decided before the verifier sees it.

A mutant that changes nothing can't be detected and isn't counted. The decision rests on whole trainings with one seed,
and for changes of protected or planted files on those alone; nothing of the verifier's comparison takes part.
"""

from collections.abc import Sequence
from typing import Literal

from agentmig.bench import printed
from agentmig.bench.manifests import OracleKind
from agentmig.bench.plain import Part, Plain
from agentmig.bench.scratch import Change
from agentmig.spec.paths import is_protected

TOLERANCE = 1e-4
"""Checkpoints further apart than this part of their norm are different ones."""
_NOISE_FACTOR = 10.0
"""A distance must be so many times what two equal trainings with one seed are apart."""
_RATIO = 1.5

Outcome = Literal["differs", "equivalent", "broken"]


class Decision(Part):
    """What the oracle says."""

    outcome: Outcome
    """`broken`: the training stops with an error, which nobody can overlook."""
    reason: str


def decide(
    kind: OracleKind,
    clean: Plain,
    again: Plain,
    mutant: Plain,
    changes: Sequence[Change],
    protected: Sequence[str],
) -> Decision:
    """Decide about a mutant.

    Args:
        kind: what is looked at.
        clean: the training of the correct migration.
        again: the same training made again; says how far equal trainings are apart.
        mutant: the mutant's training.
        changes: the files in which it differs.
        protected: patterns of the files that a migration may not change.
    """
    if kind == "integrity":
        return _files(changes, protected)
    if mutant.timed_out and kind == "performance":
        return Decision(outcome="differs", reason=f"its training {mutant.ended}")
    if not mutant.ok:
        return Decision(outcome="broken", reason=f"its training {mutant.ended}")
    look = {
        "training": _training,
        "evaluation": _evaluation,
        "performance": _performance,
        "hardware": _hardware,
    }
    found = look[kind](clean, again, mutant)
    if found:
        return Decision(outcome="differs", reason=found)
    return Decision(outcome="equivalent", reason=f"nothing differs in {_LOOKED_AT[kind]}{_apart(mutant)}")


_LOOKED_AT = {
    "training": "its checkpoint, printed losses and number of steps",
    "evaluation": "what its evaluation prints, or in its metric",
    "performance": f"compilations, transfers and time by more than {_RATIO:g} times",
    "hardware": "devices, processes and fallbacks",
}


def _apart(mutant: Plain) -> str:
    if mutant.distance is None or mutant.distance.relative is None:
        return ""
    return f"; its checkpoint is {mutant.distance.relative:.1e} away"


def _training(clean: Plain, again: Plain, mutant: Plain) -> str | None:
    if mutant.steps != clean.steps:
        return f"{mutant.steps} optimizer steps instead of {clean.steps}"
    if clean.checkpoint and not mutant.checkpoint:
        return "it leaves no checkpoint"
    if mutant.distance and mutant.distance.problem:
        return f"its checkpoint is another one: {mutant.distance.problem}"
    noise = (again.distance.relative or 0.0) if again.distance else 0.0
    apart = mutant.distance.relative if mutant.distance else None
    if apart is not None and apart > max(TOLERANCE, _NOISE_FACTOR * noise):
        return f"its checkpoint is {apart:.2g} of the norm away"
    old, new = clean.losses, mutant.losses
    index = printed.first_difference(old, again.losses, new)
    if index is not None:
        values = [losses[index] if index < len(losses) else "nothing" for losses in (old, new)]
        return f"its printed loss number {index + 1} is {values[1]} instead of {values[0]}"
    return None


def _evaluation(clean: Plain, again: Plain, mutant: Plain) -> str | None:
    columns = [printed.evaluations(plain.lines) for plain in (clean, again, mutant)]
    if words := printed.evaluation_difference(*columns):
        return f"its evaluation prints {words}"
    if mutant.metric != clean.metric and again.metric == clean.metric:
        return f"the base's evaluation gives {mutant.metric} instead of {clean.metric}"
    return None


def _performance(clean: Plain, again: Plain, mutant: Plain) -> str | None:
    for name in ("compilations", "transfers"):
        old, new = getattr(clean, name), getattr(mutant, name)
        if old is not None and new is not None and new > _RATIO * max(old, 1):
            return f"{new} {name} instead of {old}"
    slower = max(clean.wall_s, again.wall_s)
    if mutant.wall_s > _RATIO * slower:
        return f"it takes {mutant.wall_s:.1f} s instead of {slower:.1f} s"
    return None


def _hardware(clean: Plain, again: Plain, mutant: Plain) -> str | None:
    for name, words in (("processes", "processes train"), ("devices", "is where it trains")):
        old, new = getattr(clean, name), getattr(mutant, name)
        if old != new:
            shown = [", ".join(value) if isinstance(value, list) else value for value in (old, new)]
            return f"{shown[1] or 'nothing known'} {words}, not {shown[0] or 'nothing known'}"
    if (mutant.fallbacks or 0) > _RATIO * max(clean.fallbacks or 0, 1):
        return f"{mutant.fallbacks} operations run on the host instead of {clean.fallbacks or 0}"
    return None


def _files(changes: Sequence[Change], protected: Sequence[str]) -> Decision:
    real = [change for change in changes if not change.cosmetic]
    touched = [change for change in real if is_protected(change.path, protected)]
    planted = [change for change in real if change.how == "added" and change not in touched]
    for what, found in (("a protected file", touched), ("a planted file", planted), ("code", real)):
        if found:
            names = ", ".join(f"{change.path} ({change.how})" for change in found[:5])
            return Decision(outcome="differs", reason=f"{what} differs: {names}")
    return Decision(outcome="equivalent", reason="only comments or layout differ")
