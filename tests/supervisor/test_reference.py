import asyncio
import os
import signal
from pathlib import Path

import pytest

from agentmig.errors import AgentmigError
from agentmig.execution.environments import build
from agentmig.execution.isolation import Isolation
from agentmig.supervisor.reference import Forecast, forecast, make, site
from agentmig.verification.reference_archive import export_reference
from agentmig.verification.reference_import import import_reference
from agentmig.verification.reference_inspection import Inspection
from agentmig.verification.references import ReferenceFailed, References
from tests.execution.projects import git, write
from tests.verification.untouched import Untouched

SEEDS = [1001, 1002, 1003]


@pytest.fixture
def untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Untouched:
    """A project without torch, with a cache of its own."""
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path / "cache"))
    return Untouched(tmp_path)


def _make(untouched: Untouched, goal_only: bool = False) -> tuple[Inspection, list[str]]:
    notes: list[str] = []
    with site(untouched.workload) as here:
        asyncio.run(make(here, Isolation("none"), goal_only, notes.append, lambda line: None))
        return here.inspect(), notes


def _foreseen(untouched: Untouched, goal_only: bool = False) -> Forecast:
    with site(untouched.workload) as here:
        return forecast(here, goal_only)


def _scratch(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache" / "scratch").rglob("*") if path.is_file()]


def test_everything_that_a_verification_needs_is_measured_once(untouched: Untouched, tmp_path: Path) -> None:
    found, notes = _make(untouched)
    assert found.goal is not None and list(found.goal.values) == SEEDS
    assert found.missing == [] and len(found.parts) == 6
    trained = untouched.trained
    assert trained[:3] == SEEDS and len(trained) == 9
    assert len(set(trained[3:])) == 1  # all records, and what is matched to them, have one seed
    assert "reference: record 4 production" in notes
    again, _ = _make(untouched)
    assert untouched.trained == trained
    assert again == found
    assert _scratch(tmp_path) == []


def test_the_verifier_finds_what_was_made(untouched: Untouched) -> None:
    found, _ = _make(untouched, goal_only=True)
    runner = untouched.runner()
    name = untouched.workload.reference.environment
    environment = asyncio.run(build(name, untouched.workload.environments[name], untouched.folder))
    runner.built = {name: environment}
    references = References(runner, untouched.folder / "cache", lambda note: None)
    assert references.key == found.key
    assert asyncio.run(references.goal())[1] is True


def test_only_the_goal_where_that_is_asked(untouched: Untouched) -> None:
    found, _ = _make(untouched, goal_only=True)
    assert untouched.trained == SEEDS
    assert found.parts == []


def test_the_targets_environments_take_no_part(untouched: Untouched) -> None:
    untouched.change("[train]", '[environments.none]\nkind = "container"\nimage = "none"\n[train]')
    untouched.change(
        '[targets.four]\nbackend = "xla"\nenvironment = "base"',
        '[targets.four]\nbackend = "xla"\nenvironment = "none"',
    )
    assert _make(untouched, goal_only=True)[0].goal is not None


def test_what_it_takes_is_told_before(untouched: Untouched) -> None:
    before = _foreseen(untouched)
    assert (before.trainings, before.there, before.took, before.seconds) == (9, [], {}, None)
    assert _foreseen(untouched, goal_only=True).trainings == 3
    found, _ = _make(untouched)
    assert (_foreseen(untouched).missing, _foreseen(untouched).trainings) == ([], 0)
    untouched.change("{seed} {out}", "{seed}  {out}")
    changed = _foreseen(untouched)
    assert found.goal is not None
    assert (changed.trainings, set(changed.took)) == (9, set(changed.missing))
    assert changed.took["goal"] == pytest.approx(found.goal.wall_s / 3)
    assert changed.seconds is not None
    assert changed.seconds > found.goal.wall_s > 0


def test_an_interrupted_measurement_goes_on_where_it_was(untouched: Untouched) -> None:
    untouched.broken.write_text("1003")
    with pytest.raises(ReferenceFailed):
        _make(untouched)
    assert _foreseen(untouched).trainings == 7
    untouched.broken.unlink()
    _make(untouched, goal_only=True)
    assert untouched.trained == [*SEEDS, 1003]


def test_a_failure_leaves_the_logs_that_its_text_names_and_nothing_else(
    untouched: Untouched, tmp_path: Path
) -> None:
    untouched.broken.write_text("1001")
    with pytest.raises(ReferenceFailed) as caught:
        _make(untouched)
    (log,) = _scratch(tmp_path)
    assert str(log) in str(caught.value)
    assert "no memory left" in log.read_text()


def test_an_interruption_leaves_no_scratch(untouched: Untouched, tmp_path: Path) -> None:
    def interrupt(note: str) -> None:
        if "seed 1002)" in note:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), site(untouched.workload) as here:
        asyncio.run(make(here, Isolation("none"), False, interrupt, lambda line: None))
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []
    assert _foreseen(untouched, goal_only=True).trainings == 2


