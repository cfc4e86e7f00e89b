"""The whole study, from the facts of its migrations."""

from collections import Counter
from collections.abc import Sequence

from agentmig.study import effort, outcomes, speed
from agentmig.study.facts import LEVELS, Migration
from agentmig.study.model import Copy, MigrationRow, Scope, StudyView, Table
from agentmig.study.reading import Reading
from agentmig.study.statistics import LEVEL
from agentmig.study.text import counted


def study(reading: Reading, human_usd_per_hour: float | None) -> StudyView:
    """All tables.

    Args:
        reading: the migrations, and what was left out.
        human_usd_per_hour: price of an hour of a person; None leaves their money out.
    """
    migrations = reading.migrations
    pairs = speed.speed_by_migration(migrations)
    return StudyView(
        scope=_scope(reading, human_usd_per_hour),
        levels=outcomes.levels(migrations),
        goal=outcomes.goal(migrations),
        attempts=outcomes.attempts(migrations),
        attempts_by_project=outcomes.attempts_by_project(migrations),
        causes=outcomes.causes(migrations),
        claims=outcomes.claims(migrations),
        interventions=effort.interventions(migrations),
        intervention_counts=effort.intervention_counts(migrations),
        intervention_reasons=effort.intervention_reasons(migrations),
        cost=effort.cost(migrations, human_usd_per_hour),
        cost_per_success=effort.cost_per_success(migrations, human_usd_per_hour),
        speed=speed.speed(pairs.rows),
        speed_by_migration=pairs,
        migrations=_migrations(migrations),
    )


def _scope(reading: Reading, human_usd_per_hour: float | None) -> Scope:
    migrations = reading.migrations
    voices = Counter(m.voice for m in migrations)
    projects = len({m.project for m in migrations})
    unfinished = [m.run for m in migrations if not m.ended]
    targets, emulated = sum(len(m.targets) for m in migrations), sum(m.emulated for m in migrations)
    headline = (
        f"{counted(len(migrations), 'migration')} of {counted(projects, 'project')}: "
        f"{voices['live model']} with a live model, {voices['played words']} with played words, "
        f"{voices['by hand']} by hand; {len(unfinished)} unfinished; "
        f"{emulated} of {counted(targets, 'target')} EMULATED"
    )
    return Scope(
        headline=headline,
        migrations=len(migrations),
        projects=projects,
        ended=len(migrations) - len(unfinished),
        unfinished=unfinished,
        live_model=voices["live model"],
        played_words=voices["played words"],
        by_hand=voices["by hand"],
        targets=targets,
        targets_emulated=emulated,
        copies=[Copy(run=d.run, folder=d.folder, counted=d.counted) for d in reading.duplicates],
        left_out=reading.unreadable,
        human_usd_per_hour=human_usd_per_hour,
        level=LEVEL,
    )


def _migrations(migrations: Sequence[Migration]) -> Table[MigrationRow]:
    rows = [
        MigrationRow(
            run=m.run,
            project=m.project,
            group=m.voice,
            verdict=m.verdict,
            level=LEVELS[m.level],
            goal_met=m.goal_met,
            targets=len(m.targets),
            emulated=m.emulated,
            attempts=sum(e.outcome is not None for e in m.executions),
            failures=sum(e.failed for e in m.executions),
            claims=len(m.claims),
            interventions=len(m.interventions),
            human_minutes=m.human_minutes,
            feedback=m.feedback,
            turns=m.turns,
            agent_usd=m.agent_usd,
            compute_usd=m.compute_usd,
            wall_s=m.wall_s,
        )
        for m in migrations
    ]
    notes = ["EMULATED counts emulated targets."]
    return Table[MigrationRow](title="Migrations", notes=notes, rows=rows)
