"""From the folders of runs to the records of a study: what can't be read is named, and copies count once."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentmig.errors import AgentmigError
from agentmig.journal import fold, read_journal
from agentmig.journal.store import FILE
from agentmig.study.facts import Migration, facts


class UnreadableError(AgentmigError):
    """Journals can't be read; the message lists them all."""


@dataclass(frozen=True)
class Duplicate:
    """A folder that holds a copy of a run that is counted from another folder."""

    run: str
    folder: str
    counted: str


@dataclass(frozen=True)
class Reading:
    """What was found.

    Attributes:
        migrations: one for each run id, in the order of project and run.
        duplicates: folders that were not counted because another holds the same run.
        unreadable: what is wrong with each journal that can't be used; names file and line.
    """

    migrations: list[Migration]
    duplicates: list[Duplicate]
    unreadable: list[str]


def read(folders: Iterable[Path]) -> Reading:
    """Read the journals of run folders; of several with one run id the longest counts.

    Args:
        folders: of runs; one that is named twice is read once.
    """
    found: dict[str, list[tuple[int, str, Migration]]] = {}
    unreadable = []
    for folder in sorted({folder.resolve() for folder in folders}):
        try:
            events, migration = _migration(folder)
        except AgentmigError as error:
            unreadable.append(str(error))
        else:
            found.setdefault(migration.run, []).append((events, str(folder), migration))
    migrations, duplicates = [], []
    for run, copies in found.items():
        first, *rest = sorted(copies, key=lambda copy: (-copy[0], copy[1]))
        migrations.append(first[2])
        duplicates += [Duplicate(run, folder, first[1]) for _, folder, _ in rest]
    migrations.sort(key=lambda migration: (migration.project, migration.run))
    duplicates.sort(key=lambda duplicate: (duplicate.run, duplicate.folder))
    return Reading(migrations, duplicates, unreadable)


def _migration(folder: Path) -> tuple[int, Migration]:
    events = read_journal(folder)
    try:
        return len(events), facts(fold(events))
    except AgentmigError as error:
        raise UnreadableError(f"{folder / FILE}: {error}") from error
    except (LookupError, StopIteration) as error:  # a fold trusts that what ends has begun
        raise UnreadableError(
            f"{folder / FILE}: an event speaks of an attempt or a claim that never began ({error}); "
            "restore the file from a copy"
        ) from error
