"""The whole examination: first what the other checks build on, then all of them side by side."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentmig import __version__
from agentmig.doctor import agent, devices, isolation, machine, machines, project, trials, workload
from agentmig.doctor.checks import Check, Running, perform
from agentmig.doctor.interpreters import Interpreter, of_cache, of_workload
from agentmig.doctor.redact import redacted, secrets_of
from agentmig.doctor.results import TITLES, Finding, Report, Result, broken, ok
from agentmig.doctor.uses import Use, uses
from agentmig.settings import Settings, SettingsInvalid, settings
from agentmig.spec import SpecError, Workload, load_workload


@dataclass(frozen=True)
class Examined:
    """A report, and the settings that it was made with (None where they have mistakes)."""

    report: Report
    settings: Settings | None


@dataclass
class _Ground:
    """What the checks build on, as far as it could be read."""

    file: Path | None
    settings: Settings | None = None
    workload: Workload | None = None
    interpreters: list[Interpreter] = field(default_factory=list)

    async def read_settings(self) -> Finding:
        try:
            self.settings = settings()
        except SettingsInvalid as error:
            return broken(str(error), "correct the settings")
        return machine.settings_in_force(os.environ)

    async def read_workload(self) -> Finding | list[Result]:
        assert self.file is not None
        try:
            self.workload = load_workload(self.file)
        except SpecError as error:
            return workload.mistakes(error)
        return ok(f"{self.workload.file} is valid")

    async def look_around(self) -> list[Result]:
        if self.workload:
            return await self._of_workload(self.workload)
        if self.settings:
            self.interpreters = of_cache(self.settings.cache)
        return [found.finding.named(found.name, "backends") for found in self.interpreters]

    async def _of_workload(self, chosen: Workload) -> list[Result]:
        cache = self.settings.cache if self.settings else None
        near = cache if cache and cache.is_dir() and os.access(cache, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="agentmig-doctor-", dir=near) as scratch:
            if project.is_remote(chosen):
                opened = await project.knock(chosen)
            else:
                opened = await asyncio.to_thread(project.open_project, chosen, Path(scratch))
            if cache:
                self.interpreters = of_workload(chosen, opened.code, cache)
        found = {f"environment {each.name}": each.finding for each in self.interpreters}
        return [finding.named(name, "workload") for name, finding in {**opened.findings, **found}.items()]

    @property
    def asked(self) -> list[Use]:
        return uses(self.workload) if self.workload else []


async def examine(file: Path | None, on_running: Running = lambda names: None) -> Examined:
    """Look at everything that a run needs.

    Args:
        file: the workload file, or its folder; None for what every run needs.
        on_running: gets the names of the checks that run now, whenever they change.
    """
    ground = _Ground(file)
    first = [Check("settings", "machine", ground.read_settings)]
    if file:
        first.append(Check("file", "workload", ground.read_workload))
    results = await perform(first, on_running)
    if ground.workload:
        results += await perform([Check("project", "workload", ground.look_around)], on_running)
    elif not file:
        results += await perform([Check("environments", "backends", ground.look_around)], on_running)
    results += await perform(_checks(ground), on_running)
    names = ground.workload.secrets if ground.workload else []
    report = Report(
        agentmig=__version__,
        workload=str(file) if file else None,
        results=_in_order(redacted(results, secrets_of(os.environ, names))),
    )
    return Examined(report, ground.settings)


def _checks(ground: _Ground) -> list[Check]:
    here = [use for use in ground.asked if use.as_target.machine == "local"]
    hardware = {use.demand[1] for use in here}
    on_cpu = [use.as_target.chips for use in here if use.demand[1] == "CPU"]
    unbuilt = sum(interpreter.unbuilt for interpreter in ground.interpreters)
    found = [
        *agent.checks(),
        isolation.check(bool(ground.settings and ground.settings.isolation == "optional")),
        *machine.checks(ground.settings, unbuilt, max(on_cpu, default=0)),
        *devices.checks("GPU" in hardware, "TPU" in hardware),
    ]
    if ground.workload and ground.settings:
        found += trials.for_workload(ground.workload, ground.asked, ground.interpreters)
    if ground.workload:
        found += workload.checks(ground.workload, ground.asked, ground.settings)
        found += machines.checks(ground.workload, ground.asked)
    elif not ground.file:
        found += trials.for_anything(ground.interpreters)
    return found


def _in_order(results: Sequence[Result]) -> list[Result]:
    groups = list(TITLES)
    return sorted(results, key=lambda result: groups.index(result.group))
