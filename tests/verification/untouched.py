"""A project without torch that leaves what the probe would leave, and its reference made by hand or by running it."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from agentmig.execution.environments import Built
from agentmig.execution.isolation import Isolation
from agentmig.execution.repository import Repository
from agentmig.execution.runner import LocalRunner
from agentmig.spec import load_workload
from agentmig.spec.workload import Workload
from agentmig.verification.reference_cache import Entry
from agentmig.verification.reference_key import KeyParts, Manifest, write_document
from agentmig.verification.references import MADE, GoalReference, Made
from tests.execution.projects import project
from tests.verification.parallel import train, with_changes, write

TRAIN = """
import json, os, sys, time
from pathlib import Path

seed, out, chips = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
with open({log!r}, "a") as log:
    log.write(f"{{seed}}\\n")
if Path({broken!r}).exists() and seed == int(Path({broken!r}).read_text()):
    sys.exit("no memory left")
plan = json.loads(Path(os.environ["AGENTMIG_PROBE_PLAN"]).read_text())
for rank in range(chips):
    probe = Path(plan["out"])
    shake = {{"schema": 1, "rank": rank, "world_size": chips, "pid": os.getpid(), "time": time.time()}}
    (probe / f"handshake-{{rank}}.json").write_text(json.dumps(shake))
    steps = [
        {{"kind": "step", "step": step, "loss": 1.0, "time": 2.0 * step, "samples": 8, "backwards": 1}}
        for step in range(plan["steps"] or 9)
    ]
    end = {{"kind": "end", "steps": len(steps), "hardware": {{"device": "cpu", "device_kind": "CPU"}}}}
    lines = "".join(json.dumps(line) + "\\n" for line in [*steps, end])
    (probe / f"trace-{{rank}}.jsonl").write_text(lines)
(out / "model.pt").write_text(str(0.9 + 0.001 * (seed % 7)))
"""
EVALUATE = "import pathlib, sys\nprint('accuracy:', pathlib.Path(sys.argv[1]).read_text())\n"
WORKLOAD = """
schema_version = 1
name = "tiny"
[project]
path = "project"
[environments.base]
kind = "python"
python = "{python}"
[train]
command = "python train.py {{seed}} {{out}} {{chips}}"
[evaluate]
command = "python evaluate.py {{checkpoint}}"
[goal]
metric = "accuracy"
pattern = 'accuracy: (\\S+)'
direction = "maximize"
margin = 0.02
[reference]
environment = "base"
seeds = 3
[targets.two]
backend = "xla"
environment = "base"
accelerator = "v5e"
chips = 2
emulated = true
[targets.four]
backend = "xla"
environment = "base"
accelerator = "v5e"
chips = 4
emulated = true
"""


class Untouched:
    """The project in a folder, its workload file, and what its training was asked for.

    Attributes:
        file: the workload file.
        broken: a file with the seed that fails, if it is there.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.file = folder / "workload.toml"
        self.broken = folder / "broken"
        self._log = folder / "seeds"
        text = TRAIN.format(log=str(self._log), broken=str(self.broken))
        project(folder / "project", {"train.py": text, "evaluate.py": EVALUATE})
        self.file.write_text(WORKLOAD.format(python=sys.executable))

    def change(self, old: str, new: str) -> None:
        """Change the workload file."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    @property
    def workload(self) -> Workload:
        """As the file says."""
        return load_workload(self.file)

    @property
    def trained(self) -> list[int]:
        """Seeds of all trainings so far, in their order."""
        return [int(line) for line in self._log.read_text().split()] if self._log.exists() else []

    def runner(self, name: str = "run") -> LocalRunner:
        """Runs it, in a fresh folder."""
        run = self.folder / name
        repository = Repository.create("project", "HEAD", self.folder, run)
        built = {"base": Built("base", "k", Path(sys.executable), ours=False, cached=True, wall_s=0.0)}
        return LocalRunner(self.workload, repository, built, Isolation("none"), run / "attempts")


def parts(**changes: object) -> KeyParts:
    """A key's parts."""
    fields: dict[str, object] = {
        "tree": "a" * 40,
        "environment": "e" * 16,
        "train": {"command": "python train.py", "env": {}},
        "evaluate": {"command": "python evaluate.py"},
        "goal": {"metric": "accuracy", "margin": 0.02},
        "reference": {"accelerator": "a100", "seeds": 3},
        "data": {"set": {"paths": {"local": "/here"}, "fingerprint": "sha256:1"}},
        "semantics_steps": 12,
        "epoch_batches": [2, 1],
        "stress": True,
        "numerics_steps": 12,
        "perturbation": 1e-6,
        "machine": "x86_64",
        "cores": 8,
        "probe": "b" * 64,
    }
    return KeyParts.model_validate(fields | changes)


def manifest(**changes: object) -> Manifest:
    """A manifest with such parts."""
    return Manifest(workload="tiny", commit="c" * 40, parts=parts(**changes))


def measured(root: Path, of: Manifest, kind: str = "NVIDIA A100-SXM4-40GB", chips: int = 2) -> Entry:
    """A complete reference, made by hand: goal, both records and a calibration."""
    entry = Entry(root, of.key)
    entry.describe(of)
    world = train(with_changes(world=chips, steps=3))
    goal = GoalReference(
        values=[0.9, 0.91, 0.92],
        seeds=[1, 2, 3],
        wall_s=36.0,
        run_s=10.0,
        runs_s=[9.0, 10.0, 11.0],
        steps=3,
        samples_per_s=100.0,
        hardware=f"{kind}, {chips} processes",
        measured=datetime(2026, 1, 2, tzinfo=UTC),
    )
    write_document(entry.goal_file, goal)
    write(world, entry.folder / "watch")
    made = Made(measured=goal.measured, wall_s=5.0, hardware=goal.hardware)
    for name in (f"record-{chips}-float64", f"record-{chips}-production", f"calibration-{chips}"):
        write(world, entry.folder / name)
        (entry.folder / name / "state-0.pt").write_bytes(bytes(range(256)) * 40)
        write_document(entry.folder / name / MADE, made)
    return entry
