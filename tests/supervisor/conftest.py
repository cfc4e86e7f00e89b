"""A run without torch, for tests of what surrounds the runs: real git, real processes, no isolation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentmig.execution.environments import Built
from agentmig.execution.isolation import Isolation
from agentmig.execution.repository import Repository
from agentmig.execution.runner import LocalRunner
from agentmig.journal import Journal
from agentmig.journal.events import MigrationStarted
from agentmig.policy import load_policy
from agentmig.spec import load_prices
from agentmig.spec.workload import Workload
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.setup import Bench
from agentmig.supervisor.targets import target_record
from agentmig.verification.references import References
from agentmig.verification.verifier import Verifier
from tests.execution.projects import project
from tests.journal.builders import put


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A run of a project without torch: real git, real processes, no isolation."""
    folder = project(tmp_path / "project", {"train.py": "print('trained')\n", "evaluate.py": ""})
    workload = Workload.model_validate(
        {
            "schema_version": 1,
            "name": "tiny",
            "environments": {"base": {"kind": "python", "python": sys.executable}},
            "train": {"command": "python train.py {seed} {out}"},
            "evaluate": {"command": "python evaluate.py {checkpoint}"},
            "goal": {"metric": "m", "pattern": "(.*)", "direction": "maximize", "margin": 1},
            "reference": {"environment": "base"},
            "targets": {"cpu": {"backend": "cpu", "environment": "base", "accelerator": "cpu", "chips": 2}},
            "agent": {"tool_wait_s": 30},
            "budget": {"agent_usd": 1.0},
        }
    )
    run = tmp_path / "run"
    repository = Repository.create(str(folder), "HEAD", tmp_path, run)
    repository.add_worktree()
    built = {"base": Built("base", "k", Path(sys.executable), ours=False, cached=True, wall_s=0.0)}
    runner = LocalRunner(workload, repository, built, Isolation("none"), run / "attempts")
    references = References(runner, tmp_path / "cache", lambda note: None)
    targets = [target_record("cpu", workload.targets["cpu"], load_prices())]
    names = iter(f"attempt-{number}" for number in range(1, 9))
    with Journal(run) as journal:
        put(journal, MigrationStarted, targets=targets)
        verifier = Verifier(
            runner,
            references,
            journal.append,
            targets,
            lambda: next(names),
            Limits(journal, load_policy()).exceeded,
        )
        yield Bench(
            workload, run, journal, repository, runner, references, verifier, targets, lambda: next(names)
        )
