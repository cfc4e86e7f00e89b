import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from agentmig.cli.live import Live, picture
from agentmig.journal import Event, Journal, Verdict
from agentmig.journal.events import (
    ClaimMade,
    GateFinished,
    GateResult,
    MigrationStarted,
    SessionStarted,
    Turn,
)
from agentmig.supervisor.progress import Progress, Spent
from agentmig.verification.gates import GATES
from tests.journal.builders import put

SEEN = Progress(
    stage="verifying claim-1",
    turns=4,
    gates={"xla": (Verdict.PASS, Verdict.FAIL, *[None] * (len(GATES) - 2)), "tpu": (None,) * len(GATES)},
    budgets=(Spent("agent_usd", 4.6, 5.0, "$"), Spent("tokens", 10.0, None, "")),
    seconds_left=5400.0,
    verification_left=200.0,
)


def _drawn(width: int, output: list[str]) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(picture(SEEN, "1:02", "", output, width))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def test_the_view_shows_stage_gates_budgets_time_and_output() -> None:
    text = "\n".join(_drawn(160, ["epoch 1 [loss]", "epoch 2"]))
    assert "1:02  verifying claim-1" in text
    assert "about 3 min to this claim's next look; 1.5 h of the time budget left" in text
    assert "xla: ✓ integrity  ✗ semantics  · numerics" in text
    assert "tpu:" not in text  # nothing is known of it yet
    assert "turn 4" in text and "92% of 5" in text and "tokens" not in text
    assert "epoch 1 [loss]" in text and "epoch 2" in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in _drawn(width, ["x" * 500]))


def test_without_a_terminal_the_story_is_line_by_line_and_quiet_prints_nothing(tmp_path: Path) -> None:
    told, silent = io.StringIO(), io.StringIO()
    loud = Live(Console(file=told, width=200), quiet=False, looks=[3])
    quiet = Live(Console(file=silent, width=200), quiet=True, looks=[3])

    def both(event: Event) -> None:
        loud.event(event)
        quiet.event(event)

    with loud, quiet, Journal(tmp_path, both) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, Turn, text="I read the code")
        loud.note("environment [base]")
        loud.line("epoch 1")
    lines = told.getvalue().splitlines()
    assert any("I read the code" in line for line in lines)
    assert any("environment [base]" in line for line in lines)
    assert "epoch 1" not in told.getvalue()
    assert "\x1b" not in told.getvalue()
    assert silent.getvalue() == ""


def test_on_a_terminal_the_view_follows_events_of_before_and_now(tmp_path: Path) -> None:
    out = io.StringIO()
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
    live = Live(Console(file=out, width=120, force_terminal=True), quiet=False, looks=[3])
    with Journal(tmp_path, live.event) as journal:
        live.catch_up(list(journal.events))
        with live:
            result = GateResult(gate="semantics", target="xla", verdict=Verdict.PASS, summary="fine")
            put(journal, GateFinished, claim="claim-1", result=result)
            live.line("epoch 7")
    assert "semantics" in out.getvalue()
    assert "epoch 7" in out.getvalue()


def test_an_answer_at_the_terminal_has_its_minutes_and_an_empty_one_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = Live(Console(file=io.StringIO(), force_terminal=True), quiet=False, looks=[3])
    monkeypatch.setattr("builtins.input", lambda prompt: " yes ")
    with live:
        answer = asyncio.run(live.ask("may [I]?"))
    assert answer and answer.text == "yes" and answer.minutes >= 0
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert asyncio.run(live.ask("again?")) is None
