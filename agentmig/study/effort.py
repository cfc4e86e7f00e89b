"""What it took: people's interventions, and the cost of each migration and of each verified success.

Authored words and a live model are never put together here, since tokens that were played cost nobody anything; what a
person spent on a migration by hand is in no journal.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentmig.journal.events import Usage
from agentmig.study.facts import Migration
from agentmig.study.model import (
    CostRow,
    Estimate,
    InterventionCountRow,
    InterventionReasonRow,
    InterventionsRow,
    SuccessCostRow,
    Table,
)
from agentmig.study.outcomes import groups, projects
from agentmig.study.statistics import median, ratio
from agentmig.study.text import counted

Figure = Callable[[Migration], float | None]
"""A figure of a migration; None where it isn't known."""


@dataclass(frozen=True)
class Measure:
    """A measure of cost.

    Attributes:
        agent: it is of the agent's work or of people's beside it, which a migration by hand has no record of.
    """

    name: str
    unit: str
    of: Figure
    agent: bool = True


def measures(human_usd_per_hour: float | None) -> list[Measure]:
    """The measures of cost; people's money among them only where an hour has a price."""
    price = human_usd_per_hour
    found = [
        Measure("agent", "$", lambda m: m.agent_usd),
        *(
            Measure(f"tokens, {name.replace('_', ' ')}", "tokens", _tokens(name))
            for name in Usage.model_fields
        ),
        Measure("compute", "$", lambda m: m.compute_usd, agent=False),
        Measure("people", "min", lambda m: m.human_minutes),
    ]
    if price is not None:
        found.append(Measure("people", "$", lambda m: m.human_minutes / 60 * price))
    people = 0.0 if price is None else price / 60
    words = "agent and compute" if price is None else "agent, compute and people"
    return [
        *found,
        Measure(words, "$", lambda m: _sum(m.agent_usd, m.compute_usd, m.human_minutes * people)),
        Measure("wall time", "h", lambda m: m.wall_s / 3600, agent=False),
        Measure("turns", "turns", lambda m: float(m.turns)),
    ]


def _tokens(name: str) -> Figure:
    return lambda m: float(getattr(m.usage, name))


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _agents(migrations: Sequence[Migration]) -> list[tuple[str, list[Migration]]]:
    """Ended migrations that an agent made, by whose words it spoke."""
    return groups([m for m in migrations if m.ended and m.voice != "by hand"])


def _mean(part: Sequence[Migration], figure: Callable[[Migration], float]) -> Estimate:
    own = projects(part).values()
    sums = [sum(figure(m) for m in group) for group in own]
    return ratio(sums, [len(group) for group in own], len(part))


def interventions(migrations: Sequence[Migration]) -> Table[InterventionsRow]:
    """Interventions and their minutes; the supervisor's own feedback apart."""
    rows = [
        InterventionsRow(
            group=name,
            migrations=len(part),
            projects=len(projects(part)),
            interventions=sum(len(m.interventions) for m in part),
            mean=_mean(part, lambda m: len(m.interventions)),
            minutes=sum(m.human_minutes for m in part),
            minutes_mean=_mean(part, lambda m: m.human_minutes),
            feedback=sum(m.feedback for m in part),
            feedback_mean=_mean(part, lambda m: m.feedback),
        )
        for name, part in _agents(migrations)
    ]
    return Table[InterventionsRow](title="Interventions by people", notes=_left_out(migrations), rows=rows)


def intervention_counts(migrations: Sequence[Migration]) -> Table[InterventionCountRow]:
    """The distribution of the number of interventions."""
    rows = []
    for name, part in _agents(migrations):
        counts = Counter(len(m.interventions) for m in part)
        rows += [
            InterventionCountRow(
                group=name,
                interventions=number,
                migrations=counts[number],
                n=len(part),
                share=counts[number] / len(part),
            )
            for number in range(max(counts) + 1)
        ]
    notes = _left_out(migrations)
    return Table[InterventionCountRow](title="Migrations by interventions", notes=notes, rows=rows)


