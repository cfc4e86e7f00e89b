"""The reference against a target: seconds, dollars and samples a second of whole trainings, with 95% intervals.

Times and rates are positive and their noise is multiplicative, so everything is computed on logarithms: a mean is the
geometric one, its interval Student's t, and the interval of a ratio is Welch's for the difference of mean logarithms
(Welch 1947, doi:10.1093/biomet/34.1-2.28), carried back (Bland and Altman 1996, doi:10.1136/bmj.312.7039.1153). One run
on a side gives no interval.
"""

import math
from collections.abc import Sequence

from scipy import stats

from agentmig.journal.events import AttemptFinished, Outcome, TargetRecord
from agentmig.journal.fold import Attempt, State
from agentmig.report.evidence import as_number, as_numbers
from agentmig.report.model import Estimate, Side, SpeedView
from agentmig.report.text import plural
from agentmig.verification.statistics import compare

METHOD = (
    "Dollars to the target quality: dollars of a run over the share of runs whose metric is no worse than the reference's mean by "
    "the margin; from the 95% interval of the one and the exact one (Clopper and Pearson) of the other, so at least 90%. "
    "Means are geometric; the intervals are 95%, Student's t on logarithms, for ratios Welch's. They take runs for "
    "independent. Seconds are wall time of a whole training: start, compilation and the probe's watch included."
)
_ONE_SIDED = 0.025
"""Of each of the two bounds of a 95% interval."""


def speeds(state: State) -> list[SpeedView]:
    """One comparison for each target on which trainings of the verifier ended well."""
    if state.started is None:
        return []
    found = []
    for target in state.started.targets:
        claim, runs = _trainings(state, target.name)
        if runs:
            found.append(_compared(state, target, claim, runs))
    return found


def _trainings(state: State, target: str) -> tuple[str, list[AttemptFinished]]:
    """The newest claim with whole trainings on a target, and those that came to their end."""
    by_claim: dict[str, list[AttemptFinished]] = {}
    for attempt in state.attempts.values():
        if attempt.started.target == target and (run := _whole(attempt)):
            by_claim.setdefault(attempt.started.purpose.partition(":")[0], []).append(run)
    if not by_claim:
        return "", []
    claim = list(by_claim)[-1]
    return claim, by_claim[claim]


def _whole(attempt: Attempt) -> AttemptFinished | None:
    """The end of an attempt of the verifier that was a whole training."""
    end = attempt.finished
    if attempt.started.by != "verifier" or "training" not in attempt.started.purpose or end is None:
        return None
    return end if end.outcome not in (Outcome.LOUD, Outcome.INFRA) and end.wall_s > 0 else None


def _compared(state: State, target: TargetRecord, claim: str, runs: list[AttemptFinished]) -> SpeedView:
    reference, candidate = _reference(state), _candidate(target, runs)
    ratios = {
        "seconds": ratio(reference.seconds, candidate.seconds),
        "samples_per_s": ratio(reference.samples_per_s, candidate.samples_per_s),
    }
    if reference.usd and candidate.usd:
        ratios["usd"] = ratio(reference.usd, candidate.usd)
    reached = _reached(state, target.name, claim)
    return SpeedView(
        target=target.name,
        claim=claim,
        reference=reference.model_copy(update={"usd_to_target": to_target(reference.usd, reached[0])}),
        candidate=candidate.model_copy(update={"usd_to_target": to_target(candidate.usd, reached[1])}),
        ratios=ratios,
    )


