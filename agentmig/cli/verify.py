"""`agentmig verify`: a migration that somebody made by hand, put through the same gates; no agent, no key."""

from pathlib import Path
from typing import Annotated

import typer

from agentmig.cli.live import Live
from agentmig.cli.recording import record
from agentmig.execution.isolation import choose_isolation
from agentmig.journal import Journal
from agentmig.policy import load_policy
from agentmig.spec import load_prices, load_workload
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import verify_candidate
from agentmig.supervisor.setup import Voice, set_up


def verify(
    workload: Annotated[
        Path, typer.Argument(help="The workload file, or the folder that holds a workload.toml.")
    ],
    candidate: Annotated[
        str, typer.Option(help="Commit, branch or tag of the project that holds the migration.")
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="Only this target; may be given more than once.")
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Price book; default prices/default.toml.")] = None,
    no_isolation: Annotated[
        bool, typer.Option("--no-isolation", help="Go on where bubblewrap doesn't work.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the final document instead of the story.")
    ] = False,
) -> None:
    """Verify a commit of the project as a migration of its base commit."""
    spec = load_workload(workload)
    book = load_prices(prices)
    isolation = choose_isolation(no_isolation)

    async def body(folder: Path, journal: Journal, live: Live) -> None:
        bench = await set_up(
            spec,
            folder,
            journal,
            isolation,
            book,
            Voice("none: a candidate made by hand", "none"),
            "none",
            "verify",
            candidate=candidate,
            only=target,
            may_continue=Limits(journal, load_policy()).exceeded,
            on_note=live.note,
            on_line=live.line,
        )
        assert bench.candidate is not None
        await verify_candidate(bench, bench.candidate)

    record(spec, as_json, body)
