from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from hypothesis import given

from agentmig.journal import Event, GateResult, Verdict, fold
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    GateFinished,
    MigrationFinished,
    MigrationStarted,
)
from agentmig.journal.view import view
from agentmig.report import junit
from agentmig.verification.gates import GATES
from tests.journal.builders import TARGET, put
from tests.report.journals import Memory, journals


def read(events: list[Event]) -> Element:
    return ElementTree.fromstring(junit(view(fold(events))))


def checked(root: Element) -> None:
    """What every CI system relies on."""
    assert root.tag == "testsuites"
    for suite in root.findall("testsuite"):
        cases = suite.findall("testcase")
        assert suite.get("name") is not None and cases
        assert suite.get("tests") == str(len(cases))
        for outcome, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(sum(case.find(outcome) is not None for case in cases))
        for case in cases:
            assert case.get("name") is not None and case.get("classname") is not None
            assert len([child for child in case if child.tag in ("failure", "error", "skipped")]) <= 1
            assert float(case.get("time", "0")) >= 0
    for count in ("tests", "failures", "errors", "skipped"):
        assert root.get(count) == str(sum(int(suite.get(count, "")) for suite in root.findall("testsuite")))


@given(journals())
def test_every_state_is_valid_and_only_an_accepted_run_is_a_success(events: list[Event]) -> None:
    root = read(events)
    checked(root)
    state = fold(events)
    if state.finished is None or state.finished.verdict != "accepted":
        assert root.find(".//failure") is not None or root.find(".//error") is not None


def test_the_newest_claim_is_told_target_by_target(demo_events: list[Event]) -> None:
    root = read(demo_events)
    checked(root)
    assert [suite.get("name") for suite in root] == ["xla (EMULATED)", "torch-tpu (EMULATED)"]
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == (
        "14",
        "0",
        "0",
        "0",
    )
    suite = root[0]
    assert [case.get("name") for case in suite.findall("testcase")] == list(GATES)
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["verdict"] == "accepted"
    assert properties["emulated"] == "true"
    assert "no model was asked" in str(properties["words"])
    times = {case.get("name"): case.get("time") for case in suite.findall("testcase")}
    assert times == {
        "integrity": None,
        "semantics": "27.900",
        "numerics": "27.900",
        "runs": "47.200",
        "hardware": "47.200",
        "performance": "47.200",
        "goal": "229.100",
    }
    assert "largest_error.loss: 2.81815e-16" in str(suite.findtext("testcase[@name='semantics']/system-out"))


def test_verdicts_become_outcomes_with_cause_advice_and_numbers() -> None:
    journal = Memory()
    put(journal, MigrationStarted, workload="tiny")
    put(journal, ClaimMade)
    for gate, verdict, cause in (
        ("integrity", Verdict.PASS, None),
        ("semantics", Verdict.FAIL, "clip_before_reduction"),
        ("numerics", Verdict.INCONCLUSIVE, "nothing_to_compare"),
        ("runs", Verdict.NOT_REACHED, None),
    ):
        result = GateResult(
            gate=gate,
            target="xla",
            verdict=verdict,
            cause=cause,
            summary=f"of {gate} \x07",
            evidence={"norm": 0.171},
        )
        put(journal, GateFinished, claim="claim-1", result=result)
    put(journal, AttemptStarted, by="verifier", purpose="claim-1: semantics, try 2")
    put(journal, AttemptFinished, wall_s=12.5)
    root = read(journal.events)
    checked(root)
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failure = cases["semantics"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("clip_before_reduction", "of semantics \ufffd")
    assert "norm: 0.171" in str(failure.text) and "advice: " in str(failure.text)
    assert cases["semantics"].get("time") == "12.500"
    assert cases["semantics"].get("classname") == "agentmig.tiny.xla"
    assert cases["numerics"].find("error") is not None
    assert cases["runs"].find("skipped") is not None
    late = cases["goal"].find("error")
    assert (
        late is not None
        and late.get("message") == "the verification ended before this gate had a verdict: running"
    )


def test_a_run_that_stopped_before_any_gate_is_an_error() -> None:
    journal = Memory()
    put(journal, MigrationStarted)
    put(journal, MigrationFinished, verdict="stopped", reason="no commit 'x'")
    root = read(journal.events)
    checked(root)
    error = root.find("testsuite/testcase/error")
    assert error is not None and error.get("message") == "nothing was verified: stopped"
    assert "STOPPED (on EMULATED targets): no commit 'x'" in str(error.text)


def test_passed_gates_of_a_run_that_was_not_accepted_are_no_success() -> None:
    journal = Memory()
    put(journal, MigrationStarted, targets=[TARGET])
    put(journal, ClaimMade)
    for gate in GATES:
        put(
            journal,
            GateFinished,
            claim="claim-1",
            result=GateResult(gate=gate, target="xla", verdict=Verdict.PASS, summary=""),
        )
    put(journal, ClaimVerified, verdict=Verdict.PASS, cause=None)
    put(journal, MigrationFinished, verdict="stopped", reason="interrupted by a person")
    root = read(journal.events)
    checked(root)
    assert [(e.get("type"), e.get("message")) for e in root.iter("error")] == [
        ("stopped", "interrupted by a person")
    ]
