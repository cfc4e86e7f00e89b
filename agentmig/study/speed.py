"""Target against reference: seconds, samples a second and dollars of whole trainings of accepted migrations."""

from collections.abc import Sequence
from statistics import geometric_mean as middle
from typing import Literal

from agentmig.study.facts import Migration, Trainings
from agentmig.study.model import Estimate, PairRow, SpeedRow, Table
from agentmig.study.statistics import geometric_mean, ratio_of_runs

_Where = Literal["real", "EMULATED"]
_EMULATION = "EMULATED targets ran on a stand-in; their figures say nothing about the accelerator and are averaged with no other."


def speed_by_migration(migrations: Sequence[Migration]) -> Table[PairRow]:
    """Each accepted migration on each of its targets."""
    rows = [_row(m, trainings) for m in migrations for trainings in m.trainings]
    notes = [
        "Ratios are target over reference: below 1 is faster in seconds, cheaper in dollars.",
        _EMULATION,
    ]
    return Table[PairRow](title="Speed and cost of each accepted migration", notes=notes, rows=rows)


def _row(migration: Migration, runs: Trainings) -> PairRow:
    seconds = ratio_of_runs(runs.reference_s, runs.target_s)
    price, reference_price = runs.usd_per_hour, runs.reference_usd_per_hour
    reference_s, target_s = _middle(runs.reference_s), _middle(runs.target_s)
    rate = _middle(runs.target_rates)
    return PairRow(
        run=migration.run,
        project=migration.project,
        group=migration.voice,
        target=runs.target.name,
        targets="EMULATED" if runs.emulated else "real",
        backend=runs.target.backend,
        accelerator=runs.target.accelerator,
        chips=runs.target.chips,
        reference_hardware=runs.hardware,
        reference_runs=len(runs.reference_s),
        target_runs=len(runs.target_s),
        reference_s=reference_s,
        target_s=target_s,
        seconds_ratio=seconds,
        reference_samples_per_s=runs.reference_rate,
        target_samples_per_s=rate,
        samples_per_s_ratio=rate / runs.reference_rate if rate and runs.reference_rate else None,
        reference_usd=_usd(reference_s, reference_price),
        target_usd=_usd(target_s, price),
        usd_ratio=_priced(seconds, price, reference_price),
    )


def _middle(values: Sequence[float]) -> float | None:
    return middle(values) if values else None


def _usd(seconds: float | None, usd_per_hour: float | None) -> float | None:
    return None if seconds is None or usd_per_hour is None else seconds * usd_per_hour / 3600


def _priced(seconds: Estimate, price: float | None, reference_price: float | None) -> Estimate:
    """The ratio of dollars: that of seconds, times that of the prices."""
    if price is None or reference_price is None:
        return Estimate(value=None, n=seconds.n, note="no price on one side")
    factor = price / reference_price
    scaled = {
        name: None if bound is None else bound * factor
        for name, bound in (("value", seconds.value), ("low", seconds.low), ("high", seconds.high))
    }
    return seconds.model_copy(update=scaled)


def speed(pairs: Sequence[PairRow]) -> Table[SpeedRow]:
    """Geometric means over migrations and targets, by backend; emulated targets in rows of their own."""
    rows = []
    order: list[_Where] = ["real", "EMULATED"]
    for where in order:
        here = [pair for pair in pairs if pair.targets == where]
        for backend in sorted({pair.backend for pair in here}):
            part = [pair for pair in here if pair.backend == backend]
            measured = {
                "seconds": [(pair.project, pair.seconds_ratio.value) for pair in part],
                "samples/s": [(pair.project, pair.samples_per_s_ratio) for pair in part],
                "$ a run": [(pair.project, pair.usd_ratio.value) for pair in part],
            }
            for measure, values in measured.items():
                known = [(project, value) for project, value in values if value is not None]
                if known:
                    rows.append(
                        SpeedRow(
                            targets=where,
                            backend=backend,
                            measure=measure,
                            pairs=len(known),
                            projects=len({project for project, _ in known}),
                            ratio=geometric_mean([v for _, v in known], [p for p, _ in known]),
                        )
                    )
    notes = ["n counts an accepted migration once for each of its targets with the backend.", _EMULATION]
    return Table[SpeedRow](title="Speed and cost, target over reference", notes=notes, rows=rows)
