from pathlib import Path
from typing import Any

from agentmig.verification.records import Checkpoint
from agentmig.verification.saving import compared, findings
from agentmig.verification.traces import RankTrace, World


def world(**fields: Any) -> World:
    made = World(Path("none"))
    saved = Checkpoint.model_validate({"path": "/out/model.pt", "number": 0, "error": 1e-12, **fields})
    made.ranks[0] = RankTrace(0, checkpoints=[saved])
    return made


def test_what_agrees_is_no_finding() -> None:
    assert findings(world(), 1e-5) == []
    assert len(compared(world())) == 1


def test_what_was_not_compared_is_no_finding() -> None:
    assert findings(world(number=None, error=None), 1e-5) == []
    assert compared(world(number=None)) == []


def test_other_values_are_found() -> None:
    (finding,) = findings(world(error=0.02, worst="layer.weight"), 1e-5)
    assert finding.cause == "checkpoint_changed"
    assert "layer.weight differs by 0.02 of its norm" in finding.summary


def test_missing_tensors_and_other_shapes_are_found_first() -> None:
    assert "lacks" in findings(world(error=0.5, missing=["norm.running_mean"]), 1e-5)[0].summary
    assert "other shapes" in findings(world(error=0.5, shapes=["w"]), 1e-5)[0].summary


def test_what_is_no_number_is_found() -> None:
    (finding,) = findings(world(error="nan", worst="w"), 1e-5)
    assert finding.evidence["error"] == "inf"
