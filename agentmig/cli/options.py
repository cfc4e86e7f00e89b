"""Options and arguments that several commands have, with what the settings say where they are not given."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from agentmig.cli.common import run_names
from agentmig.errors import AgentmigError
from agentmig.execution.isolation import Isolation, choose_isolation
from agentmig.settings import settings
from agentmig.spec import load_workload
from agentmig.spec.unfilled import unfilled
from agentmig.supervisor.inputs import Inputs, read_inputs


def _target_names(context: typer.Context, incomplete: str) -> Iterable[str]:
    """Shell completion: the targets of the workload file on the command line."""
    # While the option has no value yet, the argument before it is among the words that are left over.
    for word in (context.params.get("workload"), *context.args):
        try:
            names = load_workload(Path(word)).targets if word else {}
        except AgentmigError:
            continue
        if names:
            return [name for name in names if name.startswith(incomplete)]
    return []


WorkloadFile = Annotated[
    Path, typer.Argument(help="The workload file, or the folder that holds a workload.toml.")
]
RunName = Annotated[
    str,
    typer.Argument(
        help="A run's folder, its name (or the beginning of it), or `latest`.", autocompletion=run_names
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", help="Only this target; may be given more than once.", autocompletion=_target_names
    ),
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="Stopping policy; default policies/default.toml.")
]
PricesFile = Annotated[Path | None, typer.Option("--prices", help="Price book; default prices/default.toml.")]
NoIsolation = Annotated[bool, typer.Option("--no-isolation", help="Go on where bubblewrap doesn't work.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only how it ends.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead, for programs.")]


class UnfilledError(AgentmigError):
    """A drafted workload file still has places that only a person can fill in."""


def inputs(workload: Path, target: list[str] | None, policy: Path | None, prices: Path | None) -> Inputs:
    """The files that a command names, read and validated.

    Raises:
        AgentmigError: a mistake in one of them, or a draft that isn't finished.
    """
    read = read_inputs(workload, target, policy, prices)
    if keys := unfilled(read.workload):
        raise UnfilledError(
            f"{read.workload.file}: still to be filled in: {', '.join(keys)}; write the values, and remove the words FILL-IN"
        )
    return read


def isolation(no_isolation: bool) -> Isolation:
    """The isolation that works here.

    Raises:
        IsolationError: none does, and nobody agreed to go on without.
    """
    return choose_isolation(no_isolation or settings().isolation == "optional")


def quiet(given: bool) -> bool:
    """Whether only the end is printed."""
    return given or settings().quiet