def test_another_commit_is_another_reference_and_says_so(untouched: Untouched) -> None:
    first, _ = _make(untouched, goal_only=True)
    write(untouched.folder / "project", {"README": "changed"})
    git(untouched.folder / "project", "add", "--all")
    git(untouched.folder / "project", "commit", "--quiet", "-m", "second")
    with site(untouched.workload) as here:
        found = here.inspect()
    assert found.goal is None
    assert [other.key for other in found.others] == [first.key]
    assert found.others[0].base_commit == first.base_commit != found.base_commit
    (difference,) = found.others[0].differences
    assert difference.startswith("the project at its base commit (tree)")


def test_a_reference_travels_between_machines(
    untouched: Untouched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, _ = _make(untouched)
    trained = untouched.trained
    file = tmp_path / "reference.tar.gz"
    with site(untouched.workload) as here:
        export_reference(here.entry, here.manifest, file)
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr("os.cpu_count", lambda: 999)
    with site(untouched.workload) as here:
        import_reference(file, here.entry, here.manifest, 3, force=False)
        found = here.inspect()
        # What is needed is there, so nothing is measured on this machine.
        asyncio.run(make(here, Isolation("none"), False, lambda note: None, lambda line: None))
    assert untouched.trained == trained
    assert found.goal is not None and there.goal is not None
    assert found.key != there.key and found.goal.values == there.goal.values
    assert found.origin is not None and found.origin.cores != 999
    assert found.goal.hardware.endswith("CPU, 1 process, the declared cpu")
    assert found.missing == []


def test_a_project_that_is_not_there_leaves_no_scratch(untouched: Untouched, tmp_path: Path) -> None:
    untouched.change('path = "project"', 'path = "nothing"')
    with pytest.raises(AgentmigError, match="no such folder"), site(untouched.workload):
        pass
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


def test_a_cache_that_can_not_be_written_is_said(untouched: Untouched, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(AgentmigError, match="AGENTMIG_CACHE"), site(untouched.workload):
        pass


TORCH_TRAIN = """
import json
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[1]))
inputs = torch.randn(64, 4)
data = TensorDataset(inputs, (inputs.sum(1) > 0).long())
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for x, y in DataLoader(data, batch_size=4, shuffle=True):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
with open(sys.argv[2] + "/model.pt", "w") as file:
    json.dump((model.weight[1] - model.weight[0]).tolist() + [(model.bias[1] - model.bias[0]).item()], file)
"""
# Without torch: it takes longer to import than all else here.
TORCH_EVALUATE = """
import json
import random
import sys

*weights, bias = json.load(open(sys.argv[1]))
random.seed(0)
points = [[random.gauss(0, 1) for _ in weights] for _ in range(500)]
scores = [sum(w * x for w, x in zip(weights, point)) + bias for point in points]
print("accuracy:", sum((score > 0) == (sum(point) > 0) for score, point in zip(scores, points)) / 500)
"""


@pytest.mark.torch
def test_a_torch_program_is_measured_under_the_probe(
    untouched: Untouched, tmp_path: Path, ref_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = untouched.folder / "project"
    write(folder, {"train.py": TORCH_TRAIN, "evaluate.py": TORCH_EVALUATE})
    git(folder, "commit", "--quiet", "--all", "-m", "with torch")
    python = untouched.workload.environments["base"].python
    untouched.change(f'python = "{python}"', f'python = "{ref_python}"')
    untouched.change("chips = 2", "chips = 1")
    untouched.change("[targets.four]", "[targets.one]")
    untouched.change("chips = 4", "chips = 1")
    found, _ = _make(untouched)
    assert found.goal is not None
    assert found.goal.mean > 0.8 and found.goal.steps == 16
    assert found.goal.hardware == "CPU, 1 process"
    assert [part.name for part in found.parts] == ["calibration-1", "record-1-float64", "record-1-production"]
    record = Path(found.folder) / "record-1-production"
    assert {"state-0.pt", "step-11-0.pt", "batches-0.pt", "made.json"} <= {p.name for p in record.iterdir()}
    file = tmp_path / "reference.tar.gz"
    with site(untouched.workload) as here:
        export_reference(here.entry, here.manifest, file)
    monkeypatch.setattr("os.cpu_count", lambda: 999)
    with site(untouched.workload) as here:
        import_reference(file, here.entry, here.manifest, 3, force=False)
        imported = here.inspect()
    assert imported.missing == [] and imported.key != found.key
    taken = Path(imported.folder) / "record-1-production" / "step-11-0.pt"
    assert taken.read_bytes() == (record / "step-11-0.pt").read_bytes()
