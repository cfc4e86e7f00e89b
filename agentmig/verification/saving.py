"""Rules on what the program saves, compared with what the reference saved at the same place."""

import math

from agentmig.verification.divergence import json_number
from agentmig.verification.findings import Finding
from agentmig.verification.records import Checkpoint
from agentmig.verification.traces import World


def compared(world: World) -> list[Checkpoint]:
    """Saved objects that had a counterpart, in order."""
    return [
        saved
        for _, trace in sorted(world.ranks.items())
        for saved in trace.checkpoints
        if saved.number is not None
    ]


def findings(candidate: World, tolerance: float) -> list[Finding]:
    """The first saved object that isn't what the reference saved.

    Args:
        candidate: a run that was matched.
        tolerance: largest error of a tensor, in units of its own norm.
    """
    for saved in compared(candidate):
        name = saved.path.rsplit("/", 1)[-1]
        if saved.missing:
            why = f"{name} lacks what the reference saves: {', '.join(saved.missing)}."
            return [Finding("checkpoint_changed", why, evidence={"file": name, "missing": saved.missing})]
        if saved.shapes:
            why = f"{name} holds tensors of other shapes than the reference's: {', '.join(saved.shapes)}."
            return [Finding("checkpoint_changed", why, evidence={"file": name, "shapes": saved.shapes})]
        error = math.inf if saved.error is None or math.isnan(saved.error) else saved.error
        if error > tolerance:
            why = f"{name} doesn't hold what the reference saves there: {saved.worst} differs by {error:.3g} of its norm."
            evidence = {"file": name, "tensor": saved.worst, "error": json_number(error)}
            return [Finding("checkpoint_changed", why, evidence=evidence)]
    return []
