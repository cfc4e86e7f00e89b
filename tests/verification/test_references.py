import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

from agentmig.verification.reference_cache import Entry
from agentmig.verification.reference_key import DocumentError, read_document
from agentmig.verification.references import MADE, GoalReference, Made, ReferenceFailed, References
from agentmig.verification.traces import read_world
from tests.verification.untouched import Untouched

SEEDS = [1001, 1002, 1003]


class Case:
    """A project, the cache, and what people were told."""

    def __init__(self, folder: Path):
        self.project = Untouched(folder)
        self.cache = folder / "cache"
        self.notes: list[str] = []
        self._runs = 0

    def references(self) -> References:
        """As a process that begins now has them."""
        self._runs += 1
        return References(self.project.runner(f"run-{self._runs}"), self.cache, self.notes.append)

    def goal(self) -> tuple[GoalReference, bool]:
        """The goal, as such a process gets it."""
        return asyncio.run(self.references().goal())


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_the_goal_is_measured_once(case: Case) -> None:
    goal, cached = case.goal()
    assert (goal.seeds, goal.values, cached) == (SEEDS, [0.9, 0.901, 0.902], False)
    assert (goal.hardware, goal.as_declared, goal.imported_from) == ("CPU, 1 process", True, None)
    assert (goal.steps, goal.samples_per_s, len(goal.runs_s)) == (9, 4.0, 3)
    assert goal.wall_s > sum(goal.runs_s) > 0
    again, cached = case.goal()
    assert (again, cached) == (goal, True)
    assert case.project.trained == SEEDS
    assert [note for note in case.notes if "seed 1002" in note] == [
        "reference: training 2 of 3 (seed 1002)",
        next(note for note in case.notes if "accuracy 0.901" in note),
    ]


def test_an_interruption_costs_one_training(case: Case) -> None:
    case.project.broken.write_text("1003")
    with pytest.raises(ReferenceFailed, match="no memory left"):
        case.goal()
    entry = Entry(case.cache / "references", case.references().key)
    assert (entry.parts(), entry.measured_seeds()) == ([], 2)
    case.project.broken.unlink()
    goal, cached = case.goal()
    assert (goal.values, cached) == ([0.9, 0.901, 0.902], False)
    assert case.project.trained == [*SEEDS, 1003]
    assert not entry.seeds.exists()


def test_the_traces_of_the_first_seed_are_kept(case: Case) -> None:
    references = case.references()
    asyncio.run(references.goal())
    assert read_world(references.watch).count == 9


def test_records_and_calibrations_are_made_once_and_say_how(case: Case) -> None:
    references = case.references()
    folder = asyncio.run(references.calibration(2))
    assert asyncio.run(case.references().calibration(2)) == folder
    assert asyncio.run(references.record(2, "production")).name == "record-2-production"
    assert case.project.trained == [references.seed_of(folder)] * 2
    made = read_document(Made, folder / MADE)
    assert made is not None and made.wall_s is not None and made.measured is not None
    assert (made.hardware, made.imported_from) == ("CPU, 2 processes", None)
    plan = json.loads((folder / "plan.json").read_text())
    assert (plan["mode"], plan["teacher_forced"]) == ("match", True)
    assert plan["reference"].endswith("record-2-production")


def test_what_the_results_are_of_lies_beside_them(case: Case) -> None:
    references = case.references()
    asyncio.run(references.record(1, "float64"))
    manifest = Entry(case.cache / "references", references.key).manifest()
    assert manifest is not None
    assert (manifest.key, manifest.workload) == (references.key, "tiny")
    assert manifest.parts.train["command"] == "python train.py {seed} {out} {chips}"


def test_another_command_is_another_reference(case: Case) -> None:
    first = case.references().key
    case.project.change("{seed} {out}", "{seed}  {out}")
    assert case.references().key != first


def test_a_goal_of_an_earlier_version_still_serves(case: Case) -> None:
    old: dict[str, Any] = {
        "values": [0.95, 0.94, 0.97],
        "seeds": SEEDS,
        "wall_s": 22.8,
        "run_s": 4.6,
        "steps": 16,
        "samples_per_s": 11529.8,
        "hardware": "CPU, 1 processes",
    }
    references = case.references()
    references.folder.mkdir(parents=True)
    (references.folder / "goal.json").write_text(json.dumps(old))
    goal, cached = asyncio.run(references.goal())
    assert (goal.values, cached, goal.measured) == (old["values"], True, None)
    assert case.project.trained == []
    assert Entry(case.cache / "references", references.key).manifest() is not None


def test_a_metric_that_is_no_number_is_read_back_as_it_is() -> None:
    goal = GoalReference(
        values=[0.9, math.nan, math.inf],
        seeds=SEEDS,
        wall_s=1,
        run_s=1,
        steps=1,
        samples_per_s=None,
        hardware="CPU",
    )
    again = GoalReference.model_validate_json(goal.model_dump_json())
    assert math.isnan(again.values[1]) and again.values[2] == math.inf


def test_damage_is_said_with_the_file(case: Case) -> None:
    references = case.references()
    references.folder.mkdir(parents=True)
    (references.folder / "goal.json").write_text('{"values": [')
    with pytest.raises(DocumentError, match=r"goal\.json: damaged"):
        asyncio.run(references.goal())


def test_two_at_once_measure_it_once(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmig.verification.reference_cache._LOOK_S", 0.01)
    one, two = case.references(), case.references()

    async def both() -> list[tuple[GoalReference, bool]]:
        return list(await asyncio.gather(one.goal(), two.goal()))

    (first, _), (second, cached) = asyncio.run(both())
    assert (first, cached) == (second, True)
    assert case.project.trained == SEEDS
    assert sum("waiting for another agentmig" in note for note in case.notes) == 1


def test_a_training_that_the_probe_did_not_see_is_no_reference(case: Case) -> None:
    case.project.change("python train.py {seed} {out} {chips}", "touch {out}/model.pt # {seed}")
    with pytest.raises(ReferenceFailed, match="probe was not loaded in rank 0"):
        case.goal()
