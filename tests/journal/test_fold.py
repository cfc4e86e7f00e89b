from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal import Journal, Outcome, Usage, Verdict, fold, read_journal
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    EventBase,
    GateFinished,
    GateResult,
    Intervention,
    MigrationStarted,
    QuestionAsked,
    Turn,
)
from tests.journal.builders import put


def _journal(run: Path) -> Journal:
    journal = Journal(run)
    put(journal, MigrationStarted)
    return journal


def test_a_response_that_arrives_twice_counts_once_in_its_last_form(tmp_path: Path) -> None:
    with _journal(tmp_path) as journal:
        put(journal, Turn, message_id="m1", usage=Usage(input=10, output=1), usd=0.1)
        put(journal, Turn, message_id="m1", usage=Usage(input=10, output=7), usd=0.2)
        put(journal, Turn, message_id="m2", usage=Usage(input=1, cache_read=5), usd=None)
        state = fold(journal.events)
    assert state.usage == Usage(input=11, output=7, cache_read=5)
    assert state.usage.total == 23
    assert state.agent_usd == 0.2
    assert len(state.turns) == 2


def test_failures_in_a_row_are_the_agents_and_not_the_infrastructures(tmp_path: Path) -> None:
    ends = [
        ("agent", Outcome.OK),
        ("agent", Outcome.LOUD),
        ("verifier", Outcome.OK),
        ("agent", Outcome.INFRA),
        ("agent", Outcome.SILENT),
    ]
    with _journal(tmp_path) as journal:
        for number, (by, outcome) in enumerate(ends):
            put(journal, AttemptStarted, attempt=f"a{number}", by=by)
            put(journal, AttemptFinished, attempt=f"a{number}", outcome=outcome)
        put(journal, AttemptStarted, attempt="running")
        assert fold(journal.events).failures_in_row == 2


def test_a_question_is_open_until_a_person_answers(tmp_path: Path) -> None:
    with _journal(tmp_path) as journal:
        put(journal, QuestionAsked, question="which data?", by="agent")
        asked = fold(journal.events)
        put(journal, Intervention, reason="decision", text="the small one", minutes=2.0, waited_s=60.0)
        answered = fold(journal.events)
    assert asked.question and asked.question.question == "which data?"
    assert answered.question is None
    assert answered.human_minutes == 2.0


def test_claims_carry_their_verification(tmp_path: Path) -> None:
    with _journal(tmp_path) as journal:
        put(journal, ClaimMade)
        put(journal, ClaimVerified, alpha_spent=0.0125)
        put(journal, ClaimMade, claim="claim-2")
        put(journal, ClaimVerified, claim="claim-2", verdict=Verdict.PASS, alpha_spent=0.0125)
        state = fold(journal.events)
    assert state.rejected_claims == 1
    assert state.alpha_spent == 0.025


_KINDS: list[type[EventBase]] = [Turn, ClaimMade, AttemptStarted, QuestionAsked]


@given(st.lists(st.sampled_from(_KINDS), max_size=12), st.integers(0, 12))
def test_the_state_is_that_of_the_events_alone(
    tmp_path: Path, kinds: list[type[EventBase]], cut: int
) -> None:
    (tmp_path / "journal.jsonl").unlink(missing_ok=True)
    with _journal(tmp_path) as journal:
        for kind in kinds:
            put(journal, kind, **({"question": "?", "by": "agent"} if kind is QuestionAsked else {}))
        live = fold(journal.events)
        prefix = fold(journal.events[: cut + 1])
    assert fold(read_journal(tmp_path)) == live
    assert len(prefix.claims) <= len(live.claims)
    assert prefix.usage.total <= live.usage.total


def test_a_gate_that_is_judged_again_keeps_its_place(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
        for gate, verdict in (
            ("runs", Verdict.INCONCLUSIVE),
            ("hardware", Verdict.PASS),
            ("runs", Verdict.PASS),
        ):
            result = GateResult(gate=gate, target="xla", verdict=verdict, summary="")
            put(journal, GateFinished, claim="claim-1", result=result)
        (claim,) = fold(journal.events).claims
    assert [(gate.gate, gate.verdict) for gate in claim.gates] == [
        ("runs", Verdict.PASS),
        ("hardware", Verdict.PASS),
    ]
