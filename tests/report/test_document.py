import json

import pytest
from hypothesis import given

from agentmig.journal import Event, GateResult, JournalError, Verdict
from agentmig.journal.events import (
    ClaimMade,
    ClaimVerified,
    GateFinished,
    MigrationFinished,
    MigrationStarted,
    QuestionAsked,
)
from agentmig.report import ReportView, build, report
from tests.journal.builders import TARGET, put
from tests.report.journals import Memory, journals

REAL = TARGET.model_copy(update={"name": "real", "emulated": False})


@given(journals())
def test_every_state_of_a_journal_has_a_report_that_is_strict_json(events: list[Event]) -> None:
    document = report([events]).model_dump_json()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(document, parse_constant=refuse)["headline"]


@given(journals(most=3))
def test_the_first_line_says_verdict_emulation_and_who_spoke(events: list[Event]) -> None:
    item = build(events)
    assert item.headline.startswith(item.run.verdict.upper())
    assert ("EMULATED" in item.headline.partition(": ")[0]) == item.run.emulated
    if item.run.words.startswith("played"):
        assert "AUTHORED" in item.headline
    if item.run.isolation == "none":
        assert "WITHOUT isolation" in item.headline
    assert "\n" not in item.headline


def test_an_empty_journal_is_said() -> None:
    with pytest.raises(JournalError, match="before it began"):
        report([[]])


def test_the_demo_is_told_with_its_fault(demo_report: ReportView) -> None:
    (item,) = demo_report.runs
    assert demo_report.headline.startswith(
        "ACCEPTED (on EMULATED targets, with AUTHORED words of the model): Every gate passed on xla, torch-tpu."
    )
    rejected, accepted = item.claims
    assert (rejected.verdict, rejected.cause) == ("fail", "clip_before_reduction")
    assert rejected.advice is not None and "Average first, then clip" in rejected.advice
    assert [target.verdict for target in rejected.targets] == ["fail", "not reached"]
    assert [target.verdict for target in accepted.targets] == ["pass", "pass"]
    assert accepted.targets[0].gates[0].gate == "integrity"
    assert all(target.semantics and target.numerics and target.goal for target in accepted.targets)
    assert dict(item.facts)["version of agentmig"] == "0.1.0"


def test_an_emulated_target_is_never_the_real_one() -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[TARGET, REAL])
    item = build(journal.events)
    assert item.headline.startswith("RUNNING (EMULATED: xla): no verdict yet")
    assert item.cautions[0].startswith("EMULATED: nothing of xla ran")
    put(journal, MigrationFinished, verdict="stopped", reason="enough\nof it")
    assert build(journal.events).headline == "STOPPED (EMULATED: xla): enough of it"


def test_where_a_run_stands_is_said_until_it_ends() -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[REAL])
    assert build(journal.events).headline.startswith("RUNNING: no verdict yet")
    put(journal, ClaimMade)
    put(
        journal,
        GateFinished,
        claim="claim-1",
        result=GateResult(gate="runs", target="real", verdict=Verdict.PASS, summary=""),
    )
    item = build(journal.events)
    assert item.headline.startswith("RUNNING: claim-1 not verified yet")
    assert item.claims[0].targets[0].verdict == "pending"
    put(journal, QuestionAsked, question="which data?", by="agent")
    assert build(journal.events).headline == "RUNNING: waiting for a person: which data?"


def test_a_target_that_nobody_got_to_is_not_called_undecided() -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[REAL, TARGET])
    put(journal, ClaimMade)
    for target, verdict in (("real", Verdict.FAIL), ("xla", Verdict.NOT_REACHED)):
        put(
            journal,
            GateFinished,
            claim="claim-1",
            result=GateResult(gate="runs", target=target, verdict=verdict, summary=""),
        )
    assert [target.verdict for target in build(journal.events).claims[0].targets] == ["fail", "pending"]
    put(journal, ClaimVerified)
    assert [target.verdict for target in build(journal.events).claims[0].targets] == ["fail", "not reached"]


def test_what_a_run_that_ended_left_open_has_no_verdict() -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[REAL, TARGET])
    put(journal, ClaimMade)
    result = GateResult(gate="runs", target="real", verdict=Verdict.PASS, summary="")
    put(journal, GateFinished, claim="claim-1", result=result)
    (claim,) = build(journal.events).claims
    assert [claim.verdict, *(target.verdict for target in claim.targets)] == ["pending"] * 3
    put(journal, MigrationFinished, verdict="stopped", reason="interrupted by a person")
    (claim,) = build(journal.events).claims
    assert [claim.verdict, *(target.verdict for target in claim.targets)] == ["no verdict"] * 3


def test_several_runs_are_summed_up(demo_events: list[Event]) -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[REAL])
    found = report([demo_events, journal.events])
    assert found.headline == (
        "2 runs: 1 accepted, 1 running (1 with EMULATED targets; 1 with words of the model that were PLAYED)"
    )
