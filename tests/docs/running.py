"""Runs the steps of a page as a reader would: one shell, in a folder of its own, with the project's programs on PATH."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentmig.settings import settings
from tests.docs.checking import check
from tests.docs.pages import REPOSITORY, Command, File, Page

TIMEOUT_S = 600.0
_SHELL = """\
cd "$(cat {state}/folder)" || exit 99
[ -e {state}/variables ] && . {state}/variables
{command}
code=$?
pwd > {state}/folder
export -p > {state}/variables
exit $code
"""


class StepFailed(AssertionError):  # noqa: N818  it names what happened
    """A command of a page did not do what the page says."""


class Reader:
    """Somebody who types what a page shows.

    Args:
        home: an empty folder; the reader's home. The clone of the project is `agentmig` in it, where they begin.
        variables: added to the environment.
    """

    def __init__(self, home: Path, variables: Mapping[str, str] | None = None):
        self._state = home / ".state"
        self._state.mkdir()
        clone = home / "agentmig"
        clone.symlink_to(REPOSITORY)
        (self._state / "folder").write_text(str(clone))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "AGENTMIG", "GIT"))}
        self._env = {
            **kept,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            # Environments of several GB and the reference's results are not made again for each reader.
            "AGENTMIG_CACHE": str(settings().cache),
            "COLUMNS": "200",
            **{
                f"GIT_{who}_{what}": "reader" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
            **(variables or {}),
        }

    @property
    def folder(self) -> Path:
        """Where they are."""
        return Path((self._state / "folder").read_text().strip())

    def follow(self, page: Page) -> None:
        """Take all steps of a page; a command that can't be run here, or that builds the project, is only checked.

        Raises:
            StepFailed: another exit code, or output that the page shows and the command didn't print.
            CheckError: there is no such command.
        """
        for step in page.steps:
            if isinstance(step, File):
                (self.folder / step.name).write_text(step.content, encoding="utf-8")
                continue
            check(step.text)
            if step.needs is None and step.text.split()[0] != "make":
                self.type(step, f"{page.path}:{step.line}")

    def type(self, command: Command, where: str = "") -> str:
        """Run one command; returns what it printed.

        Raises:
            StepFailed: as for `follow`.
        """
        done = subprocess.run(
            ["bash", "-c", _SHELL.format(state=self._state, command=command.text)],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        told = f"{where}: {command.text}\n"
        if done.returncode not in command.exit_codes:
            wanted = " or ".join(map(str, command.exit_codes))
            raise StepFailed(f"{told}ended with {done.returncode}, not {wanted}:\n{done.stdout[-4000:]}")
        if missing := first_missing(command.output, done.stdout):
            raise StepFailed(f"{told}did not print, in this order: {missing}\nbut:\n{done.stdout[-4000:]}")
        return done.stdout


def first_missing(expected: Sequence[str], output: str) -> str | None:
    """The first of the expected lines that isn't found in order; None if all are.

    Args:
        expected: lines, each found inside a line of the output, with `…` for anything.
        output: what a command printed.
    """
    lines = iter(output.splitlines())
    for wanted in expected:
        parts = [r"\s+".join(map(re.escape, part.split())) for part in wanted.split("…")]
        pattern = re.compile(r"\s*.*?\s*".join(parts))
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None
