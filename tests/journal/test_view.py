import json
from pathlib import Path

import pytest

from agentmig.journal import Journal, JournalError, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    MigrationFinished,
    MigrationStarted,
    Turn,
    Usage,
)
from agentmig.journal.fold import State
from agentmig.journal.view import RunView, view
from tests.conftest import REPOSITORY
from tests.journal.builders import put

SCHEMA = REPOSITORY / "docs" / "schema" / "show-1.json"


def test_the_document_holds_what_the_journal_says(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, words="played")
        put(journal, Turn, usage=Usage(input=1, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5))
        put(journal, AttemptStarted)
        running = view(fold(journal.events))
        put(journal, AttemptFinished, exit_code=1)
        put(journal, ClaimMade)
        put(journal, ClaimVerified)
        put(journal, MigrationFinished, verdict="rejected", reason="no")
        done = view(fold(journal.events))
    assert running.verdict == "running"
    assert running.attempts[0].outcome is None
    assert done.verdict == "rejected"
    assert done.emulated and done.attempts[0].emulated
    assert done.attempts[0].exit_code == 1
    assert done.usage.cache_write == 9
    assert done.claims[0].cause == "clip_before_reduction"
    assert "nobody was billed" in done.cost.agent_usd_source


def test_an_empty_journal_is_said() -> None:
    with pytest.raises(JournalError, match="before it began"):
        view(State())


def test_the_published_schema_is_that_of_the_model() -> None:
    assert json.loads(SCHEMA.read_text()) == RunView.model_json_schema(mode="serialization"), (
        f"write it anew: python -m agentmig.journal.view > {SCHEMA}"
    )
