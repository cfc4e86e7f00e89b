"""Everything that must stand before an agent or a verification begins: repositories, environments, reference."""

import os
import platform
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Literal

from agentmig import __version__
from agentmig.errors import AgentmigError
from agentmig.execution.environments import Built, build, cache_root
from agentmig.execution.isolation import Isolation
from agentmig.execution.launch import require_hardware
from agentmig.execution.repository import Repository, remove
from agentmig.execution.runner import LocalRunner
from agentmig.journal import Journal, fold
from agentmig.journal.events import EnvironmentReady, MigrationStarted, ReferenceMeasured, TargetRecord
from agentmig.replay.script import Script
from agentmig.spec import Workload
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.targets import reference_record, target_record
from agentmig.verification.references import References
from agentmig.verification.verifier import Verifier


class SetupError(AgentmigError):
    """The run can't begin as it was asked for."""


@dataclass(frozen=True)
class Voice:
    """Who speaks for the model in this run."""

    words: str
    """`live`, `none` for a verification, or the transcript with its origin."""
    model: str
    play: Path | None = None
    """The session file that is played."""


def voice_of(inputs: Inputs, script: Script | None) -> Voice:
    """Who speaks for the model: a script, or the workload's model itself."""
    if script is None:
        return Voice("live", inputs.workload.agent.model)
    words = f"played from {script.description}; no model was asked"
    return Voice(words, script.manifest.model, script.file)


@dataclass
class Bench:
    """A run that is set up.

    Attributes:
        folder: the run's folder.
        next_attempt: gives the name of the next execution attempt.
        candidate: the commit to verify, in a verification without an agent.
    """

    workload: Workload
    folder: Path
    journal: Journal
    repository: Repository
    runner: LocalRunner
    references: References
    verifier: Verifier
    targets: list[TargetRecord]
    next_attempt: Callable[[], str]
    candidate: str | None = None

    def target(self, name: str) -> TargetRecord:
        """A target of the run by its name."""
        return next(target for target in self.targets if target.name == name)


def new_run_folder(runs: Path, workload: str) -> Path:
    """A fresh folder for a run: `<runs>/<time>-<workload>-<random>`; git is told to ignore it.

    Raises:
        SetupError: it can't be written.
    """
    folder = runs / f"{datetime.now():%Y%m%d-%H%M%S}-{workload}-{secrets.token_hex(2)}"
    try:
        folder.mkdir(parents=True)
        (runs / ".gitignore").write_text("*\n")
    except OSError as error:
        raise SetupError(
            f"{folder}: {error.strerror}; go to a folder that can be written, or name one as `runs` in agentmig.toml"
        ) from error
    return folder


