from pathlib import Path

import pytest

from agentmig.cli.resume import BudgetError, _bounds
from agentmig.journal import Journal
from agentmig.journal.events import MigrationFinished, MigrationStarted
from tests.journal.builders import put
from tests.tiny import agentmig


def test_bounds_are_read_by_name_and_the_last_counts() -> None:
    assert _bounds(["agent_usd=10", "turns=3", "agent_usd=2.5"]) == {"agent_usd": 2.5, "turns": 3}


@pytest.mark.parametrize(
    "text",
    ["agent_usd", "agent_usd=", "agent_usd=much", "agent_usd=-1", "turns=2.5", "dollars=3", "agent_usd=nan"],
)
def test_a_bound_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(BudgetError, match="--budget"):
        _bounds([text])


def test_a_run_with_its_verdict_cannot_be_resumed(tmp_path: Path) -> None:
    with Journal(tmp_path / ".agentmig" / "runs" / "20260101-000000-tiny-0000") as journal:
        put(journal, MigrationStarted)
        put(journal, MigrationFinished, verdict="accepted", reason="all is well")
    done = agentmig(tmp_path, "resume", "latest")
    assert done.returncode == 2
    assert "has ended: accepted" in done.stderr and "Traceback" not in done.stderr