def intervention_reasons(migrations: Sequence[Migration]) -> Table[InterventionReasonRow]:
    """Why people were needed, the most frequent reason first."""
    rows = []
    for name, part in _agents(migrations):
        found = [(reason, minutes, m.run) for m in part for reason, minutes in m.interventions]
        counts = Counter(reason for reason, _, _ in found)
        rows += [
            InterventionReasonRow(
                group=name,
                reason=reason,
                interventions=count,
                n=len(found),
                share=count / len(found),
                minutes=sum(minutes for r, minutes, _ in found if r == reason),
                migrations=len({run for r, _, run in found if r == reason}),
            )
            for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
    notes = _left_out(migrations)
    return Table[InterventionReasonRow](title="Reasons of interventions", notes=notes, rows=rows)


def _left_out(migrations: Sequence[Migration]) -> list[str]:
    unfinished = sum(not m.ended for m in migrations)
    by_hand = sum(m.ended and m.voice == "by hand" for m in migrations)
    return [f"Left out: {counted(unfinished, 'unfinished migration')}, and {by_hand} by hand."]


def cost(migrations: Sequence[Migration], human_usd_per_hour: float | None) -> Table[CostRow]:
    """Cost of a migration."""
    rows = []
    for name, measure, known in _known(migrations, human_usd_per_hour):
        figures = [value for _, value in known]
        rows.append(
            CostRow(
                group=name,
                measure=measure.name,
                unit=measure.unit,
                migrations=len(known),
                projects=len({m.project for m, _ in known}),
                total=sum(figures),
                mean=ratio(*_by_project(known, lambda m: 1.0), len(known)),
                median=median(figures, len({m.project for m, _ in known})),
            )
        )
    return Table[CostRow](
        title="Cost of a migration", notes=_caveats(migrations, human_usd_per_hour), rows=rows
    )


def cost_per_success(
    migrations: Sequence[Migration], human_usd_per_hour: float | None
) -> Table[SuccessCostRow]:
    """What all ended migrations cost, over the number of those that were accepted."""
    rows = []
    for name, measure, known in _known(migrations, human_usd_per_hour):
        successes = sum(m.accepted for m, _ in known)
        sums = _by_project(known, lambda m: float(m.accepted))
        per_success = (
            ratio(*sums, len(known))
            if successes
            else Estimate(value=None, n=len(known), note="none accepted")
        )
        rows.append(
            SuccessCostRow(
                group=name,
                measure=measure.name,
                unit=measure.unit,
                migrations=len(known),
                projects=len(sums[0]),
                total=sum(value for _, value in known),
                successes=successes,
                per_success=per_success,
            )
        )
    notes = ["The total of all ended migrations, rejected and stopped ones too, over the number accepted."]
    return Table[SuccessCostRow](
        title="Cost of a verified success", notes=notes + _caveats(migrations, human_usd_per_hour), rows=rows
    )


_Known = list[tuple[Migration, float]]


def _known(
    migrations: Sequence[Migration], human_usd_per_hour: float | None
) -> list[tuple[str, Measure, _Known]]:
    """Each group and measure with the ended migrations for which it is known."""
    found = []
    for name, part in groups([m for m in migrations if m.ended]):
        for measure in measures(human_usd_per_hour):
            known = [(m, value) for m in part if (value := measure.of(m)) is not None]
            if known and not (measure.agent and name == "by hand"):
                found.append((name, measure, known))
    return found


def _by_project(known: _Known, weight: Callable[[Migration], float]) -> tuple[list[float], list[float]]:
    sums: dict[str, tuple[float, float]] = {}
    for migration, value in known:
        above, below = sums.get(migration.project, (0.0, 0.0))
        sums[migration.project] = (above + value, below + weight(migration))
    return [above for above, _ in sums.values()], [below for _, below in sums.values()]


def _caveats(migrations: Sequence[Migration], human_usd_per_hour: float | None) -> list[str]:
    ended = [m for m in migrations if m.ended]
    notes = [f"Left out: {counted(len(migrations) - len(ended), 'unfinished migration')}."]
    if human_usd_per_hour is not None:
        notes.append(f"An hour of a person costs ${human_usd_per_hour:,.2f}.")
    if unpriced := sum(m.agent_usd is None for m in ended):
        notes.append(
            f"{counted(unpriced, 'migration')} used a model without a price: their agent's dollars are unknown."
        )
    if unpriced := sum(m.compute_usd is None for m in ended):
        notes.append(
            f"{counted(unpriced, 'migration')} used hardware without a price: their compute dollars are unknown."
        )
    if any(m.voice == "played words" for m in ended):
        notes.append("Played words: tokens and dollars of the agent are authored, nobody was billed.")
    if any(m.voice == "by hand" for m in ended):
        notes.append("By hand: what the person spent is in no journal.")
    if emulated := sum(m.emulated > 0 for m in ended):
        notes.append(
            f"{counted(emulated, 'migration')} ran on EMULATED targets, which cost what the stand-in costs."
        )
    return notes
