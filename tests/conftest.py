"""Fixtures that several rooms share: the interpreters of the example workload's environments."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from agentmig.execution.environments import build
from agentmig.spec import load_workload

# Timings on shared machines say nothing about the code, and CI must not find a new example on its own.
settings.register_profile(
    "agentmig", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("agentmig")

REPOSITORY = Path(__file__).resolve().parent.parent
DIGITS = REPOSITORY / "workloads" / "digits"


def _interpreter(name: str) -> Path:
    workload = load_workload(DIGITS)
    return asyncio.run(build(name, workload.environments[name], DIGITS)).python


@pytest.fixture(scope="session")
def ref_python() -> Path:
    """Python with torch and scikit-learn, without torch_xla, with the probe's start-up line."""
    return _interpreter("base")


@pytest.fixture(scope="session")
def xla_python() -> Path:
    """Python with torch_xla as well."""
    return _interpreter("xla")


MINIMAL = """
schema_version = 1
name = "tiny"
secrets = ["TOKEN"]
[environments.base]
kind = "pip"
requirements = ["torch==2.9.0"]
[train]
command = "python train.py --seed {seed} --out {out}"
[evaluate]
command = "python evaluate.py {checkpoint}"
[goal]
metric = "accuracy"
pattern = 'accuracy: ([0-9.]+)'
direction = "maximize"
margin = 0.01
[reference]
environment = "base"
[targets.xla]
backend = "xla"
environment = "base"
accelerator = "v5e"
emulated = true
"""


@pytest.fixture
def workload_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a workload file with the given text and returns its path."""

    def write(text: str = MINIMAL) -> Path:
        file = tmp_path / "workload.toml"
        file.write_text(text)
        return file

    return write


@pytest.fixture
def minimal() -> str:
    """The text of a small valid workload file."""
    return MINIMAL
