"""A project that trains in a second, as somebody would have it: real git, real torch, one linear layer."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.execution.projects import project

TRAIN = """\
import argparse, os, torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
parser.add_argument("--out")
args = parser.parse_args()
torch.manual_seed(args.seed)
inputs = torch.randn(256, 4)
labels = (inputs[:, 0] > 0).long()
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, labels), batch_size=16)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    for x, y in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), os.path.join(args.out, "model.pt"))
"""

EVALUATE = """\
import sys, torch

torch.manual_seed(0)
inputs = torch.randn(1000, 4)
model = torch.nn.Linear(4, 2)
model.load_state_dict(torch.load(sys.argv[1]))
right = model(inputs).argmax(1) == (inputs[:, 0] > 0).long()
print("accuracy:", right.float().mean().item())
"""

WORKLOAD = """\
schema_version = 1
name = "tiny"
protected = ["evaluate.py"]

[environments.base]
kind = "python"
python = "{python}"

[train]
command = "python train.py --seed {{seed}} --out {{out}}"
timeout_s = 60

[evaluate]
command = "python evaluate.py {{checkpoint}}"
timeout_s = 60

[goal]
metric = "accuracy"
pattern = 'accuracy: ([0-9.]+)'
direction = "maximize"
margin = 0.2

[reference]
environment = "base"
seeds = 3

[targets.cpu]
backend = "cpu"
environment = "base"
accelerator = "cpu"

[acceptance.goal]
looks = [3]

[budget]
agent_usd = 5.0
"""


def tiny(
    folder: Path,
    python: Path,
    files: Mapping[str, str] | None = None,
    changes: Mapping[str, str] | None = None,
) -> Path:
    """Make the project, with a first commit.

    Args:
        folder: where; must not exist.
        python: an interpreter with torch (or any, for a test that never comes so far).
        files: more files, or others instead.
        changes: new values, as TOML, of keys in the workload file; the first key of that name is meant.
    """
    text = WORKLOAD.format(python=python)
    for old, new in (changes or {}).items():
        line = next(line for line in text.splitlines() if line.startswith(f"{old} = "))
        text = text.replace(line, f"{old} = {new}", 1)
    return project(
        folder, {"train.py": TRAIN, "evaluate.py": EVALUATE, "workload.toml": text, **(files or {})}
    )


def environment(**more: str) -> dict[str, str]:
    """The environment of a person without a key and without settings."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "AGENTMIG"))
    }
    return {**kept, **more}


def agentmig(
    cwd: Path, *arguments: str | Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, as a person without a terminal."""
    command = [sys.executable, "-m", "agentmig", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        env=dict(env or environment()),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
