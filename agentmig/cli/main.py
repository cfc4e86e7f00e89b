"""`agentmig`: the commands put together, and errors printed for people."""

import sys

import typer
from rich.console import Console

from agentmig import __version__
from agentmig.cli import run, show, verify
from agentmig.errors import AgentmigError

app = typer.Typer(
    name="agentmig",
    help="Move PyTorch training off NVIDIA GPUs with a coding agent, and know whether the result can be trusted.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("verify")(verify.verify)
app.command("show")(show.show)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    if version:
        typer.echo(f"agentmig {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point; see `docs/exit-codes.md`."""
    try:
        app()
    except AgentmigError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"[bold red]agentmig:[/] {_escaped(str(error))}"
        )
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")


if __name__ == "__main__":
    main()
