"""`agentmig`: the commands put together, and errors printed for people."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agentmig import __version__
from agentmig.cli import doctor, init, plan, reference, report, resume, run, show, study, verify
from agentmig.errors import AgentmigError

app = typer.Typer(
    name="agentmig",
    help="Move PyTorch training off NVIDIA GPUs with a coding agent, and know whether the result can be trusted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_BEFORE, _DOING, _AFTER = "Before a run", "A run", "After a run"
app.command("init", rich_help_panel=_BEFORE)(init.init)
app.command("doctor", rich_help_panel=_BEFORE)(doctor.doctor)
app.command("plan", rich_help_panel=_BEFORE)(plan.plan)
app.add_typer(reference.app, name="reference", rich_help_panel=_BEFORE)
app.command("run", rich_help_panel=_DOING)(run.run)
app.command("resume", rich_help_panel=_DOING)(resume.resume)
app.command("verify", rich_help_panel=_DOING)(verify.verify)
app.command("show", rich_help_panel=_AFTER)(show.show)
app.command("report", rich_help_panel=_AFTER)(report.report)
app.command("study", rich_help_panel=_AFTER)(study.study)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        typer.echo(f"agentmig {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point; see `docs/exit-codes.md`."""
    try:
        app()
    except AgentmigError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"[bold red]agentmig:[/] {escape(str(error))}"
        )
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
