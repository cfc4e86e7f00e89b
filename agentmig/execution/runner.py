"""The local runner: one commit, in a clean folder, runs one command of the project on a target.

It says what happened and judges nothing.
"""

import os
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.execution.environments import Built
from agentmig.execution.isolation import Isolation, interpreter_folders
from agentmig.execution.launch import PROBE, Plan, accelerators, environment, is_bridged, require_hardware
from agentmig.execution.processes import Finished, run_process
from agentmig.execution.repository import Repository, remove
from agentmig.spec.workload import Target, Workload

COMPILER_LOG = "xla-debug.txt"
"""Where torch_xla says, beside the traces of a matched run, what made it compile or execute."""


class RunnerError(AgentmigError):
    """A run can't be started as the workload describes it."""


@dataclass(frozen=True)
class Result:
    """What happened in a run.

    Attributes:
        out: the folder that the command wrote to (`{out}`).
        probe: the folder with the probe's handshakes and traces.
        log: both output streams.
        checkpoint: the file that training should leave; it may be missing.
        path: where programs were looked for, as in `PATH`.
    """

    command: str
    finished: Finished
    out: Path
    probe: Path
    log: Path
    checkpoint: Path
    path: str = ""

    @property
    def ok(self) -> bool:
        """It ended by itself with exit code 0."""
        return self.finished.exit_code == 0

    @property
    def ended(self) -> str:
        """How it ended, for people: what follows "the program"."""
        code = self.finished.exit_code
        if self.finished.timed_out or code is None:
            return f"did not end in time, and was ended with all of its processes after {self.finished.wall_s:.0f} s"
        number = -code if code < 0 else code - 128
        if number in set(signal.Signals):
            full = "; the machine's memory may be full" if number == signal.SIGKILL else ""
            return f"was ended by the signal {signal.Signals(number).name}{full}"
        why = {
            126: ": a program that it names can't be executed",
            127: f": a program that it names is not on PATH of the environment ({self.path})",
        }
        return f"ended with exit code {code}{why.get(code, '')}"

    def tail(self, size: int = 12000) -> str:
        """The last bytes of the log as text."""
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size))
            text = file.read(size).decode(errors="replace")
        return text.lstrip("\ufffd") if end > size else text  # without the rest of a cut character


