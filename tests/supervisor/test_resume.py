import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentmig.execution.isolation import Isolation
from agentmig.execution.processes import MARK
from agentmig.journal import Journal, fold
from agentmig.journal.events import (
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    MigrationFinished,
    MigrationStarted,
    Outcome,
    QuestionAsked,
    SessionEnded,
    SessionStarted,
    Verdict,
)
from agentmig.policy import load_policy
from agentmig.supervisor.decide import decide
from agentmig.supervisor.resume import ResumeError, end_leftovers, resumable, take_up
from tests.journal.builders import put

NONE = Isolation("none")


def _take_up(
    journal: Journal, folder: Path, answer: tuple[str, float] | None = None, **budget: float
) -> None:
    take_up(journal, folder, NONE, dict(budget), answer)


def test_what_the_earlier_supervisor_did_not_see_end_is_lost_and_nobodys_fault(tmp_path: Path) -> None:
    log = tmp_path / "attempts" / "attempt-1" / "log.txt"
    log.parent.mkdir(parents=True)
    log.write_text("step 1\n")
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, AttemptStarted)
    with Journal(tmp_path) as journal:
        _take_up(journal, tmp_path)
        state = fold(journal.events)
        action = decide(state, load_policy())
    (attempt,) = state.attempts.values()
    assert attempt.finished and attempt.finished.outcome is Outcome.INFRA
    assert (attempt.finished.cause, attempt.finished.log) == ("supervisor_gone", str(log))
    assert state.session_ends[-1].reason == "interrupted"
    assert state.failures_in_row == 0
    assert (action.kind, action.rule) == ("continue", "attempt ended")


def test_an_interrupted_session_goes_on_whatever_ended_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, SessionEnded, reason="error", detail="the session was cancelled")
        put(journal, MigrationFinished, verdict="stopped", reason="interrupted by a person")
        assert decide(fold(journal.events), load_policy()).kind == "stop"
        _take_up(journal, tmp_path)
        state = fold(journal.events)
        action = decide(state, load_policy())
    assert (action.kind, action.rule) == ("continue", "resumed")
    assert state.finished is None


def test_an_answer_reaches_the_question_it_was_given_to(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, QuestionAsked, question="which?", by="agent")
        put(journal, SessionEnded)
        put(journal, MigrationFinished, verdict="waiting", reason="which?")
        _take_up(journal, tmp_path, ("the left one", 3.0))
        state = fold(journal.events)
        action = decide(state, load_policy())
    assert state.question is None
    assert (state.interventions[0].reason, state.interventions[0].minutes) == ("decision", 3.0)
    assert (action.kind, action.rule) == ("continue", "answered")


def test_without_a_question_what_a_person_says_is_a_hint(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        _take_up(journal, tmp_path, ("try bfloat16", 1.0))
        assert fold(journal.events).interventions[0].reason == "hint"


def test_a_raised_bound_counts_from_here_on_and_the_others_stay(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted, budget={"agent_usd": 1.0, "turns": 10})
        _take_up(journal, tmp_path, agent_usd=5.0)
        started = fold(journal.events).started
    assert started and started.budget == {"agent_usd": 5.0, "turns": 10}


def test_a_claim_whose_verification_was_cut_short_is_verified_again(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, SessionStarted)
        put(journal, ClaimMade)
        put(journal, SessionEnded)
        _take_up(journal, tmp_path)
        assert decide(fold(journal.events), load_policy()).kind == "verify"


@pytest.mark.parametrize("verdict", ["accepted", "rejected", "inconclusive"])
def test_a_run_with_its_verdict_is_over(tmp_path: Path, verdict: str) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
        put(journal, ClaimVerified, verdict=Verdict.PASS)
        put(journal, MigrationFinished, verdict=verdict, reason="so")
        with pytest.raises(ResumeError, match=verdict):
            resumable(fold(journal.events), "run")


def test_a_run_that_never_began_is_begun_anew() -> None:
    with pytest.raises(ResumeError, match="start it anew"):
        resumable(fold([]), "run")


def test_what_agentmig_left_in_the_folder_is_ended_and_a_persons_own_shell_is_not(tmp_path: Path) -> None:
    inside, outside = tmp_path / "run" / "worktree", tmp_path / "run-2"
    inside.mkdir(parents=True)
    outside.mkdir()
    wait = [sys.executable, "-c", "import signal; signal.pause()"]
    ours = {**os.environ, MARK: "of an earlier supervisor"}
    left = subprocess.Popen(wait, cwd=inside, env=ours, start_new_session=True)
    other_run = subprocess.Popen(wait, cwd=outside, env=ours, start_new_session=True)
    person = subprocess.Popen(wait, cwd=inside, start_new_session=True)
    try:
        assert end_leftovers(tmp_path / "run") == 1
        assert left.poll() is not None
        assert other_run.poll() is None and person.poll() is None
    finally:
        for process in (left, other_run, person):
            process.kill()
            process.wait()
