"""Taking over a reference that another machine measured.

Import believes nothing that the archive says: it creates files only at places whose names it knows, reads no more than
was announced, refuses what was measured of something else, and puts the results in place by one rename at the end.
"""

import gzip
import hashlib
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from pydantic import ValidationError

from agentmig.verification.accelerators import is_declared
from agentmig.verification.reference_archive import HEADER, ArchiveError, Header, without_partner
from agentmig.verification.reference_cache import GOAL, TRACES, WATCH, Entry, set_aside
from agentmig.verification.reference_inspection import begun, part_of
from agentmig.verification.reference_key import (
    Difference,
    DocumentError,
    Manifest,
    Origin,
    differences,
    read_document,
    write_document,
)
from agentmig.verification.references import MADE, GoalReference, Made
from agentmig.verification.traces import read_world

MOST_BYTES = 64 * 2**30
"""An archive that unpacks to more is refused."""
_MOST_HEADER_BYTES = 16 * 2**20
_CHUNK = 2**20
_FILE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_PLACE = re.compile(rf"{GOAL}\.json|(?:{WATCH}|{TRACES.pattern})/{_FILE}")
# Shown to people and told to the model: nothing but words.
_HARDWARE = re.compile(r"[\w .,:;()/+-]{1,300}")


def import_reference(file: Path, entry: Entry, manifest: Manifest, seeds: int, force: bool) -> Manifest:
    """Take over the results of an archive as those of this machine's key.

    Args:
        file: the archive.
        entry: where they go.
        manifest: what results made here would be of.
        seeds: how many the goal must have.
        force: replace results that are there.

    Returns:
        The manifest as stored, which says where the results are from.

    Raises:
        ArchiveError: not an archive of ours, damaged, or of something else; nothing was changed.
        BusyError: results of this key are just being made.
    """
    with entry.locked_now():
        if (there := entry.parts()) and not force:
            raise ArchiveError(
                f"reference {entry.key}: there are results already ({', '.join(there)}); --force replaces them"
            )
        entry.sweep()
        staging = Path(tempfile.mkdtemp(prefix=f"{entry.key}.import-", dir=entry.root))
        try:
            with _read_errors(file), _opened(file) as archive:
                header = _header(file, archive)
                _must_agree(file, header.manifest, manifest)
                _unpack(file, archive, header, staging)
            try:
                _check(file, Entry(staging.parent, staging.name), seeds)
            except DocumentError as error:
                raise ArchiveError(f"{file}: damaged: {error}") from error
            stored = manifest.model_copy(update={"origin": _origin(header)})
            _mark(staging, header.host, manifest)
            write_document(staging / "manifest.json", stored)
            if entry.folder.exists():
                set_aside(entry.folder)
            staging.chmod(0o755)
            staging.rename(entry.folder)
        finally:
            entry.sweep()
    return stored


