"""Did the work happen there? Device, number of chips, fallbacks to the host, and each replica's own data."""

from itertools import combinations, pairwise
from statistics import median
from typing import Any

from agentmig.journal.events import GateResult
from agentmig.spec.workload import Target
from agentmig.verification.gates.result import failed, inconclusive, passed
from agentmig.verification.records import End
from agentmig.verification.traces import World

GATE = "hardware"
_SHARED = 0.5
"""Replicas that share this part of their samples, or more, train on the same data; a sampler's padding shares less."""

CERTAIN = ("wrong_device", "idle_chips")
"""Causes that a short pass shows as surely as a whole training."""

_DEVICES = {"cpu": "cpu", "cuda": "cuda", "xla": "xla", "torch_tpu": "tpu"}
_KINDS = {"xla": "TPU", "torch_tpu": "TPU"}


def judge(target_name: str, target: Target, chips: int, world: World) -> GateResult:
    """Judge where the work was done.

    Args:
        target_name: its name.
        target: what was intended.
        chips: how many of its chips this run was to use.
        world: what the probe saw, with the program's own batches where replicas' data is to be judged.
    """
    ends = {rank: trace.end for rank, trace in world.ranks.items() if trace.end}
    evidence: dict[str, Any] = {
        "emulated": target.emulated,
        "chips": chips,
        "ranks": len(world.ranks),
        "hardware": {rank: end.hardware.model_dump() for rank, end in ends.items()},
        "backend": {rank: end.backend for rank, end in ends.items() if end.backend},
        "unseen": [note.message for note in world.notes if note.code == "unseen"],
        "fallback_ops": sorted({name for end in ends.values() for name in end.fallback_ops}),
    }
    if not ends:
        summary = "No rank came to its end, so none says on which device its parameters lay."
        return inconclusive(GATE, target_name, "nothing_to_compare", summary, **evidence)
    wrong = [
        f"rank {rank}: {why}" for rank, end in sorted(ends.items()) if (why := _wrong_device(target, end))
    ]
    if wrong:
        summary = (
            f"The work was not done on the intended device ({target.description}): {'; '.join(wrong[:4])}."
        )
        return failed(GATE, target_name, "wrong_device", summary, **evidence)
    used = chips_used(world)
    evidence["chips_used"] = used
    if used != chips:
        cause = "idle_chips" if used < chips else "wrong_device"
        summary = f"{used} of {chips} chips worked: {len(world.ranks)} process{'es' if len(world.ranks) != 1 else ''} trained."
        return failed(GATE, target_name, cause, summary, **evidence)
    fallbacks = _steady_fallbacks(world)
    evidence["fallbacks_per_step"] = fallbacks
    if fallbacks:
        names = ", ".join(evidence["fallback_ops"]) or "not named by the backend"
        summary = f"In each step {fallbacks:g} operations run on the host instead of the device: {names}."
        return failed(GATE, target_name, "cpu_fallback", summary, **evidence)
    shared = shared_samples(world)
    evidence["shared_samples"] = shared
    if shared is not None and shared >= _SHARED:
        summary = f"Replicas train on the same data: {shared:.0%} of the samples in a step are in another replica's share too."
        return failed(GATE, target_name, "same_data", summary, **evidence)
    first = next(iter(ends.values())).hardware
    where = f"{first.device.split(':')[0]} ({first.device_kind or 'kind unknown'})"
    data = "" if shared is None else f"; replicas share {shared:.0%} of their samples"
    host = "no operation fell back" if fallbacks is not None else "whether operations fell back isn't known"
    summary = f"{used} of {chips} chips worked, parameters on {where}{data}, {host} to the host."
    if target.emulated:
        summary = f"{target.description}. No accelerator took part. {summary}"
    return passed(GATE, target_name, summary, **evidence)


def _wrong_device(target: Target, end: End) -> str | None:
    """Why a rank's device isn't the intended one; None where it is."""
    hardware = end.hardware
    device = hardware.device.partition(":")[0]
    # Only torch_xla brings a device of its own along when there is no chip; the others are stood in for by the CPU.
    wanted = "cpu" if target.emulated and target.backend != "xla" else _DEVICES[target.backend]
    if device != wanted:
        return f"its parameters lie on {hardware.device}, not on {wanted}"
    kind = hardware.device_kind.upper()
    if target.emulated:
        return (
            None
            if kind in ("", "CPU")
            else f"the target is declared emulated, yet the device is a {hardware.device_kind}"
        )
    if hardware.emulated:
        return "its chips are emulated"
    expected = _KINDS.get(target.backend)
    if expected and expected not in kind:
        return f"{hardware.device} is a {hardware.device_kind or 'device of unknown kind'}, not a {expected}"
    if target.backend == "cuda" and kind == "CPU":
        return f"{hardware.device} is a CPU"
    return None


def is_spmd(world: World, chips: int) -> bool:
    """Whether one process drives all of several chips."""
    return chips > 1 and len(world.ranks) == 1 and chips_used(world) == chips


def chips_used(world: World) -> int:
    """Devices that trained: one for each rank, or all of the runtime's where one process drives them together."""
    ends = [trace.end for trace in world.ranks.values() if trace.end and trace.steps]
    if len(ends) == 1 and ends[0].hardware.spmd:
        return ends[0].hardware.runtime_devices or 1
    return len(ends)


def _steady_fallbacks(world: World) -> float | None:
    """Median number of operations that fell back in a step after the first, on the worst rank.

    Returns:
        None where there are counters which don't tell it; 0 without counters, since nothing is compiled there.
    """
    worst = 0.0
    for trace in world.ranks.values():
        counts = [step.counters.fallbacks for step in trace.steps if step.counters]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        rises = [later - earlier for earlier, later in pairwise(known)]
        worst = max(worst, float(median(rises)) if rises else 0.0)
    return worst


def shared_samples(world: World) -> float | None:
    """The largest part of a replica's samples that another replica has in the same steps.

    Returns:
        From 0 to 1; None where there is one replica, or samples weren't hashed.
    """
    shares = []
    for a, b in combinations(sorted(world.ranks), 2):
        common = total = 0
        for mine, theirs in zip(world.ranks[a].steps, world.ranks[b].steps, strict=False):
            if mine.rows and theirs.rows:
                common += len(set(mine.rows) & set(theirs.rows))
                total += min(len(set(mine.rows)), len(set(theirs.rows)))
        if total:
            shares.append(common / total)
    return max(shares, default=None)
