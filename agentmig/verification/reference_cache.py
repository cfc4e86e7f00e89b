"""Where the reference's results lie: a folder for each key, with one part for each kind of result.

    references/<key>.lock               held while a part of the key is measured, imported, exported or removed
    references/<key>/manifest.json      the parts of the key, in words
    references/<key>/goal.json          the goal metric over all seeds; until then seeds/<seed>.json
    references/<key>/watch/             traces of the first goal training
    references/<key>/record-<processes>-<kind>/, again-<processes>-<kind>/, calibration-<processes>/

A part appears under its name when it is complete.
"""

import asyncio
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

from agentmig.errors import AgentmigError
from agentmig.spec.workload import Workload
from agentmig.verification.reference_key import (
    DocumentError,
    Manifest,
    read_document,
    write_document,
)

GOAL = "goal"
WATCH = "watch"
TRACES = re.compile(r"(record|again)-[1-9]\d{0,5}-(float64|plain|production)|calibration-[1-9]\d{0,5}")
"""Names of the parts that are folders with traces, but for `watch`, which belongs to the goal."""

_KEY = re.compile(r"[0-9a-f]{16}")
_LOOK_S = 0.5


class CacheError(AgentmigError):
    """The cache can't be written."""


class BusyError(AgentmigError):
    """Another process of agentmig works on these results."""


def record_name(processes: int, kind: str) -> str:
    """Name of the part that holds the first steps, for a number of processes."""
    return f"record-{processes}-{kind}"


def again_name(processes: int, kind: str) -> str:
    """Name of the part that holds the same steps once more."""
    return f"again-{processes}-{kind}"


def calibration_name(processes: int) -> str:
    """Name of the part that holds the perturbed first steps."""
    return f"calibration-{processes}"


def needed_parts(workload: Workload, goal_only: bool = False) -> list[str]:
    """What a verification on all targets of a workload needs of the reference, in the order in which it is made."""
    names = [GOAL]
    wanted = {workload.reference_processes(target.chips) for target in workload.targets.values()}
    for processes in sorted(wanted) if not goal_only else []:
        names += [
            record_name(processes, "float64"),
            record_name(processes, "production"),
            calibration_name(processes),
        ]
    return names


