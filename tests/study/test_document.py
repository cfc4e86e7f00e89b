from pathlib import Path

import pytest
from hypothesis import given

from agentmig.journal import Outcome
from agentmig.study.document import study
from agentmig.study.facts import LEVELS, Migration
from agentmig.study.model import TABLES, StudyView
from agentmig.study.reading import Duplicate, Reading, read
from agentmig.study.statistics import CLUSTERED, EXACT, RATIO
from tests.conftest import REPOSITORY
from tests.study.migrations import EMULATED, FEWER, REAL, migration, run, studies


def _published(folder: Path) -> list[Path]:
    """Ten authored runs with the figures of a published study: 70 attempts, 53 failed, 26 without an error, 24 interventions."""
    silent = [3, 2, 3, 2, 3, 2, 3, 3, 2, 3]
    loud = [3, 3, 2, 3, 3, 3, 2, 3, 3, 2]
    asked = [0, 1, 2, 2, 2, 3, 3, 3, 4, 4]
    folders = []
    for index in range(10):
        outcomes: list[tuple[Outcome, str | None]] = [
            *[(Outcome.SILENT, "recompilation")] * silent[index],
            *[(Outcome.LOUD, "unsupported_operation")] * loud[index],
        ]
        outcomes += [(Outcome.OK, None)] * (7 - len(outcomes))
        verdict = "accepted" if index < 8 else "rejected"
        made = run(
            folder / f"project-{index}",
            outcomes,
            verdict,
            asked[index],
            targets=[REAL.model_copy(update={"name": "xla"})],
        )
        folders.append(made)
    return folders


def test_the_figures_of_the_published_study_come_out(tmp_path: Path) -> None:
    view = study(read(_published(tmp_path)), None)
    attempts = view.attempts.rows[0]
    assert (attempts.attempts, attempts.failures, attempts.silent) == (70, 53, 26)
    assert attempts.failure_share.value == pytest.approx(0.757, abs=5e-4)
    assert attempts.silent_share.value == pytest.approx(0.491, abs=5e-4)
    assert attempts.failure_share.method == attempts.silent_share.method == CLUSTERED
    (live,) = view.interventions.rows
    assert (live.migrations, live.interventions, live.mean.method) == (10, 24, RATIO)
    assert live.mean.value == pytest.approx(2.4)
    goal = view.goal.rows[0]
    assert (goal.unit, goal.met, goal.n, goal.share.method) == ("project", 8, 10, EXACT)
    assert view.causes.rows[0].cause == "unsupported_operation"
    assert view.scope.headline == (
        "10 migrations of 10 projects: 10 with a live model, 0 with played words, 0 by hand; 0 unfinished; "
        "0 of 10 targets EMULATED"
    )


def test_the_scope_says_what_is_counted_and_what_is_not() -> None:
    migrations = [
        migration("r1", project="p", targets=(REAL, EMULATED)),
        migration("r2", project="p", voice="played words", verdict="waiting"),
        migration("r3", voice="by hand", verdict="running"),
    ]
    scope = study(Reading(migrations, [Duplicate("r1", "/copy", "/run")], ["/x: damaged"]), 50.0).scope
    assert (scope.migrations, scope.projects, scope.ended, scope.unfinished) == (3, 2, 1, ["r2", "r3"])
    assert (scope.live_model, scope.played_words, scope.by_hand) == (1, 1, 1)
    assert (scope.targets, scope.targets_emulated) == (4, 1)
    assert [(copy.run, copy.folder, copy.counted) for copy in scope.copies] == [("r1", "/copy", "/run")]
    assert scope.left_out == ["/x: damaged"]
    assert (scope.human_usd_per_hour, scope.level) == (50.0, 0.95)


def test_a_study_of_unfinished_runs_alone_has_all_tables() -> None:
    view = study(Reading([migration("r1", verdict="running")], [], []), None)
    assert sum(row.migrations for row in view.levels.rows) == 0
    assert view.goal.rows == []
    assert len(view.migrations.rows) == 1


@FEWER
@given(studies())
def test_the_document_is_read_back_from_its_json(migrations: list[Migration]) -> None:
    view = study(Reading(migrations, [], []), 30.0)
    assert StudyView.model_validate_json(view.model_dump_json()) == view
    assert {"schema_version", "scope", *TABLES} == set(view.model_dump())


@FEWER
@given(studies())
def test_every_figure_has_an_interval_or_says_why_not(migrations: list[Migration]) -> None:
    view = study(Reading(migrations, [], []), 30.0)
    for name in TABLES:
        for row in getattr(view, name).rows:
            for value in dict(row).values():
                if hasattr(value, "method"):
                    assert bool(value.method) != bool(value.note)
                    assert (value.low is None) == (value.high is None) == (not value.method)


def test_the_documentation_names_every_table_and_level() -> None:
    text = (REPOSITORY / "docs" / "study.md").read_text()
    assert all(f"| `{name}` |" in text for name in TABLES)
    assert ", ".join(LEVELS[2:]) in text
    assert all(f"**{name}**" in text for name in LEVELS[:2])
