"""The whole examination: first what the other checks build on, then all of them side by side."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentmig import __version__
from agentmig.doctor import agent, devices, isolation, machine, machines, project, trials, workload
from agentmig.doctor.checks import Check, Running, perform
from agentmig.doctor.interpreters import Interpreter, of_cache, of_workload
from agentmig.doctor.project import Project
from agentmig.doctor.redact import redacted, secrets_of
from agentmig.doctor.results import TITLES, Finding, Group, Report, Result, broken, ok, warn
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

    async def find_interpreters(self) -> Finding | list[Result]:
        if self.settings is None:
            return warn("not looked for: the settings say where they are")
        if self.workload:
            where = Project.of(self.workload)
            self.interpreters = await of_workload(self.workload, where, self.settings.cache)
        else:
            self.interpreters = of_cache(self.settings.cache)
        group: Group = "workload" if self.workload else "backends"
        return [
            found.finding.named(f"environment {found.name}" if self.workload else found.name, group)
            for found in self.interpreters
        ]

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
    if ground.workload or not file:
        group: Group = "workload" if ground.workload else "backends"
        results += await perform([Check("environments", group, ground.find_interpreters)], on_running)
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
    if ground.workload:
        found += trials.for_workload(ground.workload, ground.asked, ground.interpreters)
        found += project.checks(Project.of(ground.workload))
        found += workload.checks(ground.workload, ground.asked, ground.settings)
        found += machines.checks(ground.workload, ground.asked)
    elif not ground.file:
        found += trials.for_anything(ground.interpreters)
    return found


def _in_order(results: Sequence[Result]) -> list[Result]:
    groups = list(TITLES)
    return sorted(results, key=lambda result: groups.index(result.group))
