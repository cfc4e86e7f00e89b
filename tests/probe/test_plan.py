import json
from pathlib import Path
from typing import Any

import pytest

from agentmig.probe import plan


def text(**changes: Any) -> str:
    return json.dumps({"schema": 1, "mode": "watch", "out": "/tmp/out", **changes})


def test_defaults() -> None:
    read = plan.parse(text(steps=None))
    assert (read.mode, read.out, read.steps, read.values, read.bridge) == (
        "watch",
        Path("/tmp/out"),
        None,
        True,
        False,
    )
    assert len(read.sha256) == 64


def test_a_match_names_its_reference() -> None:
    assert plan.parse(text(mode="match", reference="/tmp/ref")).reference == Path("/tmp/ref")
    with pytest.raises(plan.PlanError, match='needs "reference"'):
        plan.parse(text(mode="match"))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("{", "isn't JSON"),
        ("[]", '"schema": 1'),
        (text(schema=2), '"schema": 1'),
        (text(speed=3), "doesn't know: speed"),
        (text(mode="look"), "record, match or watch"),
        (text(precision="float16"), "float64 and production"),
    ],
)
def test_what_is_refused(given: str, complaint: str) -> None:
    with pytest.raises(plan.PlanError, match=complaint):
        plan.parse(given)


def test_the_plan_must_be_named_and_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AGENTMIG_PROBE_PLAN", raising=False)
    with pytest.raises(plan.PlanError, match="isn't set"):
        plan.read()
    monkeypatch.setenv("AGENTMIG_PROBE_PLAN", str(tmp_path / "none.json"))
    with pytest.raises(plan.PlanError, match="can't be read"):
        plan.read()
