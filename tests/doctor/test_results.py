import pytest

from agentmig.doctor.results import Finding, Report, broken, missing, not_needed, ok, softened, warn


def _report(*findings: Finding) -> Report:
    results = [finding.named(f"thing {number}", "machine") for number, finding in enumerate(findings)]
    return Report(agentmig="1", workload=None, results=results)


@pytest.mark.parametrize(
    ("finding", "ready"),
    [
        (ok("x"), True),
        (warn("x", "y"), True),
        (not_needed("x"), True),
        (missing("x"), False),
        (broken("x"), False),
    ],
)
def test_only_what_is_missing_or_broken_keeps_a_run_from_beginning(finding: Finding, ready: bool) -> None:
    assert _report(ok("fine"), finding).ready is ready


def test_steps_come_in_order_and_once() -> None:
    report = _report(missing("a", "second"), warn("b", "maybe"), broken("c", "first"), missing("d", "second"))
    assert report.todo == ["second", "first"]
    assert report.suggestions == ["maybe"]


def test_a_suggestion_that_is_needed_anyway_is_said_once() -> None:
    report = _report(warn("a", "step"), missing("b", "step"), warn("c"))
    assert (report.todo, report.suggestions) == (["step"], [])


def test_programs_read_whether_it_is_ready_and_what_to_do() -> None:
    document = _report(missing("a", "step")).model_dump()
    assert (document["schema_version"], document["ready"], document["todo"]) == (1, False, ["step"])
    assert document["results"][0] == {
        "name": "thing 0",
        "group": "machine",
        "state": "missing",
        "seen": "a",
        "fix": "step",
    }


def test_softened_lets_a_run_begin_and_changes_nothing_else() -> None:
    assert softened(missing("a", "step"), "nobody asks") == warn("a; nobody asks", "step")
    assert softened(ok("a"), "nobody asks") == ok("a")
