"""What several commands share: finding a run, exit codes."""

from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.journal.store import FILE
from agentmig.settings import settings

EXIT_CODES = {"accepted": 0, "rejected": 1, "stopped": 1, "inconclusive": 3, "waiting": 3, "running": 3}
"""What a command ends with for a verdict; 2 is wrong usage or input (`docs/exit-codes.md`)."""


class NoRunError(AgentmigError):
    """The run that was named isn't there."""


def run_names(incomplete: str) -> list[str]:
    """Shell completion: names of runs, the newest first."""
    try:
        folders = [folder for folder in settings().runs.glob("*") if (folder / FILE).exists()]
    except AgentmigError:
        return []
    return [
        name
        for name in ["latest", *sorted((f.name for f in folders), reverse=True)]
        if name.startswith(incomplete)
    ]


def find_run(name: str) -> Path:
    """The folder of a run by path, by name, by the beginning of its name, or `latest`.

    Raises:
        NoRunError: there is none, or several begin so.
    """
    if (Path(name) / FILE).exists():
        return Path(name)
    home = settings().runs
    runs = sorted(folder for folder in home.glob("*") if (folder / FILE).exists())
    if name == "latest" and runs:
        return max(runs, key=lambda folder: (folder / FILE).stat().st_mtime_ns)
    matching = [folder for folder in runs if folder.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(folder.name for folder in runs[-5:]) or "none yet"
    found = "several runs begin with" if matching else "no run"
    raise NoRunError(f"{home}: {found} {name!r}; the newest runs: {known}")
