from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal import Outcome, Verdict
from agentmig.study import outcomes
from agentmig.study.facts import LEVELS, Migration, Verification
from tests.study.migrations import EMULATED, FEWER, REAL, execution, migration, studies

FIVE = [
    migration(
        "r1",
        project="a",
        executions=(execution(Outcome.LOUD, "device_mismatch"), execution(Outcome.OK, by="verifier")),
    ),
    migration(
        "r2",
        project="a",
        level=2,
        goal_met=False,
        verdict="rejected",
        executions=(execution(Outcome.SILENT, "recompilation"), execution(Outcome.SILENT, "recompilation")),
        claims=(Verification(Verdict.FAIL, "goal_worse"), Verification(Verdict.FAIL, None)),
    ),
    migration(
        "r3",
        project="b",
        voice="played words",
        targets=(REAL, EMULATED),
        executions=(
            execution(Outcome.INFRA, "disk_full"),
            execution(Outcome.LOUD, "an old name", emulated=True),
        ),
    ),
    migration(
        "r4",
        project="c",
        voice="by hand",
        level=0,
        goal_met=False,
        verdict="stopped",
        executions=(execution(Outcome.UNVERIFIED, by="verifier"),),
        claims=(Verification(Verdict.INCONCLUSIVE, "budget_spent"),),
    ),
    migration(
        "r5",
        project="d",
        verdict="running",
        level=4,
        executions=(execution(None), execution(Outcome.LOUD)),
        claims=(Verification(None, None),),
    ),
]


def test_levels_by_hand() -> None:
    table = outcomes.levels(FIVE)
    rows = {row.level: row for row in table.rows}
    assert list(rows) == list(LEVELS)
    assert {name: row.migrations for name, row in rows.items() if row.migrations} == {
        "nothing ran": 1,
        "integrity": 1,
        "goal": 2,
    }
    goal, integrity, nothing = rows["goal"], rows["integrity"], rows["nothing ran"]
    assert (goal.live_model, goal.played_words, goal.by_hand, goal.emulated) == (1, 1, 0, 1)
    assert (integrity.projects, integrity.at_least, integrity.projects_at_least) == (0, 3, 2)
    assert (nothing.projects, nothing.at_least, nothing.projects_at_least) == (1, 4, 3)
    assert nothing.projects_share.low is None
    assert (goal.projects_share.value, goal.projects_share.n) == (2 / 3, 3)
    assert table.notes[1] == "Left out: 1 unfinished migration."


def test_the_goal_criterion_by_hand() -> None:
    rows = {(row.unit, row.group): (row.met, row.n) for row in outcomes.goal(FIVE).rows}
    assert rows == {
        ("project", "all"): (2, 3),
        ("migration", "all"): (2, 4),
        ("project", "live model"): (1, 1),
        ("migration", "live model"): (1, 2),
        ("project", "played words"): (1, 1),
        ("migration", "played words"): (1, 1),
        ("project", "by hand"): (0, 1),
        ("migration", "by hand"): (0, 1),
        ("project", "real targets only"): (1, 2),
        ("migration", "real targets only"): (1, 3),
        ("project", "an emulated target"): (1, 1),
        ("migration", "an emulated target"): (1, 1),
    }


def test_attempts_by_hand() -> None:
    rows = {row.group: row for row in outcomes.attempts(FIVE).rows}
    everything = rows["all"]
    assert (everything.attempts, everything.running, everything.projects) == (8, 1, 4)
    counts = (everything.ok, everything.loud, everything.silent, everything.unverified, everything.infra)
    assert counts == (1, 3, 2, 1, 1)
    assert everything.failures == 5
    assert everything.failure_share.value == 5 / 8
    assert everything.silent_share.value == 2 / 5
    sizes = {group: (row.attempts, row.failures) for group, row in rows.items()}
    assert sizes == {
        "all": (8, 5),
        "by the agent": (6, 5),
        "by the verifier": (2, 0),
        "live model": (5, 4),
        "played words": (2, 1),
        "by hand": (1, 0),
        "on real targets": (7, 4),
        "on emulated targets": (1, 1),
    }
    own = {
        row.project: (row.migrations, row.attempts, row.failures)
        for row in outcomes.attempts_by_project(FIVE).rows
    }
    assert own == {"a": (2, 4, 3), "b": (1, 2, 1), "c": (1, 1, 0), "d": (1, 1, 1)}


