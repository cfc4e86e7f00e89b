from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agentmig.bench.scratch import Scratch
from agentmig.bench.verifying import scratch_workload, verified
from agentmig.journal import GateResult, Journal, Verdict
from agentmig.journal.events import (
    AttemptFinished,
    ClaimMade,
    ClaimVerified,
    GateFinished,
    MigrationStarted,
    ReferenceMeasured,
)
from agentmig.verification.references import Made
from tests.bench.builders import example
from tests.journal.builders import put
from tests.verification.parallel import train, with_changes, write


def gate(name: str, verdict: Verdict, cause: str | None = None) -> GateResult:
    return GateResult(gate=name, target="xla", verdict=verdict, cause=cause, summary=name)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "run") as made:
        begin(made)
        yield made


def begin(made: Journal) -> None:
    put(made, MigrationStarted, mode="verify")
    put(
        made,
        ReferenceMeasured,
        key="k",
        cached=True,
        hardware="cpu",
        chips=1,
        metric="accuracy",
        values=[0.9, 0.91, 0.92],
        seeds=[1, 2, 3],
        wall_s=60.0,
        samples_per_s=None,
        detail={"steps": 9, "run_s": 20.0},
    )
    put(made, ClaimMade)


def ended(
    journal: Journal, tmp_path: Path, *gates: GateResult, verdict: Verdict, cause: str | None = None
) -> None:
    for number, result in enumerate(gates, start=1):
        folder = tmp_path / f"attempt-{number}"
        write(train(with_changes(world=2, steps=number)), folder / "probe")
        put(journal, AttemptFinished, attempt=folder.name, wall_s=0.25, log=str(folder / "log.txt"))
        put(journal, GateFinished, claim="claim-1", result=result)
    put(journal, ClaimVerified, verdict=verdict, cause=cause, summary="so it is")


def test_a_rejection_names_the_first_gate_that_failed(journal: Journal, tmp_path: Path) -> None:
    results = [
        gate("integrity", Verdict.PASS),
        gate("semantics", Verdict.INCONCLUSIVE),
        gate("numerics", Verdict.FAIL, "schedule"),
        gate("goal", Verdict.NOT_REACHED),
    ]
    ended(journal, tmp_path, *results, verdict=Verdict.FAIL, cause="schedule")
    found = verified(journal.events, {}, 4)
    assert (found.verdict, found.gate, found.cause) == (Verdict.FAIL, "numerics", "schedule")
    assert (found.runs, found.runs_s, found.steps) == (4, 1.0, 1 + 2 + 3 + 4)
    assert found.wall_s >= 1.0
    assert (found.reference_run_s, found.reference_seeds, found.calibration_s) == (20.0, 3, 0.0)


def test_an_undecided_one_names_the_gate_that_could_not_judge(journal: Journal, tmp_path: Path) -> None:
    ended(journal, tmp_path, gate("goal", Verdict.INCONCLUSIVE), verdict=Verdict.INCONCLUSIVE)
    assert verified(journal.events, {}, 4).gate == "goal"


def test_an_accepted_one_names_none(journal: Journal, tmp_path: Path) -> None:
    ended(journal, tmp_path, gate("goal", Verdict.PASS), verdict=Verdict.PASS)
    assert verified(journal.events, {}, 4).gate is None


def test_the_calibration_is_what_the_reference_took_for_these_chips(journal: Journal, tmp_path: Path) -> None:
    ended(journal, tmp_path, verdict=Verdict.PASS)
    start, end = (event.time for event in journal.events if isinstance(event, ClaimMade | ClaimVerified))
    before = Made(measured=start - timedelta(hours=1), wall_s=5.0, hardware="cpu")
    parts = {
        "record-4-float64": before,
        "calibration-4": before,
        "record-1-float64": before,
        "watch": before,
        "record-4-old": Made(measured=None, wall_s=None, hardware="cpu"),
    }
    assert verified(journal.events, parts, 4).calibration_s == 15.0
    assert verified(journal.events, parts, 1).calibration_s == 10.0
    # What was measured meanwhile is no part of the verification's own time.
    late = next(event for event in journal.events if isinstance(event, ClaimVerified))
    events = [
        e if e is not late else late.model_copy(update={"time": start + timedelta(minutes=2)})
        for e in journal.events
    ]
    during = Made(measured=end, wall_s=90.0, hardware="cpu")
    assert verified(events, {"record-4-float64": during}, 4).wall_s == pytest.approx(30.0)
    assert verified(events, {"record-4-float64": before}, 4).wall_s == pytest.approx(120.0)


def test_the_scratch_repository_is_the_project(tmp_path: Path) -> None:
    found = example(tmp_path / "examples")["tiny"]
    scratch = Scratch(tmp_path / "scratch", found)
    project = scratch_workload(found, scratch).project
    assert (project.path, project.base_commit) == (str(scratch.folder), scratch.base)