class Entry:
    """The results of one key; the folder need not exist.

    Args:
        root: the folder of all references.
        key: names the entry's folder.
    """

    def __init__(self, root: Path, key: str):
        self.root = root
        self.key = key
        self.folder = root / key

    def parts(self) -> list[str]:
        """Names of the complete parts."""
        goal = [GOAL] if self.goal_file.exists() else []
        return [*goal, *sorted(p.name for p in self.folder.glob("*-*") if TRACES.fullmatch(p.name))]

    @property
    def goal_file(self) -> Path:
        """The document of the goal."""
        return self.folder / f"{GOAL}.json"

    @property
    def seeds(self) -> Path:
        """Folder of the goal's single seeds, while not all are measured."""
        return self.folder / "seeds"

    def measured_seeds(self) -> int:
        """How many seeds are measured of a goal that isn't complete."""
        return len(list(self.seeds.glob("*.json")))

    def manifest(self) -> Manifest | None:
        """What the results are of; None where an earlier version of agentmig made them.

        Raises:
            DocumentError: damaged.
        """
        return read_document(Manifest, self.folder / "manifest.json")

    def describe(self, manifest: Manifest) -> None:
        """Make the folder, and write the manifest unless there is one."""
        file = self.folder / "manifest.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                write_document(file, manifest)
        except OSError as error:
            raise _unwritable(file, error) from error

    def size(self, part: str | None = None) -> int:
        """Bytes of a part, or of everything."""
        if part is None:
            return _size(self.folder)
        if part == GOAL:
            return _size(self.goal_file) + _size(self.folder / WATCH)
        return _size(self.folder / part)

    def newest(self) -> datetime:
        """When the newest part was made, or the folder where there is none."""
        places = [self.goal_file if part == GOAL else self.folder / part for part in self.parts()]
        times = [place.stat().st_mtime for place in places or [self.folder]]
        return datetime.fromtimestamp(max(times), UTC)

    @asynccontextmanager
    async def locked(self, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
        """Wait until nobody else works on these results.

        Args:
            on_wait: gets a line for people, once, where there is something to wait for.
        """
        lock, waiting = self._lock(), False
        while lock is None:
            if not waiting:
                waiting = True
                on_wait(f"reference: waiting for {self._holder()}, which works on the same results")
            await asyncio.sleep(_LOOK_S)
            lock = self._lock()
        with lock:
            yield

    @contextmanager
    def locked_now(self) -> Iterator[None]:
        """Keep others from working on these results.

        Raises:
            BusyError: somebody does.
        """
        lock = self._lock()
        if lock is None:
            raise BusyError(
                f"reference {self.key}: {self._holder()} works on it; try again when it has ended"
            )
        with lock:
            yield

    def remove(self) -> None:
        """Remove the results and their lock; call it in `locked_now`."""
        if self.folder.exists():
            set_aside(self.folder)
        self.sweep()
        self._lock_file.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what an import or a removal left, ended half-way or not; call it in `locked_now`."""
        for left in self.root.glob(f"{self.key}.*"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)

    @property
    def _lock_file(self) -> Path:
        return self.root / f"{self.key}.lock"

    def _holder(self) -> str:
        text = ""
        with suppress(OSError):
            text = self._lock_file.read_text()
        return f"another agentmig (process {text})" if text else "another agentmig"

    def _lock(self) -> TextIO | None:
        """The lock's open file; None where somebody else holds it."""
        while True:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                handle = self._lock_file.open("a+")
            except OSError as error:
                raise _unwritable(self._lock_file, error) from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                handle.close()
                return None
            if self._is_current(handle):
                handle.truncate(0)
                handle.write(str(os.getpid()))
                handle.flush()
                return handle
            handle.close()

    def _is_current(self, handle: TextIO) -> bool:
        """Whoever removes results removes their lock too: a lock on a file that is gone keeps nobody out."""
        try:
            return os.path.samestat(os.fstat(handle.fileno()), self._lock_file.stat())
        except FileNotFoundError:
            return False


def _unwritable(place: Path, error: OSError) -> CacheError:
    return CacheError(f"{place}: {error.strerror}; set AGENTMIG_CACHE to a folder that can be written")


def set_aside(folder: Path) -> Path:
    """Give a folder a name under which nobody looks for it; returns that."""
    aside = folder.with_name(f"{folder.name}.removed-{secrets.token_hex(4)}")
    folder.rename(aside)
    return aside


def entries(root: Path) -> list[Entry]:
    """All keys that there are results of, the newest first."""
    found = [Entry(root, p.name) for p in root.glob("*") if p.is_dir() and _KEY.fullmatch(p.name)]
    return sorted(found, key=lambda entry: entry.newest(), reverse=True)


@dataclass(frozen=True)
class Stored:
    """One entry of the cache, as far as expiry needs to know it."""

    key: str
    workload: str | None
    newest: datetime
    size: int


def stored(entry: Entry) -> Stored:
    """An entry's facts; one whose manifest can't be read belongs to no workload that is known."""
    try:
        manifest = entry.manifest()
    except DocumentError:
        manifest = None
    return Stored(entry.key, manifest.workload if manifest else None, entry.newest(), entry.size())


def expired(
    found: Iterable[Stored],
    *,
    keys: Sequence[str] | None = None,
    workload: str | None = None,
    older_than_days: float | None = None,
    now: datetime,
) -> list[Stored]:
    """Which entries are to be removed.

    Args:
        found: all there are.
        keys: these keys, where not None; an entry of `workload` counts as well.
        workload: entries of a workload of this name; with neither this nor `keys`, all of them.
        older_than_days: only those whose newest part is older.
        now: the time.
    """
    chosen = [
        each
        for each in found
        if (keys is None and workload is None)
        or each.key in (keys or ())
        or (workload is not None and each.workload == workload)
    ]
    if older_than_days is None:
        return chosen
    return [each for each in chosen if now - each.newest > timedelta(days=older_than_days)]


def _size(path: Path) -> int:
    """Bytes of a file or of a folder's files; what vanishes meanwhile counts nothing."""
    total = 0
    for file in path.rglob("*") if path.is_dir() else [path]:
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total
