from pathlib import Path

import pytest

from agentmig.execution.processes import Finished
from agentmig.execution.runner import Result
from agentmig.journal.events import GateResult, Outcome, Verdict
from agentmig.verification.outcomes import attempt_fields, overall


def _gate(verdict: Verdict, name: str = "semantics") -> GateResult:
    cause = None if verdict is Verdict.PASS else "learning_rate"
    return GateResult(gate=name, target="xla", verdict=verdict, cause=cause, summary=f"{name} {verdict}")


def _run(tmp_path: Path, code: int, text: str = "") -> Result:
    log = tmp_path / "log.txt"
    log.write_text(text)
    return Result("c", Finished(code, False, 36.0, 5.0, 0), tmp_path, tmp_path, log, tmp_path / "m")


@pytest.mark.parametrize(
    ("gates", "outcome"),
    [
        ([Verdict.PASS, Verdict.PASS], Outcome.OK),
        ([Verdict.PASS, Verdict.FAIL], Outcome.SILENT),
        ([Verdict.INCONCLUSIVE], Outcome.UNVERIFIED),
        ([], Outcome.UNVERIFIED),
    ],
)
def test_a_run_without_error_is_what_its_gates_say(
    tmp_path: Path, gates: list[Verdict], outcome: Outcome
) -> None:
    fields = attempt_fields("a", _run(tmp_path, 0), [_gate(verdict) for verdict in gates], 100.0)
    assert fields["outcome"] is outcome
    assert fields["cause"] == ("learning_rate" if outcome is Outcome.SILENT else None)
    assert fields["usd"] == 1.0


def test_an_error_is_loud_and_the_machines_is_infra(tmp_path: Path) -> None:
    loud = attempt_fields(
        "a", _run(tmp_path, 1, "Traceback (most recent call last):\nValueError: no\n"), [], None
    )
    assert (loud["outcome"], loud["usd"]) == (Outcome.LOUD, None)
    infra = attempt_fields("a", _run(tmp_path, 1, "OSError: [Errno 28] No space left on device\n"), [], None)
    assert infra["outcome"] is Outcome.INFRA


def test_the_worst_gate_decides_and_what_was_not_reached_is_no_pass_of_its_own() -> None:
    every = [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.NOT_REACHED, Verdict.FAIL]
    assert overall([_gate(verdict) for verdict in every]) == (Verdict.FAIL, _gate(Verdict.FAIL))
    assert overall([_gate(Verdict.PASS), _gate(Verdict.INCONCLUSIVE)])[0] is Verdict.INCONCLUSIVE
    assert overall([_gate(Verdict.PASS)]) == (Verdict.PASS, None)
    assert overall([_gate(Verdict.PASS), _gate(Verdict.NOT_REACHED)])[0] is Verdict.INCONCLUSIVE
    assert overall([])[0] is Verdict.INCONCLUSIVE
