from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from agentmig.agent.prompts import render
from agentmig.journal.events import GateResult, ReferenceMeasured, TargetRecord, Verdict
from agentmig.spec import load_workload

DIGITS = Path(__file__).resolve().parents[2] / "workloads/digits/workload.toml"


def record(name: str, emulated: bool) -> TargetRecord:
    return TargetRecord(
        name=name,
        backend="xla",
        accelerator="v5e",
        chips=4,
        emulated=emulated,
        description="EMULATED xla, 4 chips of v5e" if emulated else "xla on 4 chips of v5e",
        usd_per_hour=1.2,
        price_source="list",
    )


def task(emulated: bool = True, **more: Any) -> str:
    workload = load_workload(DIGITS)
    values: dict[str, Any] = {
        "workload": workload,
        "targets": [record(name, emulated) for name in workload.targets],
        "worktree": "/w",
        "base_commit": "0123456789abcdef",
        "reference": None,
        "budget": {"agent_usd": 5.0, "turns": None},
    }
    return render("task.md.j2", **values | more)


def test_the_task_names_targets_commands_rules_and_budget() -> None:
    workload = load_workload(DIGITS)
    text = task()
    for wanted in (
        *workload.targets,
        workload.train.command,
        workload.evaluate.command,
        *workload.protected,
        "run_on_target",
        "5.0 US dollars for your own tokens",
    ):
        assert wanted in text
    assert "None" not in text


def test_emulation_is_said_only_where_it_is_true() -> None:
    assert "There is no such hardware here" in task(emulated=True)
    assert "There is no such hardware here" not in task(emulated=False)


def test_the_reference_is_told_once_it_is_known() -> None:
    reference = ReferenceMeasured(
        time=datetime.now(UTC),
        key="k",
        cached=False,
        hardware="cpu",
        chips=1,
        metric="accuracy",
        values=[0.97, 0.961],
        seeds=[1, 2],
        wall_s=1,
        samples_per_s=None,
    )
    assert "reached accuracy 0.97, 0.961 over 2 seeds" in task(reference=reference)


def test_a_rejection_gives_the_cause_and_the_numbers() -> None:
    failed = GateResult(
        gate="semantics", target="xla", verdict=Verdict.FAIL, cause="clipping", summary="norm 2.1 against 1.0"
    )
    passed = GateResult(gate="runs", target="xla", verdict=Verdict.PASS, summary="exit code 0")
    text = render(
        "rejected.md.j2",
        claim="c1",
        commit="0123456789abcdef",
        results=[passed.model_dump(mode="json"), failed.model_dump(mode="json")],
        cause="clipping",
        advice="Clip after the reduction.",
        claims_left=1,
    )
    assert "**semantics** on `xla`: fail, cause: **clipping**.\nnorm 2.1 against 1.0" in text
    assert "- xla, runs: pass" in text
    assert "Clip after the reduction." in text
    assert "(1 more claim can be judged)" in text
    assert "exit code 0" not in text


def test_an_attempt_is_told_with_its_output() -> None:
    values: dict[str, Any] = {
        "target": record("xla", True),
        "chips": 1,
        "commit": "0123456789abcdef",
        "outcome": "loud",
        "cause": "device",
        "summary": "It raised RuntimeError.",
        "exit_code": 1,
        "timed_out": False,
        "wall_s": 3.21,
        "usd": 0.001,
        "gates": [],
        "output": "RuntimeError: <no CUDA>",
        "late": False,
    }
    text = render("attempt_result.md.j2", **values)
    assert "this run had 1 chip, commit `0123456789ab`" in text
    assert "Exit code 1, 3.2 s, 0.0010 US dollars." in text
    assert "Outcome: loud, cause: device. It raised RuntimeError." in text
    assert "RuntimeError: <no CUDA>" in text
    assert "is over" in render("attempt_result.md.j2", **values | {"late": True, "timed_out": True})


def test_the_other_messages() -> None:
    assert "trained on v5e?" in render("answer.md.j2", question="trained on v5e?", answer="no")
    assert "claim_success" in render("continue.md.j2", reason="")
    assert "worktree" in render("system.md.j2")


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="answer"):
        render("answer.md.j2", question="?")