async def set_up(
    inputs: Inputs,
    folder: Path,
    journal: Journal,
    isolation: Isolation,
    voice: Voice,
    mode: Literal["migrate", "verify"],
    *,
    candidate: str | None = None,
    may_continue: Callable[[], str | None],
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> Bench:
    """Make repositories and environments, and measure the reference; write each step down.

    Args:
        inputs: what a person gave.
        folder: the run's folder.
        journal: the run's journal, empty.
        isolation: for every run of the project's code.
        voice: who speaks for the model.
        mode: with an agent, or the verification of a candidate.
        candidate: revision of the project to verify.
        may_continue: None, or why nothing more may be spent.
        on_note: gets a line for people at each step.
        on_line: gets the output of whatever runs.

    Raises:
        AgentmigError: what can't be done, and what to do.
    """
    workload = inputs.workload
    for name, target in workload.targets.items():
        require_hardware(name, target)
    beside = workload.file.parent
    repository = Repository.create(workload.project.path, workload.project.base_commit, beside, folder)
    imported = (
        repository.import_candidate(workload.project.path, candidate, beside, folder) if candidate else None
    )
    inputs.keep(folder)
    journal.append(
        MigrationStarted,
        run_id=folder.name,
        mode=mode,
        workload=workload.name,
        workload_file=str(workload.file),
        base_commit=repository.source_commit,
        targets=[target_record(name, target, inputs.prices) for name, target in workload.targets.items()],
        reference_target=reference_record(workload.reference, inputs.prices),
        policy=inputs.policy.name,
        budget=workload.budget.model_dump(),
        isolation=isolation.mode,
        words=voice.words,
        model=voice.model,
        versions=_versions(),
        play=str(voice.play) if voice.play else None,
        candidate=imported,
    )
    return await equip(inputs, folder, journal, isolation, repository, may_continue, on_note, on_line)


async def equip(
    inputs: Inputs,
    folder: Path,
    journal: Journal,
    isolation: Isolation,
    repository: Repository,
    may_continue: Callable[[], str | None],
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> Bench:
    """Whatever a begun run needs to go on: worktree, environments, runner, reference, verifier.

    Args:
        inputs: what a person gave.
        folder: the run's folder.
        journal: the run's journal, begun.
        isolation: for every run of the project's code.
        repository: the run's repositories.
        may_continue: None, or why nothing more may be spent.
        on_note: gets a line for people at each step.
        on_line: gets the output of whatever runs.
    """
    state = fold(journal.events)
    assert state.started is not None
    workload = inputs.workload
    if state.started.mode == "migrate" and not state.sessions:
        for half_made in (repository.agent, repository.worktree):
            remove(half_made)
        repository.add_worktree()

    def ready(made: Built) -> None:
        journal.append(EnvironmentReady, name=made.name, key=made.key, cached=made.cached, wall_s=made.wall_s)

    built = await build_environments(workload, repository, folder, ready, on_note, on_line)
    # Folders of runs are used once, so each process that works on a run has a folder for its own.
    place = folder / ("attempts" if not state.resumed else f"attempts-{1 + len(state.resumed)}")
    runner = LocalRunner(workload, repository, built, isolation, place, on_line)
    references = References(runner, cache_root(), on_note)
    numbers = count(1 + len(state.attempts))

    def next_attempt() -> str:
        return f"attempt-{next(numbers)}"

    targets = state.started.targets
    verifier = Verifier(runner, references, journal.append, targets, next_attempt, may_continue)
    bench = Bench(
        workload,
        folder,
        journal,
        repository,
        runner,
        references,
        verifier,
        targets,
        next_attempt,
        state.started.candidate,
    )
    if state.reference is None:
        await _reference(bench)
    return bench


async def build_environments(
    workload: Workload,
    repository: Repository,
    folder: Path,
    on_ready: Callable[[Built], None],
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> dict[str, Built]:
    """Build or find the environments of the reference and of every target.

    Args:
        workload: names them.
        repository: holds the base commit, for requirements files.
        folder: scratch space.
        on_ready: gets each environment as soon as it can be used.
        on_note: gets a line for people at each step.
        on_line: gets the installers' output.

    Raises:
        EnvironmentBuildError: one can't be built.
    """
    needed = [workload.reference.environment, *(target.environment for target in workload.targets.values())]
    code = repository.checkout(repository.base, folder / "base")
    built: dict[str, Built] = {}
    for name in dict.fromkeys(needed):
        on_note(f"environment {name}: looking it up, or building it (several minutes the first time)")
        built[name] = await build(name, workload.environments[name], code, on_line)
        on_ready(built[name])
    remove(code)
    return built


async def _reference(bench: Bench) -> None:
    goal, cached = await bench.references.goal()
    bench.journal.append(
        ReferenceMeasured,
        key=bench.references.key,
        cached=cached,
        hardware=goal.hardware,
        chips=bench.workload.reference.chips,
        metric=bench.workload.goal.metric,
        values=goal.values,
        seeds=goal.seeds,
        wall_s=goal.wall_s,
        samples_per_s=goal.samples_per_s,
        detail={"steps": goal.steps, "run_s": goal.run_s, "runs_s": goal.runs_s},
    )


def _versions() -> dict[str, str]:
    return {
        "agentmig": __version__,
        "claude-agent-sdk": version("claude-agent-sdk"),
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}, {os.cpu_count()} cores",
    }