class _PlainFile(tarfile.TarInfo):
    """Heads of plain files alone: no link, device, folder, or extended head is even read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE:
            raise ArchiveError(f"the archive holds {member.name[:100]!r}, which is no plain file")
        return member


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    with (
        gzip.open(file, "rb") as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_PlainFile) as tar,
    ):
        yield tar


@contextmanager
def _read_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{file}: damaged, or no archive of a reference ({error})") from error
    except OSError as error:
        raise ArchiveError(f"{error.filename or file}: {error.strerror}") from error


def _header(file: Path, archive: tarfile.TarFile) -> Header:
    member = archive.next()
    if member is None or member.name != HEADER or member.size > _MOST_HEADER_BYTES:
        raise ArchiveError(f"{file}: it doesn't begin with {HEADER}: no archive of a reference")
    try:
        header = Header.model_validate_json(_data(archive, member).read())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ArchiveError(
            f"{file}: {HEADER} can't be used ({'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}); it may be "
            "from another version of agentmig: export it again with this one"
        ) from error
    for name in header.files:
        if not _PLACE.fullmatch(name):
            raise ArchiveError(f"{file}: it holds {name[:100]!r}, which no reference has")
    total = sum(each.bytes for each in header.files.values())
    if total > MOST_BYTES:
        raise ArchiveError(
            f"{file}: it unpacks to {total / 2**30:.1f} GiB; more than {MOST_BYTES / 2**30:g} GiB is no reference"
        )
    return header


def _must_agree(file: Path, there: Manifest, here: Manifest) -> None:
    differing = [each for each in differences(there.parts, here.parts) if not each.is_of_the_place]
    if differing:
        raise ArchiveError(_disagreement(file, there, differing))


def _disagreement(file: Path, there: Manifest, differing: list[Difference]) -> str:
    lines = [f"{file}: measured of something else (workload {there.workload} at {there.commit[:12]}):"]
    lines += [f"    {each}" for each in differing]
    if any(each.part == "probe" for each in differing):
        lines.append(
            f"  It was measured by agentmig {there.agentmig}; use the same version on both machines."
        )
    return "\n".join(lines)


def _unpack(file: Path, archive: tarfile.TarFile, header: Header, staging: Path) -> None:
    """Write the files of an archive, each at its known place, as large as it was said, with the hash that was said."""
    total = sum(each.bytes for each in header.files.values())
    if total > shutil.disk_usage(staging).free:
        raise ArchiveError(f"{staging.parent}: {total / 2**20:.0f} MB are needed, and there is less room")
    waiting = dict(header.files)
    while member := archive.next():
        wanted = waiting.pop(member.name, None)
        if wanted is None:
            raise ArchiveError(f"{file}: it holds {member.name[:100]!r} twice, or without saying so")
        if member.size != wanted.bytes:
            raise ArchiveError(f"{file}: damaged: {member.name} has not the size that {HEADER} says")
        place = staging / member.name
        place.parent.mkdir(exist_ok=True)
        digest = hashlib.sha256()
        with place.open("xb") as out:
            source = _data(archive, member)
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != wanted.sha256:
            raise ArchiveError(f"{file}: damaged: {member.name} has not the hash that {HEADER} says")
    if waiting:
        raise ArchiveError(f"{file}: damaged: {', '.join(sorted(waiting)[:3])} is missing")


def _data(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    source = archive.extractfile(member)
    assert source is not None  # for plain files there is always something to read
    return source


def _check(file: Path, entry: Entry, seeds: int) -> None:
    """Whether the results can be used as results that were made here."""
    goal = read_document(GoalReference, entry.goal_file)
    if goal is None or not (len(goal.values) == len(goal.seeds) == seeds):
        raise ArchiveError(f"{file}: it holds no goal metric over {seeds} seeds")
    parts = [part for part in entry.parts() if part != GOAL]
    hardware = [goal.hardware, *(part_of(entry.folder / part).hardware for part in parts)]
    if wrong := next((words for words in hardware if not _HARDWARE.fullmatch(words)), None):
        raise ArchiveError(f"{file}: {wrong[:100]!r} is no name of hardware")
    for part in [WATCH, *parts]:
        world = read_world(entry.folder / part)
        if world.missing or world.damage or not world.count:
            why = "; ".join(world.damage[:1]) or f"ranks missing: {world.missing}, steps: {world.count}"
            raise ArchiveError(f"{file}: {part} can't be used ({why})")
    for part, other in without_partner(parts).items():
        raise ArchiveError(f"{file}: it holds {part} without {other}; only the two together can be used")


def _origin(header: Header) -> Origin:
    parts = header.manifest.parts
    return Origin(
        host=header.host,
        machine=parts.machine,
        cores=parts.cores,
        environment=parts.environment,
        exported=header.exported,
        imported=datetime.now(UTC),
    )


def _mark(folder: Path, host: str, manifest: Manifest) -> None:
    """Say in every result where it was measured, so that it is shown wherever the result is."""
    entry = Entry(folder.parent, folder.name)
    goal = read_document(GoalReference, entry.goal_file)
    assert goal is not None
    if goal.imported_from is None:
        accelerator = manifest.parts.reference["accelerator"]
        as_declared = is_declared(accelerator, goal.hardware.rpartition(",")[0])
        told = {True: f", the declared {accelerator}", False: f", NOT the declared {accelerator}", None: ""}
        changes = {
            "measured": goal.measured or begun(read_world(folder / WATCH)),
            "imported_from": host,
            "hardware": f"imported from {host}: {goal.hardware}{told[as_declared]}",
            "as_declared": as_declared,
        }
        write_document(entry.goal_file, goal.model_copy(update=changes))
    for name in entry.parts():
        if name != GOAL:
            part = part_of(folder / name)
            fields = part.model_dump(include=set(Made.model_fields)) | {
                "imported_from": part.imported_from or host
            }
            write_document(folder / name / MADE, Made(**fields))
