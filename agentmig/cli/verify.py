"""`agentmig verify`: a migration that somebody made by hand, put through the same gates; no agent, no key."""

from pathlib import Path
from typing import Annotated

import typer

from agentmig.cli import options
from agentmig.cli.live import Live
from agentmig.cli.recording import record
from agentmig.errors import AgentmigError
from agentmig.journal import Event, Journal, fold
from agentmig.journal.view import view
from agentmig.report.junit import junit
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import verify_candidate
from agentmig.supervisor.setup import Voice, set_up


class OutputError(AgentmigError):
    """A file that was asked for can't be written."""


def verify(
    workload: options.WorkloadFile,
    candidate: Annotated[
        str, typer.Option(help="Commit, branch or tag of the project that holds the migration.")
    ],
    target: options.Targets = None,
    prices: options.PricesFile = None,
    junit_file: Annotated[
        Path | None,
        typer.Option("--junit", help="Write the gates as JUnit XML too, for a CI that shows test results."),
    ] = None,
    no_isolation: options.NoIsolation = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Verify a commit of the project as a migration of its base commit."""
    inputs = options.inputs(workload, target, None, prices)
    isolation = options.isolation(no_isolation)
    if junit_file and not junit_file.parent.is_dir():
        raise OutputError(f"{junit_file}: there is no folder {junit_file.parent}; make it first")

    async def body(folder: Path, journal: Journal, live: Live) -> None:
        bench = await set_up(
            inputs,
            folder,
            journal,
            isolation,
            Voice("none: a candidate made by hand", "none"),
            "verify",
            candidate=candidate,
            may_continue=Limits(journal, inputs.policy).exceeded,
            on_note=live.note,
            on_line=live.line,
        )
        assert bench.candidate is not None
        await verify_candidate(bench, bench.candidate)

    def write_junit(events: list[Event], folder: Path) -> None:
        if junit_file:
            try:
                junit_file.write_text(junit(view(fold(events))), encoding="utf-8")
            except OSError as error:
                raise OutputError(
                    f"{junit_file}: {error.strerror}; the run itself is kept in {folder}"
                ) from error

    record(inputs.workload, as_json, options.quiet(quiet), body, write_junit)
