"""Is it worth it? Compilations after warm-up, transfers in a steady step, throughput, dollars.

Which compilations are late: the first `warmup_steps` steps may compile, and so may everything up to the first step of
epoch `warm_epochs`, since evaluation, a smaller last batch and saving come for the first time in an epoch. Where the
probe doesn't tell epochs, a program that compiles for such a phase does so once: up to three steps in the first half of
the run may compile, the second half may not. What follows the last step (a last evaluation, saving) may compile too,
unless steps had compiled late before it: then it is one more of them. So a graph that is compiled again in each step or
each epoch is found, to the very end of the run; one that is compiled once is not held against the program.

The probe's counters leave out its own transfers and those of emulated collectives, so transfers are judged as they are.
On an emulated target throughput and dollars are those of this machine's CPU: reported, never judged.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from agentmig.journal.events import GateResult
from agentmig.spec.workload import Performance, Target
from agentmig.verification.compiler_log import Place, most
from agentmig.verification.gates.result import failed, inconclusive, passed
from agentmig.verification.traces import RankTrace, World

GATE = "performance"
_PHASES = 3
_STEADY = 4
_EACH = 0.75
_SHOWN = 20


@dataclass(frozen=True)
class Compilations:
    """When a run compiled, on the rank that compiled most.

    Attributes:
        total: to the very end.
        late: after warm-up, as the module's text defines it.
        steps: the steps of those that are late, with how many; `end` stands for what follows the last step.
        epochs_known: whether the probe told epochs.
    """

    total: int
    late: int
    steps: dict[str, int]
    epochs_known: bool


def judge(
    target_name: str,
    target: Target,
    candidate: World,
    reference: World | None,
    limits: Performance,
    usd_per_hour: float | None,
    wall_s: float,
) -> GateResult:
    """Judge a whole training that was watched without reading values.

    Args:
        target_name: its name.
        target: backend, chips, emulated or not.
        candidate: what the probe saw.
        reference: the reference's watched training, for the throughput.
        limits: what was asked for; a bound that is None is reported, not judged.
        usd_per_hour: price of the whole target; None if unknown.
        wall_s: seconds that the run took.
    """
    speed = samples_per_s(candidate, limits.warmup_steps)
    reference_speed = samples_per_s(reference, limits.warmup_steps) if reference else None
    usd = None if usd_per_hour is None else usd_per_hour * wall_s / 3600
    compiled = compilations(candidate, limits)
    transfers = transfers_per_step(candidate, limits.warmup_steps)
    evidence: dict[str, Any] = {
        "emulated": target.emulated,
        "compilations": compiled.total if compiled else None,
        "late_compilations": compiled.late if compiled else None,
        "late_steps": compiled.steps if compiled else None,
        "epochs_known": compiled.epochs_known if compiled else None,
        "transfers_per_step": transfers,
        "samples_per_s": speed,
        "reference_samples_per_s": reference_speed,
        "usd_per_run": usd,
        "wall_s": wall_s,
        "limits": limits.model_dump(),
    }
    if not candidate.count:
        return inconclusive(
            GATE, target_name, "nothing_to_compare", "No optimizer step was seen.", **evidence
        )
    if compiled is None and target.backend in ("xla", "torch_tpu") and not target.emulated:
        summary = (
            f"The {target.backend} backend gave no counters, so compilations and transfers can't be judged."
        )
        return inconclusive(GATE, target_name, "no_counters", summary, **evidence)
    if compiled and compiled.late > limits.recompilations:
        places = ", ".join(f"{place}: {count}" for place, count in list(compiled.steps.items())[:8])
        summary = (
            f"{compiled.late} of {compiled.total} compilations come after warm-up ({limits.recompilations} allowed), in "
            f"{len(compiled.steps)} places of {candidate.count} steps ({places})."
        )
        return failed(GATE, target_name, "recompilation", summary, **evidence)
    if transfers is not None and transfers > limits.transfers_per_step:
        summary = (
            f"In a steady step {transfers:g} values or tensors travel from the device to the host "
            f"({limits.transfers_per_step:g} allowed; the emulation's and the probe's own are left out)."
        )
        return failed(GATE, target_name, "host_sync", summary, **evidence)
    if not target.emulated:
        verdict = _speed_and_price(target_name, limits, speed, reference_speed, usd, evidence)
        if verdict:
            return verdict
    return passed(
        GATE, target_name, _summary(target, compiled, transfers, speed, reference_speed, usd), **evidence
    )


def certain(
    target_name: str, candidate: World, limits: Performance, places: Counter[Place]
) -> GateResult | None:
    """What a short pass already shows of every step: a compilation in each, or transfers in each; None otherwise.

    The pass reads values and sets weights, which costs no compilation and no transfer of the program's own, so what is
    counted in (nearly) every steady step would be counted in a whole training too.

    Args:
        target_name: its name.
        candidate: a short pass of the candidate.
        limits: what was asked for.
        places: what the compiler's debug output says of the pass.
    """
    rises = [_rises(trace, limits.warmup_steps) for trace in candidate.ranks.values()]
    steady = max((r for r in rises if len(r) >= _STEADY), key=lambda r: sum(map(bool, r)), default=[])
    evidence: dict[str, Any] = {"steps": candidate.count, "compilations": steady, "early": True}
    if steady and sum(map(bool, steady)) >= _EACH * len(steady):
        where = most(places, "compilation")
        summary = (
            f"{sum(map(bool, steady))} of {len(steady)} steps after warm-up compile a graph anew{_at(where)}."
        )
        evidence["places"] = _counted(where)
        return failed(GATE, target_name, "recompilation", summary, **evidence)
    transfers = transfers_per_step(candidate, limits.warmup_steps)
    if transfers is not None and len(steady) >= _STEADY and transfers > limits.transfers_per_step:
        where = most(places, "execution", access=True)
        summary = (
            f"In a steady step {transfers:g} values or tensors travel from the device to the host "
            f"({limits.transfers_per_step:g} allowed; the emulation's and the probe's own are left out){_at(where)}."
        )
        evidence |= {"places": _counted(where), "transfers_per_step": transfers}
        return failed(GATE, target_name, "host_sync", summary, **evidence)
    return None


def _at(where: list[tuple[Place, int]]) -> str:
    return f", most often at {where[0][0].words}" if where else ""


def _counted(where: list[tuple[Place, int]]) -> list[dict[str, Any]]:
    return [{"line": place.line, "cause": place.cause, "count": count} for place, count in where]


def _rises(trace: RankTrace, warmup: int) -> list[int]:
    counts = [step.counters.compiles for step in trace.steps[warmup:] if step.counters]
    return [later - earlier for earlier, later in pairwise(counts)]


def _speed_and_price(
    target_name: str,
    limits: Performance,
    speed: float | None,
    reference_speed: float | None,
    usd: float | None,
    evidence: dict[str, Any],
) -> GateResult | None:
    if limits.min_throughput_ratio is not None:
        if speed is None or not reference_speed:
            summary = (
                "The throughput of candidate or reference could not be measured, yet a ratio is asked for."
            )
            return inconclusive(GATE, target_name, "nothing_to_compare", summary, **evidence)
        ratio = speed / reference_speed
        if ratio < limits.min_throughput_ratio:
            summary = (
                f"The steady throughput is {speed:.4g} samples/s, {ratio:.3g} times the reference's {reference_speed:.4g}; "
                f"{limits.min_throughput_ratio:g} times is asked for."
            )
            return failed(GATE, target_name, "slow", summary, **evidence)
    if limits.max_usd_per_run is not None:
        if usd is None:
            summary = "The price book has no price for this accelerator, yet a bound on dollars a run is set."
            return inconclusive(GATE, target_name, "nothing_to_compare", summary, **evidence)
        if usd > limits.max_usd_per_run:
            summary = f"The run costs {usd:.4g} dollars; {limits.max_usd_per_run:g} are allowed."
            return failed(GATE, target_name, "expensive", summary, **evidence)
    return None


def _summary(
    target: Target,
    compiled: Compilations | None,
    transfers: float | None,
    speed: float | None,
    reference_speed: float | None,
    usd: float | None,
) -> str:
    parts = [
        "this backend counts no compilations"
        if compiled is None
        else f"{compiled.total} compilations, {compiled.late} of them after warm-up"
    ]
    if transfers is not None:
        parts.append(f"{transfers:g} transfers to the host in a steady step")
    if speed is not None:
        against = f" (the reference: {reference_speed:.4g})" if reference_speed else ""
        parts.append(f"{speed:.4g} samples/s{against}")
    if usd is not None:
        parts.append(f"{usd:.4g} dollars a run")
    text = "; ".join(parts)
    text = text[0].upper() + text[1:] + "."
    if target.emulated:
        text += " EMULATED: throughput and dollars are those of the stand-in on this machine's CPU, so they are not judged."
    return text


def compilations(world: World, limits: Performance) -> Compilations | None:
    """When the run compiled, on the rank with most late compilations; None without counters."""
    found = [seen for trace in world.ranks.values() if (seen := _of_rank(trace, limits))]
    return max(found, key=lambda seen: (seen.late, seen.total), default=None)


def _of_rank(trace: RankTrace, limits: Performance) -> Compilations | None:
    counts = [step.counters.compiles for step in trace.steps if step.counters]
    if not counts or len(counts) != len(trace.steps):
        return None
    total = trace.end.counters.compiles if trace.end and trace.end.counters else counts[-1]
    rises = {index + 1: later - earlier for index, (earlier, later) in enumerate(pairwise(counts))}
    late = {index: rise for index, rise in rises.items() if rise > 0 and index >= limits.warmup_steps}
    epochs = [step.epoch for step in trace.steps]
    known = all(epoch is not None for epoch in epochs)
    if known:
        begun = (
            index for index, epoch in enumerate(epochs) if epoch is not None and epoch >= limits.warm_epochs
        )
        warm = next(begun, len(counts))
        late = {index: rise for index, rise in late.items() if index > warm}
    else:
        early = [index for index in late if index < len(counts) / 2][:_PHASES]
        late = {index: rise for index, rise in late.items() if index not in early}
    places = {f"step {index}": rise for index, rise in late.items()}
    if late and total > counts[-1]:
        places["end"] = total - counts[-1]
    shown = dict(list(places.items())[:_SHOWN])
    return Compilations(total, sum(places.values()), shown, known)


def transfers_per_step(world: World, warmup: int) -> float | None:
    """Median number of transfers from the device to the host in a step after warm-up, on the worst rank.

    Returns:
        None without counters that tell it, or without two steps after warm-up.
    """
    medians = []
    for trace in world.ranks.values():
        counts = [step.counters.transfers_to_host for step in trace.steps[warmup:] if step.counters]
        known = [count for count in counts if count is not None]
        if len(known) >= 2:
            medians.append(float(median(later - earlier for earlier, later in pairwise(known))))
    return max(medians, default=None)


def samples_per_s(world: World, warmup: int) -> float | None:
    """Samples a second of the whole world in a steady step.

    Args:
        world: a run with the clock's readings.
        warmup: so many steps at the beginning don't count.

    Returns:
        Samples of a step over all ranks, divided by the slowest rank's median time between two steps; None where a rank
        made fewer than two steps after warm-up, or doesn't know its samples.
    """
    seconds, samples = [], 0.0
    for trace in world.ranks.values():
        steady = trace.steps[warmup:]
        times = [step.time for step in steady if step.time is not None]
        counts = [step.samples for step in steady if step.samples is not None]
        if len(times) < 2 or not counts:
            return None
        seconds.append(median(later - earlier for earlier, later in pairwise(times)))
        samples += median(counts)
    slowest = max(seconds, default=0.0)
    return samples / slowest if slowest > 0 else None
