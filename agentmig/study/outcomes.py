"""What came of it: levels reached, the project-goal criterion, execution attempts, causes of failures, claims."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from agentmig.failures.taxonomy import CAUSES
from agentmig.journal.events import Outcome, Verdict
from agentmig.study.facts import LEVELS, VOICES, Execution, Migration
from agentmig.study.model import (
    AttemptsRow,
    CauseRow,
    ClaimsRow,
    Estimate,
    GoalRow,
    LevelRow,
    ProjectAttemptsRow,
    Table,
)
from agentmig.study.statistics import clustered_share, clustered_shares, exact_share
from agentmig.study.text import counted

UNNAMED = "(no cause named)"
_ALL = Estimate(value=1.0, n=0, note="all, by definition")
_Pair = tuple[str, Execution]
"""An attempt with its project."""


def groups(migrations: Sequence[Migration]) -> list[tuple[str, list[Migration]]]:
    """The migrations by who migrated; groups without any are left out."""
    parts = [(str(voice), [m for m in migrations if m.voice == voice]) for voice in VOICES]
    return [(name, part) for name, part in parts if part]


def projects(migrations: Iterable[Migration]) -> dict[str, list[Migration]]:
    """The migrations of each project, in the order of their names."""
    found: dict[str, list[Migration]] = {}
    for migration in sorted(migrations, key=lambda m: (m.project, m.run)):
        found.setdefault(migration.project, []).append(migration)
    return found


def levels(migrations: Sequence[Migration]) -> Table[LevelRow]:
    """Ended migrations and their projects by the highest level reached."""
    ended = [m for m in migrations if m.ended]
    best = [max(m.level for m in own) for own in projects(ended).values()]
    rows = []
    for level, name in enumerate(LEVELS):
        here = [m for m in ended if m.level == level]
        voices = Counter(m.voice for m in here)
        reached = sum(b >= level for b in best)
        rows.append(
            LevelRow(
                level=name,
                live_model=voices["live model"],
                played_words=voices["played words"],
                by_hand=voices["by hand"],
                migrations=len(here),
                at_least=sum(m.level >= level for m in ended),
                emulated=sum(m.emulated > 0 for m in here),
                projects=best.count(level),
                projects_at_least=reached,
                projects_share=exact_share(reached, len(best)) if level else _ALL,
            )
        )
    notes = [
        f"{counted(len(ended), 'ended migration')} of {counted(len(best), 'project')}; a project counts by its best migration; emulated: on at least one target.",
        f"Left out: {counted(len(migrations) - len(ended), 'unfinished migration')}.",
    ]
    return Table[LevelRow](title="Highest level reached", notes=notes, rows=rows)


def goal(migrations: Sequence[Migration]) -> Table[GoalRow]:
    """How many ended migrations, and projects, meet the project-goal criterion."""
    ended = [m for m in migrations if m.ended]
    kinds = [
        ("all", ended),
        *groups(ended),
        ("real targets only", [m for m in ended if not m.emulated]),
        ("an emulated target", [m for m in ended if m.emulated]),
    ]
    rows = []
    for name, part in kinds:
        own = projects(part).values()
        met = [sum(m.goal_met for m in group) for group in own]
        if part:
            counts = {
                "project": (sum(m > 0 for m in met), len(met)),
                "migration": (sum(met), len(part)),
            }
            shares = {
                "project": exact_share(*counts["project"]),
                "migration": clustered_share(met, [len(group) for group in own]),
            }
            rows += [
                GoalRow(unit=unit, group=name, met=counts[unit][0], n=counts[unit][1], share=shares[unit])
                for unit in counts
            ]
    notes = [
        "Met: a claim was accepted, and its goal gate passed on every target; a project meets it if one of its migrations does.",
        f"Left out: {counted(len(migrations) - len(ended), 'unfinished migration')}.",
    ]
    return Table[GoalRow](title="Project-goal criterion", notes=notes, rows=rows)


def attempts(migrations: Sequence[Migration]) -> Table[AttemptsRow]:
    """Execution attempts of all migrations, unfinished ones too, by outcome."""
    pairs = [(m, execution) for m in migrations for execution in m.executions]
    kinds: list[tuple[str, Callable[[Migration, Execution], bool]]] = [
        ("all", lambda m, e: True),
        ("by the agent", lambda m, e: e.by == "agent"),
        ("by the verifier", lambda m, e: e.by == "verifier"),
        *((str(voice), lambda m, e, voice=voice: m.voice == voice) for voice in VOICES),
        ("on real targets", lambda m, e: not e.emulated),
        ("on emulated targets", lambda m, e: e.emulated),
    ]
    rows = []
    for name, belongs in kinds:
        part = [(m.project, e) for m, e in pairs if belongs(m, e)]
        if part or name == "all":
            ended = {project for project, e in part if e.outcome is not None}
            rows.append(AttemptsRow(group=name, projects=len(ended), **_outcomes(part)))
    notes = [
        "Failures are loud or silent; shares of failures are of all ended attempts, infra ones included."
    ]
    return Table[AttemptsRow](title="Execution attempts", notes=notes, rows=rows)


def attempts_by_project(migrations: Sequence[Migration]) -> Table[ProjectAttemptsRow]:
    """The same for each project."""
    rows = [
        ProjectAttemptsRow(
            project=project,
            migrations=len(own),
            **_outcomes([(project, execution) for m in own for execution in m.executions]),
        )
        for project, own in projects(migrations).items()
    ]
    notes = ["Attempts of one project are not independent: no intervals."]
    return Table[ProjectAttemptsRow](title="Execution attempts by project", notes=notes, rows=rows)


def _outcomes(pairs: Sequence[_Pair]) -> dict[str, Any]:
    ended = [(project, e) for project, e in pairs if e.outcome is not None]
    counts = Counter(e.outcome for _, e in ended)
    total = Counter(project for project, _ in ended)
    failed = Counter(project for project, e in ended if e.failed)
    silent = Counter(project for project, e in ended if e.outcome is Outcome.SILENT)
    names = sorted(total)
    return {
        **{outcome.value: counts[outcome] for outcome in Outcome},
        "attempts": len(ended),
        "failures": failed.total(),
        "failure_share": _share(names, failed, total),
        "silent_share": _share(names, silent, failed),
        "running": len(pairs) - len(ended),
    }


def _share(names: Sequence[str], events: Counter[str], trials: Counter[str]) -> Estimate:
    return clustered_share([events[name] for name in names], [trials[name] for name in names])


def causes(migrations: Sequence[Migration]) -> Table[CauseRow]:
    """Causes of loud and silent failures, and of rejected claims, the most frequent first."""
    failures = [
        (m.project, e.cause or UNNAMED, e.outcome) for m in migrations for e in m.executions if e.failed
    ]
    rejected = Counter(
        claim.cause or UNNAMED for m in migrations for claim in m.claims if claim.verdict is Verdict.FAIL
    )
    names = sorted({cause for _, cause, _ in failures} | set(rejected))
    own = sorted({project for project, _, _ in failures})
    place = {name: index for index, name in enumerate(names)}
    column = {name: index for index, name in enumerate(own)}
    table = np.zeros((len(names), len(own)))
    for project, cause, _ in failures:
        table[place[cause], column[project]] += 1
    shares = clustered_shares(table, table.sum(axis=0))
    loud = Counter(cause for _, cause, outcome in failures if outcome is Outcome.LOUD)
    silent = Counter(cause for _, cause, outcome in failures if outcome is Outcome.SILENT)
    rows = [
        CauseRow(
            cause=name,
            fault=CAUSES[name].fault if name in CAUSES else "",
            loud=loud[name],
            silent=silent[name],
            failures=loud[name] + silent[name],
            share=share,
            projects=int((table[place[name]] > 0).sum()),
            rejected_claims=rejected[name],
            meaning=CAUSES[name].meaning if name in CAUSES else "",
        )
        for name, share in zip(names, shares, strict=True)
    ]
    rows.sort(key=lambda row: (-row.failures, -row.rejected_claims, row.cause))
    notes = [
        f"{counted(len(failures), 'failure')} of {counted(len(own), 'project')}. Each interval holds by itself, not all together.",
        "Claims that only the integrity or the goal gate rejects have no failed attempt of their own.",
    ]
    return Table[CauseRow](title="Causes of failures", notes=notes, rows=rows)


def claims(migrations: Sequence[Migration]) -> Table[ClaimsRow]:
    """What claims of success were worth, by who made them."""
    kinds = [("all", list(migrations)), *groups(migrations)]
    rows = []
    for name, part in kinds:
        own = projects(part)
        verdicts = {
            project: [claim.verdict for m in group for claim in m.claims] for project, group in own.items()
        }
        counts = Counter(verdict for found in verdicts.values() for verdict in found)
        decided = {project: [v for v in found if v is not None] for project, found in verdicts.items()}
        rows.append(
            ClaimsRow(
                group=name,
                migrations=len(part),
                projects=len(own),
                claims=counts.total(),
                accepted=counts[Verdict.PASS],
                rejected=counts[Verdict.FAIL],
                inconclusive=counts.total() - counts[Verdict.PASS] - counts[Verdict.FAIL] - counts[None],
                rejected_share=clustered_share(
                    [found.count(Verdict.FAIL) for found in decided.values()],
                    [len(found) for found in decided.values()],
                ),
                pending=counts[None],
            )
        )
    notes = [
        "The share is of verified claims: how often it was said that a migration is done, and it was not."
    ]
    return Table[ClaimsRow](title="Claims of success", notes=notes, rows=rows)