class LocalRunner:
    """Runs commands of one workload on this machine.

    Args:
        workload: what to run.
        repository: where commits come from.
        built: environments by name.
        isolation: how runs are kept from the rest of the machine.
        folder: scratch space; each run gets a folder of its own there, which stays for people to look at.
        on_line: gets each output line of whatever runs.
    """

    def __init__(
        self,
        workload: Workload,
        repository: Repository,
        built: Mapping[str, Built],
        isolation: Isolation,
        folder: Path,
        on_line: Callable[[str], None] | None = None,
    ):
        self.workload = workload
        self.repository = repository
        self.built = built
        self.isolation = isolation
        self.folder = folder
        self.on_line = on_line

    async def train(
        self,
        label: str,
        commit: str,
        *,
        target: str | None,
        seed: int,
        plan: Plan,
        chips: int | None = None,
        command: str | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Train at a commit, under the probe, with the protected files of the base.

        Args:
            label: names the run's folder; must be new.
            commit: full id.
            target: its name; None for the reference.
            seed: for `{seed}`.
            plan: what the probe does.
            chips: default those of the target.
            command: instead of the workload's; may hold the same placeholders.
            timeout_s: default the workload's.
        """
        spec = self.workload.targets[target] if target else None
        if target and spec:
            require_hardware(target, spec)
        count = chips or (spec.chips if spec else self.workload.reference.chips)
        folder = self.folder / label
        out = folder / "out"
        values = {"seed": str(seed), "out": shlex.quote(str(out)), "chips": str(count), **self._data(spec)}
        template = command or self.workload.train_command(spec)
        line = _fill(template, values)
        step = self.workload.train
        return await self._run(
            folder,
            commit,
            line,
            built=self._environment(spec),
            target=spec,
            chips=count,
            plan=plan,
            timeout_s=timeout_s or step.timeout_s,
            env=step.env,
            secrets=step.secrets,
            checkpoint=Path(step.checkpoint.replace("{out}", str(out))),
            inputs=[plan.reference] if plan.reference else [],
        )

    async def evaluate(self, label: str, checkpoint: Path) -> Result:
        """Evaluate a checkpoint with the base commit's evaluation in the reference's environment."""
        folder = self.folder / label
        step = self.workload.evaluate
        values = {
            "checkpoint": shlex.quote(str(checkpoint)),
            "out": shlex.quote(str(folder / "out")),
            **self._data(None),
        }
        return await self._run(
            folder,
            self.repository.base,
            _fill(step.command, values),
            built=self._environment(None),
            target=None,
            chips=1,
            plan=None,
            timeout_s=step.timeout_s,
            env=step.env,
            secrets=step.secrets,
            checkpoint=checkpoint,
            inputs=[checkpoint.parent],
        )

    async def _run(
        self,
        folder: Path,
        commit: str,
        line: str,
        *,
        built: Built,
        target: Target | None,
        chips: int,
        plan: Plan | None,
        timeout_s: float,
        env: Mapping[str, str],
        secrets: list[str],
        checkpoint: Path,
        inputs: Sequence[Path],
    ) -> Result:
        out, probe, log = folder / "out", folder / "probe", folder / "log.txt"
        if folder.exists():
            raise RunnerError(f"{folder} exists already: a run's folder is used once")
        out.mkdir(parents=True)
        code = self.repository.checkout(commit, folder / "code", restore=self.workload.protected)
        written = plan.write(probe, is_bridged(target)) if plan else None
        variables = environment(self.workload, built, target, chips, written, secrets, env)
        if plan and plan.mode == "match" and target and target.backend == "xla":
            # torch_xla then says what made it compile or execute, at which line; too much for a whole training.
            variables |= {"PT_XLA_DEBUG_LEVEL": "2", "PT_XLA_DEBUG_FILE": str(probe / COMPILER_LOG)}
        readable = [*interpreter_folders(built.python), PROBE, *self._data_paths(), *inputs]
        argv = self.isolation.wrap(
            ["bash", "-c", line],
            cwd=code,
            env=variables,
            writable=[folder],
            readable=[path for path in readable if path.exists()],
            hidden=[self.folder.parent],
            devices=accelerators() if target is None or not target.emulated else [],
        )
        try:
            finished = await run_process(
                argv, cwd=code, env=variables, log=log, timeout_s=timeout_s, on_line=self.on_line
            )
        except OSError as error:
            raise RunnerError(
                f"`{line}` can't be run in {folder}: {error}; is bash installed, and is there room on the disk?"
            ) from error
        finally:
            remove(code)
        return Result(line, finished, out, probe, log, checkpoint, variables["PATH"])

    def _environment(self, target: Target | None) -> Built:
        return self.built[target.environment if target else self.workload.reference.environment]

    def _data(self, target: Target | None) -> dict[str, str]:
        machine = target.machine if target else self.workload.reference.machine
        missing = [name for name, data in self.workload.data.items() if machine not in data.paths]
        if missing:
            raise RunnerError(
                f"data.{missing[0]}.paths: nothing for machine {machine!r}, on which it is needed"
            )
        return {f"data.{name}": shlex.quote(data.paths[machine]) for name, data in self.workload.data.items()}

    def _data_paths(self) -> list[Path]:
        return [Path(path) for data in self.workload.data.values() for path in data.paths.values()]


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill placeholders; doubled braces stand for literal ones, as in `str.format`."""
    text = template.replace("{{", "\0").replace("}}", "\1")
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text.replace("\0", "{").replace("\1", "}")
