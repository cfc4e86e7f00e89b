"""Python environments for training code: built once, kept outside the checkout under the hash of what they hold.

The reference's environment and a target's are different ones: torch_xla's mere presence changes how CUDA code behaves
on a machine without CUDA. Every environment that is built here holds the probe's start-up line.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.execution.processes import run_process
from agentmig.probe.loader import PTH_LINE, install
from agentmig.settings import settings
from agentmig.spec.workload import Environment

MARKER = "agentmig-environment.json"
"""A file that only a finished environment holds; it says of what it is made."""
_BUILD_TIMEOUT_S = 3600.0


class EnvironmentBuildError(AgentmigError):
    """An environment can't be built or used; the message names the log."""


@dataclass(frozen=True)
class Built:
    """An environment that can be used.

    Attributes:
        key: hash of what it holds.
        python: its interpreter.
        ours: whether agentmig built it, so that the probe is loaded by its start-up line.
        cached: whether it was there already.
    """

    name: str
    key: str
    python: Path
    ours: bool
    cached: bool
    wall_s: float

    @property
    def bin(self) -> Path:
        """Folder of its programs; goes first on PATH."""
        return self.python.parent

    @property
    def prefix(self) -> Path:
        """Its root folder."""
        return self.python.parent.parent


def cache_root() -> Path:
    """Where environments and reference results are kept: the setting `cache`."""
    return settings().cache


async def build(
    name: str,
    environment: Environment,
    project: Path,
    on_line: Callable[[str], None] | None = None,
    root: Path | None = None,
) -> Built:
    """Build an environment, or find it built.

    Args:
        name: its name in the workload file.
        environment: what it holds.
        project: a checkout of the base commit, for `requirements_file`.
        on_line: gets each line of the installer's output.
        root: the cache's folder (default `cache_root()`).

    Raises:
        EnvironmentBuildError: a program that it needs is missing, or the installation failed.
    """
    if environment.kind == "python":
        return _existing(name, environment, project)
    _not_a_container(name, environment)
    requirements = _requirements(name, environment, project)
    key = _key(environment, requirements)
    folder = (root or cache_root()) / "environments" / key
    begin = time.monotonic()
    with _lock(folder):
        cached = (folder / MARKER).exists()
        if not cached:
            await _install(name, environment, requirements, folder, project, on_line)
    return Built(name, key, folder / "bin" / "python", True, cached, time.monotonic() - begin)


def environment_key(name: str, environment: Environment, project: Path) -> str:
    """The key that `build` would give an environment, without building it.

    Args:
        name: its name in the workload file.
        environment: what it holds.
        project: a checkout of the base commit, for `requirements_file`.

    Raises:
        EnvironmentBuildError: it could not be built, as far as can be told before.
    """
    if environment.kind == "python":
        return _existing(name, environment, project).key
    _not_a_container(name, environment)
    return _key(environment, _requirements(name, environment, project))


def find(name: str, environment: Environment, project: Path, root: Path | None = None) -> Built | None:
    """The environment that `build` would find there, or None; arguments and errors are those of `build`."""
    if environment.kind == "python":
        return _existing(name, environment, project)
    key = environment_key(name, environment, project)
    folder = (root or cache_root()) / "environments" / key
    return (
        Built(name, key, folder / "bin" / "python", True, True, 0.0) if (folder / MARKER).exists() else None
    )


def _not_a_container(name: str, environment: Environment) -> None:
    if environment.kind == "container":
        raise EnvironmentBuildError(
            f"environments.{name}: container images need a container engine on the machine, which the local runner "
            "doesn't use; give the packages as kind = 'pip', 'uv' or 'conda', or an interpreter as kind = 'python'"
        )


def _existing(name: str, environment: Environment, project: Path) -> Built:
    python = Path(str(environment.python)).expanduser()
    if not python.is_absolute():
        python = project / python
    if not os.access(python, os.X_OK):
        raise EnvironmentBuildError(f"environments.{name}.python: {python} is no program that can be run")
    key = hashlib.sha256(
        f"python {python} {python.resolve()} {python.stat().st_mtime_ns}".encode()
    ).hexdigest()[:16]
    return Built(name, key, python, False, True, 0.0)


def _requirements(name: str, environment: Environment, project: Path) -> list[str]:
    lines = list(environment.requirements)
    if environment.requirements_file:
        file = project / environment.requirements_file
        try:
            lines += [line.strip() for line in file.read_text().splitlines()]
        except OSError as error:
            raise EnvironmentBuildError(
                f"environments.{name}.requirements_file: {environment.requirements_file}: {error.strerror} at the base commit"
            ) from error
    return [line for line in lines if line and not line.startswith("#")]


def _key(environment: Environment, requirements: list[str]) -> str:
    interpreter = environment.python or f"{sys.version_info.major}.{sys.version_info.minor} {sys.base_prefix}"
    parts = [
        environment.kind,
        interpreter,
        platform.machine(),
        platform.system(),
        PTH_LINE,
        environment.setup,
        requirements,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """One builder at a time; a second one waits and then finds it built."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        handle = folder.with_suffix(".lock").open("w")
    except OSError as error:
        raise EnvironmentBuildError(
            f"{folder.parent}: {error.strerror}; set AGENTMIG_CACHE to a writable folder"
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


async def _install(
    name: str,
    environment: Environment,
    requirements: list[str],
    folder: Path,
    project: Path,
    on_line: Callable[[str], None] | None,
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    log = folder.with_suffix(".log")
    python = str(folder / "bin" / "python")
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "VIRTUAL_ENV": str(folder)}
    env.pop("PYTHONPATH", None)
    commands = [
        *_commands(name, environment, requirements, folder, python),
        *([["bash", "-c", c] for c in environment.setup]),
    ]
    output: list[str] = []
    for command in commands:
        done = await run_process(
            command,
            cwd=project,
            env=env,
            log=log,
            timeout_s=_BUILD_TIMEOUT_S,
            on_line=lambda line: _both(line, output, on_line),
        )
        if done.exit_code != 0:
            tail = "\n".join(f"    {line}" for line in output[-8:])
            shutil.rmtree(folder, ignore_errors=True)
            raise EnvironmentBuildError(
                f"environments.{name}: `{' '.join(command)}` ended with {done.exit_code if not done.timed_out else 'a time-out'}:\n"
                f"{tail}\n  All of its output: {log}"
            )
    site = next((folder / "lib").glob("python3*/site-packages"))
    install(site)
    (folder / MARKER).write_text(
        json.dumps({"name": name, "requirements": requirements, "setup": environment.setup})
    )


def _both(line: str, output: list[str], on_line: Callable[[str], None] | None) -> None:
    output.append(line)
    if on_line:
        on_line(line)


def _commands(
    name: str, environment: Environment, requirements: list[str], folder: Path, python: str
) -> list[list[str]]:
    if environment.kind == "pip":
        interpreter = environment.python or sys.executable
        return [
            [interpreter, "-m", "venv", str(folder)],
            [python, "-m", "pip", "install", "--no-input", *requirements],
        ]
    program = shutil.which(environment.kind)
    if program is None:
        raise EnvironmentBuildError(
            f"environments.{name}: the program {environment.kind!r} is not on PATH; install it, or use kind = 'pip'"
        )
    if environment.kind == "uv":
        interpreter = environment.python or sys.executable
        return [
            [program, "venv", "--python", interpreter, str(folder)],
            [program, "pip", "install", "--python", python, *requirements],
        ]
    version = environment.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    return [[program, "create", "--yes", "--prefix", str(folder), f"python={version}", "pip", *requirements]]
