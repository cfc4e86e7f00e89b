from pathlib import Path

import pytest

from agentmig.errors import AgentmigError
from agentmig.journal import Journal, fold
from agentmig.journal.events import MigrationFinished, MigrationStarted
from agentmig.supervisor.closing import closing
from tests.journal.builders import put


@pytest.mark.parametrize("error", [AgentmigError("the disk is gone"), KeyboardInterrupt()])
def test_an_end_by_error_is_written_down_and_goes_on(tmp_path: Path, error: BaseException) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        with pytest.raises(type(error)), closing(journal):
            raise error
        finished = fold(journal.events).finished
    assert finished and finished.verdict == "stopped"
    assert finished.reason in ("the disk is gone", "interrupted by a person")


def test_a_run_that_has_ended_or_never_began_gets_no_second_end(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        with pytest.raises(AgentmigError), closing(journal):
            raise AgentmigError("x")
        assert journal.events == []
        put(journal, MigrationStarted)
        put(journal, MigrationFinished, verdict="accepted", reason="fine")
        with pytest.raises(AgentmigError), closing(journal):
            raise AgentmigError("x")
        assert len(journal.events) == 2