def test_causes_by_hand() -> None:
    rows = outcomes.causes(FIVE).rows
    assert [
        (r.cause, r.fault, r.loud, r.silent, r.failures, r.projects, r.rejected_claims) for r in rows
    ] == [
        ("recompilation", "code", 0, 2, 2, 1, 0),
        ("(no cause named)", "", 1, 0, 1, 1, 1),
        ("an old name", "", 1, 0, 1, 1, 0),
        ("device_mismatch", "code", 1, 0, 1, 1, 0),
        ("goal_worse", "code", 0, 0, 0, 0, 1),
    ]
    assert rows[0].share.value == 2 / 5
    assert rows[0].meaning


def test_claims_by_hand() -> None:
    rows = {
        r.group: (r.claims, r.accepted, r.rejected, r.inconclusive, r.pending)
        for r in outcomes.claims(FIVE).rows
    }
    assert rows == {
        "all": (6, 2, 2, 1, 1),
        "live model": (4, 1, 2, 0, 1),
        "played words": (1, 1, 0, 0, 0),
        "by hand": (1, 0, 0, 1, 0),
    }
    assert outcomes.claims(FIVE).rows[0].rejected_share.value == 2 / 5


@FEWER
@given(studies())
def test_levels_add_up(migrations: list[Migration]) -> None:
    rows = outcomes.levels(migrations).rows
    ended = [m for m in migrations if m.ended]
    assert sum(row.migrations for row in rows) == len(ended)
    assert sum(row.projects for row in rows) == len({m.project for m in ended})
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        assert row.live_model + row.played_words + row.by_hand == row.migrations
        assert row.at_least - row.migrations == (below.at_least if below else 0)
        assert row.projects_at_least - row.projects == (below.projects_at_least if below else 0)
        assert row.emulated <= row.migrations


@FEWER
@given(studies())
def test_attempts_add_up(migrations: list[Migration]) -> None:
    table = {row.group: row for row in outcomes.attempts(migrations).rows}
    projects = outcomes.attempts_by_project(migrations).rows
    for row in [*table.values(), *projects]:
        assert row.ok + row.loud + row.silent + row.unverified + row.infra == row.attempts
        assert row.failures == row.loud + row.silent
        for share in (row.failure_share, row.silent_share):
            assert share.value is None or 0 <= share.value <= 1
            assert share.low is None or share.high is None or 0 <= share.low <= share.high <= 1
    for parts in (
        ["by the agent", "by the verifier"],
        ["live model", "played words", "by hand"],
        ["on real targets", "on emulated targets"],
    ):
        assert sum(table[part].attempts for part in parts if part in table) == table["all"].attempts
        assert sum(table[part].running for part in parts if part in table) == table["all"].running
    assert sum(row.failures for row in projects) == table["all"].failures
    causes = outcomes.causes(migrations).rows
    assert sum(row.loud for row in causes) == table["all"].loud
    assert sum(row.silent for row in causes) == table["all"].silent
    assert (
        sum(row.share.value or 0 for row in causes) in (0, 1)
        or abs(sum(row.share.value or 0 for row in causes) - 1) < 1e-9
    )
    claims = outcomes.claims(migrations).rows
    assert sum(row.rejected_claims for row in causes) == claims[0].rejected
    for claim in claims:
        assert claim.accepted + claim.rejected + claim.inconclusive + claim.pending == claim.claims


@FEWER
@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_migrations_doesnt_matter(migrations: list[Migration], random: Random) -> None:
    shuffled = list(migrations)
    random.shuffle(shuffled)
    for table in (
        outcomes.levels,
        outcomes.goal,
        outcomes.attempts,
        outcomes.attempts_by_project,
        outcomes.causes,
    ):
        assert table(shuffled) == table(migrations)
