from typing import Any

import pytest
from hypothesis import given

from agentmig.journal.events import Usage
from agentmig.study import effort
from agentmig.study.facts import Migration
from agentmig.study.model import CostRow, SuccessCostRow
from tests.study.migrations import EMULATED, FEWER, migration, studies

MIGRATIONS = [
    migration("r1", interventions=(("hint", 2.0), ("decision", 10.0)), feedback=1),
    migration("r2", verdict="rejected", interventions=(("hint", 3.0),), agent_usd=3.0, compute_usd=None),
    migration("r3", verdict="stopped", agent_usd=2.0, wall_s=7200.0),
    migration("r4", verdict="waiting", interventions=(("access", 60.0),), agent_usd=100.0),
    migration("r5", voice="by hand", agent_usd=0.0, turns=0, compute_usd=5.0, targets=(EMULATED,)),
    migration("r6", voice="played words", agent_usd=None, interventions=(("hint", 1.0),)),
]


def test_interventions_by_hand() -> None:
    table = effort.interventions(MIGRATIONS)
    live, played = table.rows
    assert (live.group, live.migrations, live.feedback) == ("live model", 3, 1)
    assert (live.interventions, live.minutes) == (3, 15)
    assert [live.mean.value, live.minutes_mean.value, live.feedback_mean.value] == pytest.approx(
        [1, 5, 1 / 3]
    )
    assert (played.group, played.interventions) == ("played words", 1)
    assert table.notes == ["Left out: 1 unfinished migration, and 1 by hand."]


def test_the_distribution_of_interventions_has_no_holes() -> None:
    rows = [
        (r.group, r.interventions, r.migrations, r.share) for r in effort.intervention_counts(MIGRATIONS).rows
    ]
    third = pytest.approx(1 / 3)
    assert rows == [
        ("live model", 0, 1, third),
        ("live model", 1, 1, third),
        ("live model", 2, 1, third),
        ("played words", 0, 0, 0),
        ("played words", 1, 1, 1),
    ]


def test_reasons_by_hand() -> None:
    rows = effort.intervention_reasons(MIGRATIONS).rows
    assert [(r.group, r.reason, r.interventions, r.n, r.minutes, r.migrations) for r in rows] == [
        ("live model", "hint", 2, 3, 5, 2),
        ("live model", "decision", 1, 3, 10, 1),
        ("played words", "hint", 1, 1, 1, 1),
    ]


def _cost(rows: list[Any], group: str, measure: str, unit: str = "$") -> Any:
    (row,) = [r for r in rows if (r.group, r.measure, r.unit) == (group, measure, unit)]
    return row


def test_cost_by_hand() -> None:
    table = effort.cost(MIGRATIONS, None)
    agent: CostRow = _cost(table.rows, "live model", "agent")
    assert (agent.migrations, agent.total, agent.mean.value, agent.median.value) == (3, 6, 2, 2)
    compute: CostRow = _cost(table.rows, "live model", "compute")
    assert (compute.migrations, compute.total) == (2, 4)  # r2 ran on hardware without a price
    both: CostRow = _cost(table.rows, "live model", "agent and compute")
    assert (both.migrations, both.total) == (2, 7)
    assert _cost(table.rows, "live model", "wall time", "h").total == 4
    assert _cost(table.rows, "live model", "tokens, input", "tokens").mean.value == 10
    assert not [r for r in table.rows if r.measure == "agent" and r.group == "played words"]
    assert [r.measure for r in table.rows if r.group == "by hand"] == ["compute", "wall time"]
    assert not [r for r in table.rows if r.measure == "people" and r.unit == "$"]
    assert table.notes == [
        "Left out: 1 unfinished migration.",
        "1 migration used a model without a price: their agent's dollars are unknown.",
        "1 migration used hardware without a price: their compute dollars are unknown.",
        "Played words: tokens and dollars of the agent are authored, nobody was billed.",
        "By hand: what the person spent is in no journal.",
        "1 migration ran on EMULATED targets, which cost what the stand-in costs.",
    ]


def test_peoples_time_is_money_where_an_hour_has_a_price() -> None:
    table = effort.cost(MIGRATIONS, 60.0)
    assert _cost(table.rows, "live model", "people").total == 15
    assert _cost(table.rows, "live model", "agent, compute and people").total == 7 + 12
    assert "An hour of a person costs $60.00." in table.notes
    free = effort.cost(MIGRATIONS, 0.0)
    assert _cost(free.rows, "live model", "people").total == 0


def test_cost_of_a_success_counts_failures_too() -> None:
    rows = effort.cost_per_success(MIGRATIONS, None).rows
    agent: SuccessCostRow = _cost(rows, "live model", "agent")
    assert (agent.total, agent.successes, agent.per_success.value) == (6, 1, 6)
    none = effort.cost_per_success([MIGRATIONS[1]], None).rows
    assert (none[0].per_success.value, none[0].per_success.note) == (None, "none accepted")


def test_every_class_of_tokens_has_its_row() -> None:
    rows = effort.cost(MIGRATIONS, None).rows
    classes = [r.measure for r in rows if r.unit == "tokens" and r.group == "live model"]
    assert classes == [f"tokens, {name.replace('_', ' ')}" for name in Usage.model_fields]


@FEWER
@given(studies())
def test_effort_adds_up(migrations: list[Migration]) -> None:
    agents = [m for m in migrations if m.ended and m.voice != "by hand"]
    table = effort.interventions(migrations).rows
    assert sum(row.migrations for row in table) == len(agents)
    assert sum(row.interventions for row in table) == sum(len(m.interventions) for m in agents)
    counts = effort.intervention_counts(migrations).rows
    assert sum(row.migrations for row in counts) == len(agents)
    assert sum(row.migrations * row.interventions for row in counts) == sum(
        row.interventions for row in table
    )
    reasons = effort.intervention_reasons(migrations).rows
    assert sum(row.interventions for row in reasons) == sum(row.interventions for row in table)
    assert sum(row.minutes for row in reasons) == pytest.approx(sum(row.minutes for row in table))
    for row in effort.cost(migrations, 100.0).rows:
        assert row.mean.value == pytest.approx(row.total / row.migrations)
    for success in effort.cost_per_success(migrations, 100.0).rows:
        if success.successes:
            assert success.per_success.value == pytest.approx(success.total / success.successes)


@FEWER
@given(studies())
def test_played_words_change_no_figure_of_a_live_model(migrations: list[Migration]) -> None:
    alone = [m for m in migrations if m.voice != "played words"]
    live = [r for r in effort.cost(migrations, None).rows if r.group == "live model"]
    assert live == [r for r in effort.cost(alone, None).rows if r.group == "live model"]
