"""Rules on the program's own weights, before the reference's took their place: how they are drawn, whether replicas agree.

Another generator draws other numbers, and that is no fault. Another distribution is one.
"""

import math

from agentmig.verification.findings import Finding
from agentmig.verification.records import Initial
from agentmig.verification.traces import World

_SIGMAS = 7.0
"""How far a mean or a spread may be off, in standard errors: over thousands of tensors chance doesn't reach it."""
_FEW = 32
_SHAPE = 1.45
"""Ratio of the largest magnitudes at the same spread: uniform weights reach 1.7 standard deviations, normal ones 3 and more."""
_MANY = 256


def findings(reference: World, candidate: World) -> list[Finding]:
    """What is wrong with the weights that the candidate begins with."""
    return [f for f in (_replicas(reference, candidate), _drawn(reference, candidate)) if f]


def _first(world: World) -> dict[int, Initial]:
    return {rank: trace.initial[0] for rank, trace in sorted(world.ranks.items()) if trace.initial}


def _replicas(reference: World, candidate: World) -> Finding | None:
    old = {initial.digest for initial in _first(reference).values()}
    new = [initial.digest for initial in _first(candidate).values()]
    if len(new) < 2 or len(set(new)) == 1 or len(old) > 1:
        return None
    why = f"The {len(new)} replicas begin with different weights, and nothing brings them together before the first step."
    return Finding("replicas_differ", why, evidence={"digests": new})


def _drawn(reference: World, candidate: World) -> Finding | None:
    old, new = _first(reference), _first(candidate)
    if not old or not new:
        return None
    theirs, mine = old[min(old)], new[min(new)]
    if theirs.digest == mine.digest:
        return None
    for (name, a), (other, b) in _pairs(theirs, mine):
        why = _other_distribution(a, b)
        if why:
            summary = f"The weights of {other} are initialised otherwise: {why}."
            evidence = {"tensor": other, "reference": [name, *a], "candidate": list(b)}
            return Finding("initialisation_changed", summary, evidence=evidence)
    return None


Numbers = tuple[int, float, float, float]


def _pairs(old: Initial, new: Initial) -> list[tuple[tuple[str, Numbers], tuple[str, Numbers]]]:
    """Tensors by name, else by order where the sizes agree in order."""
    if set(old.tensors) <= set(new.tensors):
        return [((name, numbers), (name, new.tensors[name])) for name, numbers in old.tensors.items()]
    if [n[0] for n in old.tensors.values()] == [n[0] for n in new.tensors.values()]:
        return list(zip(old.tensors.items(), new.tensors.items(), strict=True))
    return []


def _other_distribution(old: Numbers, new: Numbers) -> str | None:
    """Why two tensors can't be draws of one distribution; None where they can."""
    (count, mean, spread, largest), (size, new_mean, new_spread, new_largest) = old, new
    if count != size or not count:
        return None
    if spread == 0.0 or new_spread == 0.0:
        if spread == new_spread and math.isclose(mean, new_mean, rel_tol=1e-6, abs_tol=1e-9):
            return None
        if count == 1:
            return None
        return f"mean {new_mean:.4g} and standard deviation {new_spread:.4g}, in the reference {mean:.4g} and {spread:.4g}"
    if count < _FEW:
        return None
    error = math.sqrt(2.0 / count)
    if abs(math.log(new_spread / spread)) > _SIGMAS * error:
        return f"standard deviation {new_spread:.4g} instead of {spread:.4g}"
    if abs(new_mean - mean) > _SIGMAS * error * max(spread, new_spread):
        return f"mean {new_mean:.4g} instead of {mean:.4g} (standard deviation {spread:.4g})"
    shape, new_shape = largest / spread, new_largest / new_spread
    if (
        count >= _MANY
        and max(shape, new_shape) > _SHAPE * min(shape, new_shape)
        and min(shape, new_shape) < 2.0
    ):
        return f"another distribution (largest magnitude {new_shape:.3g} standard deviations instead of {shape:.3g})"
    return None
