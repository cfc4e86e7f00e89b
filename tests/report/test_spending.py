import pytest

from agentmig.journal import Usage, fold
from agentmig.journal.events import Intervention, MigrationStarted, SessionEnded, Turn
from agentmig.journal.view import view
from agentmig.report.model import Spending
from agentmig.report.spending import spending
from tests.journal.builders import put
from tests.report.journals import Memory

SPLIT = {"input": 0.1, "output": 0.2, "cache_read": 0.0, "cache_write_5m": 0.0, "cache_write_1h": 0.0}


def spent(journal: Memory) -> Spending:
    state = fold(journal.events)
    return spending(journal.events, state, view(state).cost)


def begun() -> Memory:
    journal = Memory()
    put(journal, MigrationStarted, budget={"agent_usd": 1.0, "turns": 4, "tokens": None, "other": 1})
    return journal


def test_sums_grow_turn_by_turn_and_by_class() -> None:
    journal = begun()
    for number in (1, 2):
        put(
            journal,
            Turn,
            message_id=f"m{number}",
            usage=Usage(input=10, output=5),
            usd=0.3,
            usd_by_class=SPLIT,
        )
    put(journal, SessionEnded, cli_usd=0.5)
    put(journal, SessionEnded, cli_usd=None)
    put(journal, SessionEnded, cli_usd=0.25)
    found = spent(journal)
    assert [turn.tokens["input"] for turn in found.over_time] == [10, 20]
    assert found.over_time[-1].usd == pytest.approx(0.6)
    assert found.over_time[-1].usd_by_class is not None
    assert found.over_time[-1].usd_by_class["output"] == pytest.approx(0.4)
    assert [usd for _, usd in found.cli_usd] == [0.5, 0.75]
    assert [(line.name, line.spent, line.bound) for line in found.budget] == [
        ("agent_usd", pytest.approx(0.6), 1.0),
        ("turns", 2.0, 4.0),
        ("tokens", 30.0, None),
    ]


def test_a_response_that_came_twice_counts_once_in_its_last_form() -> None:
    journal = begun()
    put(journal, Turn, usage=Usage(output=1), usd=0.1)
    put(journal, Turn, usage=Usage(output=9), usd=0.9)
    found = spent(journal)
    assert [(turn.tokens["output"], turn.usd) for turn in found.over_time] == [(9, 0.9)]


def test_older_journals_have_the_total_alone_and_unknown_prices_no_total() -> None:
    journal = begun()
    put(journal, Turn, usd=0.1)
    put(journal, Turn, message_id="m2", usd=None)
    first, second = spent(journal).over_time
    assert (first.usd, first.usd_by_class) == (0.1, None)
    assert second.usd is None


def test_each_cost_has_its_source() -> None:
    journal = begun()
    put(journal, Turn, usd=0.25)
    put(journal, SessionEnded, cli_usd=0.24)
    put(journal, Intervention, reason="hint", text="t", minutes=3.5, waited_s=0.0)
    lines = {line.kind: line for line in spent(journal).costs}
    assert list(lines) == ["agent", "agent, by the CLI", "compute", "people"]
    assert (lines["agent"].amount, lines["agent, by the CLI"].amount, lines["people"].amount) == (
        "$0.25",
        "$0.24",
        "3.5 min",
    )
    assert all(line.source for line in lines.values())
