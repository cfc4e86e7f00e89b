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
from agentmig.journal import Journal
from agentmig.journal.events import EnvironmentReady, MigrationStarted, ReferenceMeasured, TargetRecord
from agentmig.spec import PriceBook, Workload
from agentmig.spec.workload import Reference, Target
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


def new_run_folder(root: Path, workload: str) -> Path:
    """A fresh folder for a run: `<root>/.agentmig/runs/<time>-<workload>-<random>`; git is told to ignore it.

    Raises:
        SetupError: it can't be written.
    """
    home = root / ".agentmig"
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{workload}-{secrets.token_hex(2)}"
    folder = home / "runs" / name
    try:
        folder.mkdir(parents=True)
        (home / ".gitignore").write_text("*\n")
    except OSError as error:
        raise SetupError(
            f"{folder}: {error.strerror}; runs are kept in .agentmig of the current folder: go to a writable one"
        ) from error
    return folder


async def set_up(
    workload: Workload,
    folder: Path,
    journal: Journal,
    isolation: Isolation,
    prices: PriceBook,
    voice: Voice,
    policy: str,
    mode: Literal["migrate", "verify"],
    *,
    candidate: str | None = None,
    only: list[str] | None = None,
    may_continue: Callable[[], str | None],
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> Bench:
    """Make repositories and environments, and measure the reference; write each step down.

    Args:
        workload: what to migrate.
        folder: the run's folder.
        journal: the run's journal, empty.
        isolation: for every run of the project's code.
        prices: the price book.
        voice: who speaks for the model.
        policy: name of the stopping policy.
        mode: with an agent, or the verification of a candidate.
        candidate: revision of the project to verify.
        only: names of the targets to use; default all.
        may_continue: None, or why nothing more may be spent.
        on_note: gets a line for people at each step.
        on_line: gets the output of whatever runs.

    Raises:
        AgentmigError: what can't be done, and what to do.
    """
    beside = workload.file.parent
    workload = _restricted(workload, only)
    for name, target in workload.targets.items():
        require_hardware(name, target)
    repository = Repository.create(workload.project.path, workload.project.base_commit, beside, folder)
    targets = [target_record(name, target, prices) for name, target in workload.targets.items()]
    journal.append(
        MigrationStarted,
        run_id=folder.name,
        mode=mode,
        workload=workload.name,
        workload_file=str(workload.file),
        base_commit=repository.source_commit,
        targets=targets,
        reference_target=_reference_record(workload.reference, prices),
        policy=policy,
        budget=workload.budget.model_dump(),
        isolation=isolation.mode,
        words=voice.words,
        model=voice.model,
        versions=_versions(),
    )
    commit = (
        repository.import_candidate(workload.project.path, candidate, beside, folder) if candidate else None
    )
    if mode == "migrate":
        repository.add_worktree()
    built = await _environments(workload, repository, folder, journal, on_note, on_line)
    runner = LocalRunner(workload, repository, built, isolation, folder / "attempts", on_line)
    references = References(runner, cache_root(), on_note)
    numbers = count(1)

    def next_attempt() -> str:
        return f"attempt-{next(numbers)}"

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
        commit,
    )
    await _reference(bench)
    return bench


def target_record(name: str, target: Target, prices: PriceBook) -> TargetRecord:
    """A target as the journal keeps it, with what its hours cost."""
    # An emulated target runs on this machine's CPU, whatever accelerator and chips it stands in for.
    accelerator = "cpu" if target.emulated else target.accelerator
    price = prices.accelerators.get(accelerator)
    chips = 1 if target.emulated else target.chips
    return TargetRecord(
        name=name,
        backend=target.backend,
        accelerator=target.accelerator,
        chips=target.chips,
        emulated=target.emulated,
        description=target.description,
        usd_per_hour=price.usd_per_chip_hour * chips if price else None,
        price_source=f"{accelerator}: {price.source} ({price.date})"
        if price
        else f"the price book lacks {accelerator!r}",
    )


def _reference_record(reference: Reference, prices: PriceBook) -> TargetRecord:
    backend: Literal["cpu", "cuda"] = "cpu" if reference.accelerator == "cpu" else "cuda"
    as_target = Target(
        backend=backend,
        environment=reference.environment,
        accelerator=reference.accelerator,
        chips=reference.chips,
    )
    record = target_record("reference", as_target, prices)
    if backend == "cpu" and record.usd_per_hour is not None:  # processes of one machine, not machines
        record = record.model_copy(update={"usd_per_hour": record.usd_per_hour / reference.chips})
    return record


def _restricted(workload: Workload, only: list[str] | None) -> Workload:
    if not only:
        return workload
    if unknown := sorted(set(only) - set(workload.targets)):
        raise SetupError(f"{workload.file}: no target {unknown[0]!r}; it has {', '.join(workload.targets)}")
    return workload.model_copy(update={"targets": {name: workload.targets[name] for name in only}})


async def _environments(
    workload: Workload,
    repository: Repository,
    folder: Path,
    journal: Journal,
    on_note: Callable[[str], None],
    on_line: Callable[[str], None],
) -> dict[str, Built]:
    needed = [workload.reference.environment, *(target.environment for target in workload.targets.values())]
    code = repository.checkout(repository.base, folder / "base")
    built: dict[str, Built] = {}
    for name in dict.fromkeys(needed):
        on_note(f"environment {name}: looking it up, or building it (several minutes the first time)")
        built[name] = await build(name, workload.environments[name], code, on_line)
        journal.append(
            EnvironmentReady,
            name=name,
            key=built[name].key,
            cached=built[name].cached,
            wall_s=built[name].wall_s,
        )
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
