"""`agentmig`: the commands put together, and errors printed for people.

A command's module is imported when the command is used: together they bring in seconds of libraries.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from agentmig import __version__
from agentmig.errors import AgentmigError

_BEFORE, _DOING, _AFTER = "Before a run", "A run", "After a run"
COMMANDS = {
    "init": (_BEFORE, "Draft a workload file for a project, and say what only you can tell."),
    "doctor": (_BEFORE, "Look at everything that a run needs, and say how to get what is missing or broken."),
    "plan": (
        _BEFORE,
        "Show what a run would do, how long it would take and what it would cost; starts nothing.",
    ),
    "reference": (
        _BEFORE,
        "Measure the untouched code on its own hardware, once, and use the results in every run.",
    ),
    "run": (_DOING, "Migrate a workload with Claude Code, and verify every claim by independent runs."),
    "resume": (
        _DOING,
        "Go on with a run: in the same worktree, with the same session, from what its journal holds.",
    ),
    "verify": (_DOING, "Verify a commit of the project as a migration of its base commit."),
    "show": (_AFTER, "Show a run: verdict, reference, attempts, claims with their gates, decisions, cost."),
    "report": (_AFTER, "Write a run's report as one HTML file and as Markdown."),
    "study": (
        _AFTER,
        "Tables over many migrations: levels, attempts, causes, interventions, cost, speed.",
    ),
    "bench": (_AFTER, "Measure what the verifier is worth, with faults whose right answer is known."),
}
"""Panel of the help, and the first line of each command's own help."""
_LISTING = "agentmig.listing"


class _Commands(TyperGroup):
    """Imports the one command that is used; a list of all needs none of them.

    Contexts and commands are of typer's own copy of click, whose types have no public name.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        panel, summary = COMMANDS[cmd_name]
        if ctx.meta.get(_LISTING):
            return TyperCommand(cmd_name, help=summary, rich_help_panel=panel)
        return command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        ctx.meta[_LISTING] = True
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        ctx.meta[_LISTING] = True
        return super().shell_complete(ctx, incomplete)


def command(name: str) -> Any:
    """One command, or group of commands, by its name in `COMMANDS`."""
    module = import_module(f"agentmig.cli.{name}")
    if isinstance(group := getattr(module, "app", None), typer.Typer):
        made = typer.main.get_command(group)
    else:
        alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False, context_settings=_SETTINGS)
        alone.command(name)(getattr(module, name))
        made = typer.main.get_command(alone)
    made.name = name
    return made


_SETTINGS = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="agentmig",
    cls=_Commands,
    help="Move PyTorch training off NVIDIA GPUs with a coding agent, and know whether the result can be trusted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        typer.echo(f"agentmig {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; see `docs/exit-codes.md`."""
    try:
        app()
    except AgentmigError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"[bold red]agentmig:[/] {escape(str(error))}"
        )
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