def _reached(state: State, target: str, claim: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Runs that reach the target quality, and all runs: of the reference and of the candidate."""
    gates = [gate for known in state.claims if known.made.claim == claim for gate in known.gates]
    goal = next((gate for gate in gates if gate.gate == "goal" and gate.target == target), None)
    evidence = goal.evidence if goal else {}
    old, new = as_numbers(evidence.get("reference")), as_numbers(evidence.get("candidate"))
    margin = as_number(evidence.get("margin"))
    known = [value for value in old if value is not None and math.isfinite(value)]
    if not known or margin is None:
        return (0, 0), (0, 0)
    sign = 1.0 if evidence.get("direction") == "maximize" else -1.0
    least = sign * math.fsum(known) / len(known) - margin

    def count(values: Sequence[float | None]) -> tuple[int, int]:
        return sum(value is not None and sign * value >= least for value in values), len(values)

    return count(old), count(new)


def to_target(usd: Estimate | None, reached: tuple[int, int]) -> Estimate | None:
    """Dollars until a training has reached the target quality, as often as it takes.

    Args:
        usd: dollars of a training.
        reached: trainings that reach it, and all of them.

    Returns:
        None where either is unknown. The interval holds the value in at least 90% of cases: both of its parts do in 95%.
    """
    count, total = reached
    if usd is None or usd.mean is None or not total:
        return None
    if not count:
        return Estimate(values=[], mean=None, note=f"none of {plural(total, 'run')} reached it")
    share = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    if usd.low is None or usd.high is None:
        return Estimate(values=[], mean=usd.mean * total / count, note=usd.note)
    return Estimate(
        values=[],
        mean=usd.mean * total / count,
        low=usd.low / share.high,
        high=usd.high / share.low if share.low else math.inf,
    )


def remark(views: Sequence[SpeedView]) -> str:
    """What has to be said of times on emulated targets; empty where none is emulated."""
    sides = [*(view.reference for view in views[:1]), *(view.candidate for view in views)]
    emulated = [side.name for side in sides if side.emulated]
    if not emulated:
        return ""
    return (
        f"EMULATED: {', '.join(emulated)} ran on a CPU in place of the accelerator. These seconds, dollars and rates are the "
        "stand-in's; they say nothing about the accelerator's speed."
    )


def _reference(state: State) -> Side:
    measured, started = state.reference, state.started
    assert started is not None
    record = started.reference_target
    detail = measured.detail if measured else {}
    runs = _positive(as_numbers(detail.get("runs_s")))
    mean = as_number(detail.get("run_s"))
    missing = "the reference was not measured" if measured is None else "the journal has no time of each run"
    if runs or mean is None or not mean > 0:
        seconds = estimate(runs, missing)
    else:  # an older journal: the mean alone, of how many runs it doesn't matter
        seconds = Estimate(values=[], mean=mean, note="the journal has the mean alone")
    rate = measured.samples_per_s if measured else None
    return Side(
        name="reference",
        hardware=measured.hardware if measured else record.description,
        emulated=record.emulated,
        seconds=seconds,
        usd=_usd(seconds, record),
        usd_note=record.price_source,
        samples_per_s=estimate(_positive([rate]), missing, "one run"),
    )


def _candidate(target: TargetRecord, runs: list[AttemptFinished]) -> Side:
    rates = [
        as_number(gate.evidence.get("samples_per_s"))
        for run in runs
        for gate in run.gates
        if gate.gate == "performance"
    ]
    seconds = estimate([run.wall_s for run in runs])
    return Side(
        name=target.name,
        hardware=target.description,
        emulated=target.emulated,
        seconds=seconds,
        usd=_usd(seconds, target),
        usd_note=target.price_source,
        samples_per_s=estimate(_positive(rates), "no steady rate was seen"),
    )


def _positive(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value) and value > 0]


def _usd(seconds: Estimate, target: TargetRecord) -> Estimate | None:
    """The price of a run: its seconds, scaled."""
    price = target.usd_per_hour
    if price is None or not price > 0 or seconds.mean is None:
        return None
    scale = price / 3600

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return Estimate(
        values=[value * scale for value in seconds.values],
        mean=scaled(seconds.mean),
        low=scaled(seconds.low),
        high=scaled(seconds.high),
        note=seconds.note,
    )


def estimate(values: Sequence[float], none: str = "not measured", one: str = "") -> Estimate:
    """Geometric mean and its 95% interval.

    Args:
        values: positive numbers.
        none: the note where there is no value.
        one: the note where there is a single one.
    """
    if not values:
        return Estimate(values=[], mean=None, note=none)
    logs = [math.log(value) for value in values]
    middle = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Estimate(values=list(values), mean=math.exp(middle), note=one or "one run: no interval")
    variance = math.fsum((log - middle) ** 2 for log in logs) / (len(logs) - 1)
    reach = float(stats.t.isf(_ONE_SIDED, len(logs) - 1)) * math.sqrt(variance / len(logs))
    return Estimate(
        values=list(values), mean=math.exp(middle), low=_exp(middle - reach), high=_exp(middle + reach)
    )


def ratio(reference: Estimate, candidate: Estimate) -> Estimate:
    """The candidate's mean over the reference's, with Welch's 95% interval."""
    if reference.mean is None or candidate.mean is None:
        return Estimate(values=[], mean=None, note="one side was not measured")
    middle = candidate.mean / reference.mean
    short = [
        f"{plural(len(side.values), 'run') if side.values else 'only a mean'} of the {name}"
        for name, side in (("reference", reference), ("target", candidate))
        if len(side.values) < 2
    ]
    if short:
        return Estimate(values=[], mean=middle, note=f"no interval: {' and '.join(short)}")
    old, new = ([math.log(value) for value in side.values] for side in (reference, candidate))
    # The verifier's own comparison of two samples; its margin plays no part in the bounds.
    seen = compare(old, new, 1.0, "maximize", _ONE_SIDED)
    return Estimate(values=[], mean=math.exp(seen.difference), low=_exp(seen.low), high=_exp(seen.high))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
