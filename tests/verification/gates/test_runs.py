from pathlib import Path
from typing import Any

import pytest

from agentmig.journal.events import GateResult, Verdict
from agentmig.verification.gates.runs import judge
from tests.verification.parallel import Program, train, with_changes

FINE: dict[str, Any] = {
    "exit_code": 0,
    "timed_out": False,
    "log_tail": "done\n",
    "expected_ranks": 4,
    "expected_steps": None,
    "checkpoint": None,
    "needs_checkpoint": False,
}


def judged(program: Program | None = None, **changes: Any) -> GateResult:
    return judge("xla", **{**FINE, "world": train(program or Program()), **changes})


def test_whole_run_passes(tmp_path: Path) -> None:
    checkpoint = tmp_path / "model.pt"
    checkpoint.write_bytes(b"weights")
    result = judged(expected_steps=8, checkpoint=checkpoint, needs_checkpoint=True)
    assert result.verdict is Verdict.PASS
    assert "8 optimizer steps on 4 ranks; the reference makes 8" in result.summary


def test_error_is_classified() -> None:
    log = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nModuleNotFoundError: No module named 'x'\n"
    result = judged(exit_code=1, log_tail=log)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "module_missing")
    assert "No module named 'x'" in result.summary


def test_time_out_fails() -> None:
    assert judged(exit_code=-9, timed_out=True).cause == "timed_out"


def test_infrastructure_is_no_verdict_on_the_code() -> None:
    result = judged(exit_code=1, log_tail="OSError: [Errno 28] No space left on device\n")
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, "disk_full")
    assert "no fault of the code" in result.summary


def test_rank_without_handshake_or_trace_fails() -> None:
    world = train(Program())
    del world.handshakes[1], world.ranks[3]
    result = judged(world=world)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "rank_missing")
    assert "2 of 4 processes" in result.summary and "rank 1, 3" in result.summary


def test_one_process_where_four_are_wanted_fails() -> None:
    assert judged(with_changes(world=1)).cause == "rank_missing"


@pytest.mark.parametrize(
    ("made", "cause"), [(100, None), (99, None), (98, "too_few_steps"), (0, "no_optimizer_step")]
)
def test_steps_are_counted_on_the_slowest_rank(made: int, cause: str | None) -> None:
    world = train(with_changes(steps=100))
    world.ranks[2].steps = world.ranks[2].steps[:made]
    assert judged(world=world, expected_steps=100).cause == cause


@pytest.mark.parametrize("content", [None, b""])
def test_checkpoint_must_hold_something(tmp_path: Path, content: bytes | None) -> None:
    checkpoint = tmp_path / "model.pt"
    if content is not None:
        checkpoint.write_bytes(content)
    world = train(Program())
    world.ranks[0].add({"kind": "checkpoint", "path": "elsewhere.pt", "time": 1.0})
    result = judged(world=world, checkpoint=checkpoint, needs_checkpoint=True)
    assert result.cause == "checkpoint_missing"
    assert "It saved elsewhere.pt" in result.summary
    assert judged(checkpoint=None, needs_checkpoint=True).cause == "checkpoint_missing"


def test_damage_fails_and_a_cut_off_line_does_not() -> None:
    world = train(Program())
    world.ranks[1].cut_off = True
    result = judged(world=world)
    assert result.verdict is Verdict.PASS and result.evidence["cut_off"] == [1]
    world.damage.append("trace-1.jsonl line 3: not JSON")
    assert judged(world=world).cause == "trace_damaged"
