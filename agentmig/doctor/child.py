"""Programs that the doctor starts: with a time-out, their output kept, nothing of them left behind."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentmig.execution.processes import run_process

_LONGEST = 300


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        exit_code: None for a time-out; negative for a signal.
        output: both streams.
    """

    exit_code: int | None
    output: str
    wall_s: float

    @property
    def ok(self) -> bool:
        """It ended by itself with exit code 0."""
        return self.exit_code == 0

    @property
    def last_line(self) -> str:
        """The last line that says anything, shortened."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return shortened(lines[-1]) if lines else ""

    @property
    def how(self) -> str:
        """The end in words, with the last line of the output."""
        if self.exit_code is None:
            end = f"no answer within {self.wall_s:.0f} s"
        elif self.exit_code < 0 or 128 < self.exit_code < 160:  # a shell adds 128
            end = f"killed by signal {-self.exit_code if self.exit_code < 0 else self.exit_code - 128}"
        else:
            end = f"exit code {self.exit_code}"
        return f"{end}: {self.last_line}" if self.last_line else end


async def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    script: Path | None = None,
) -> Ended:
    """Run a program in an empty folder.

    Args:
        argv: the program and its arguments.
        timeout_s: after which it is killed with all that it started.
        env: the whole environment; default this process's, in plain English.
        script: a file to give it as standard input.

    Raises:
        OSError: it can't be started.
    """
    if script:
        argv = ["/bin/sh", "-c", 'exec "$@" < "$0"', str(script), *argv]
    variables = {**os.environ, "LC_ALL": "C"} if env is None else env
    with tempfile.TemporaryDirectory(prefix="agentmig-doctor-") as folder:
        log = Path(folder) / "log"
        inside = Path(folder) / "empty"
        inside.mkdir()
        done = await run_process(argv, cwd=inside, env=variables, log=log, timeout_s=timeout_s)
        return Ended(done.exit_code, log.read_text(encoding="utf-8", errors="replace"), done.wall_s)


def shortened(text: str) -> str:
    """Foreign text on one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
