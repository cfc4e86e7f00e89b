"""What this machine has for a run: Python, git, cores, memory, disk, folders to write to, settings in force."""

import contextlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from agentmig.doctor.checks import Check
from agentmig.doctor.child import run
from agentmig.doctor.install import install
from agentmig.doctor.results import Finding, broken, missing, ok, warn
from agentmig.execution.processes import MARK
from agentmig.policy import load_policy
from agentmig.settings import Settings, configuration_files
from agentmig.spec import load_prices

ENVIRONMENT_GB = 7
"""What an environment with PyTorch takes; the two of `workloads/digits` take 7.0 and 7.3 (`du -sh`)."""
_PROCESS_GB = 1.0
"""What one process with torch_xla takes while it trains little, rounded up."""
_GIT = (2, 28)
"""The first git with `init --initial-branch`."""
_GIT_TIMEOUT_S = 10.0
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_OURS = (MARK, "AGENTMIG_PROBE")
"""How variables begin that agentmig sets for what it starts."""


def checks(settings: Settings | None, unbuilt: int, chips: int) -> list[Check]:
    """What every run needs of the machine.

    Args:
        settings: None where they have mistakes, which another check says.
        unbuilt: environments that a run would have to build; each takes disk.
        chips: the most processes that train at the same time here.
    """

    async def python() -> Finding:
        return judge_python()

    async def git() -> Finding:
        return await examine_git()

    async def strength() -> Finding:
        limit = _CGROUP.read_text().strip() if _CGROUP.exists() else ""
        total = psutil.virtual_memory().total
        memory = min(total, int(limit)) if limit.isdigit() else total
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        return judge_strength(cores, memory / 2**30, chips)

    named = {"Python": python, "git": git, "cores and memory": strength}
    found = [Check(name, "machine", look) for name, look in named.items()]
    return found + (_of_settings(settings, unbuilt) if settings else [])


def _of_settings(settings: Settings, unbuilt: int) -> list[Check]:
    async def disk() -> Finding:
        free = shutil.disk_usage(existing(settings.cache)).free
        return judge_disk(free / 1e9, settings.cache, unbuilt)

    async def cache() -> Finding:
        return judge_folder(settings.cache, "cache")

    async def runs() -> Finding:
        return judge_folder(settings.runs, "runs")

    async def books() -> Finding:
        policy, prices = load_policy(settings.policy), load_prices(settings.prices)
        return ok(f"policy {policy.name}; prices of {len(prices.models)} models")

    named = {"disk": disk, "cache folder": cache, "runs folder": runs, "policy and prices": books}
    return [Check(name, "machine", look) for name, look in named.items()]


def judge_python() -> Finding:
    """The Python that runs agentmig; environments of kind pip are made with its `venv`."""
    here = f"{sys.version.split()[0]} at {sys.executable}"
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        return missing(f"{here}, without ensurepip: it can't make environments", install([package]))
    return ok(here)


async def examine_git() -> Finding:
    """The git that makes worktrees and bundles."""
    if shutil.which("git") is None:
        return missing("not installed", install(["git"]))
    done = await run(["git", "--version"], timeout_s=_GIT_TIMEOUT_S)
    version = re.search(r"(\d+)\.(\d+)[\d.]*", done.output)
    if not done.ok or not version:
        return broken(f"{shutil.which('git')} --version: {done.how}", install(["git"]))
    if (int(version[1]), int(version[2])) < _GIT:
        return broken(f"{version[0]} is too old; {_GIT[0]}.{_GIT[1]} is needed", install(["git"]))
    return ok(f"{version[0]} at {shutil.which('git')}")


def judge_strength(cores: int, memory_gb: float, chips: int) -> Finding:
    """Whether the processes that train at the same time find room."""
    seen = f"{cores} cores, {memory_gb:.0f} GB"
    needed = chips * _PROCESS_GB
    if memory_gb < needed:
        return warn(f"{seen}; {chips} processes with torch_xla take about {needed:.0f} GB", "use fewer chips")
    return ok(seen)


def judge_disk(free_gb: float, folder: Path, unbuilt: int) -> Finding:
    """Free disk against the environments that are still to be built.

    Args:
        free_gb: in 10^9 bytes.
        folder: the cache.
        unbuilt: environments that a run would have to build.
    """
    seen = f"{free_gb:.0f} GB free at {folder}"
    needed = unbuilt * ENVIRONMENT_GB
    count = f"{unbuilt} environment{'s' if unbuilt != 1 else ''}"
    way = "free some, or export AGENTMIG_CACHE=/a/folder/on/another/disk"
    if free_gb < needed:
        return missing(f"{seen}; {count} to be built take about {needed} GB", way)
    if free_gb < ENVIRONMENT_GB:
        return warn(f"{seen}; an environment takes about {ENVIRONMENT_GB} GB", way)
    return ok(seen + (f"; {count} to be built take about {needed} GB" if unbuilt else ""))


def judge_folder(folder: Path, setting: str) -> Finding:
    """Whether a folder can be written, or made; nothing is left in it."""
    place = existing(folder)
    way = f"export AGENTMIG_{setting.upper()}=/a/folder/that/you/can/write"
    if not place.is_dir():
        return broken(f"{folder}: {place} is no folder", way)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
        next(place.iterdir(), None)
    except OSError as error:
        return broken(f"{folder}: {error.strerror} ({place})", way)
    return ok(f"{folder} can be written" if folder.exists() else f"{folder} will be made")


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that is there and can be seen."""
    for place in (path, *path.parents):
        with contextlib.suppress(PermissionError):
            if place.exists():
                return place
    return Path(path.anchor)


def judge_settings(names: Iterable[str], files: Iterable[Path]) -> Finding:
    """Where the settings come from, once they are known to be valid.

    Args:
        names: of environment variables.
        files: the configuration files that were read.
    """
    ours = [name for name in names if name.startswith("AGENTMIG_") and not name.startswith(_OURS)]
    known = {f"AGENTMIG_{field.upper()}" for field in Settings.model_fields}
    places = ", ".join([*map(str, files), *sorted(known & set(ours))]) or "defaults"
    if unknown := sorted(set(ours) - known):
        return warn(
            f"{places}; no setting is called {', '.join(unknown)}",
            f"unset {' '.join(unknown)}  (the settings are: {', '.join(sorted(known))})",
        )
    return ok(places)


def settings_in_force(environ: Mapping[str, str]) -> Finding:
    """The same, for this process."""
    return judge_settings(environ, configuration_files())
