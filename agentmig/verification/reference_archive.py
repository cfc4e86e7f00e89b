"""A reference as one file, so that it can be measured on the machine with the GPUs and used on the one with the TPUs.

An archive is a gzipped tar of plain files: `archive.json` first, with the key's parts and the hash of every file, then
the files, under the names that they have in the cache.
"""

import hashlib
import io
import platform
import re
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from agentmig.errors import AgentmigError
from agentmig.verification.reference_cache import GOAL, WATCH, Entry, calibration_name, record_name
from agentmig.verification.reference_key import Manifest

HEADER = "archive.json"


class ArchiveError(AgentmigError):
    """An archive can't be written, can't be read, or doesn't fit this workload."""


class File(BaseModel):
    """A file of an archive."""

    bytes: Annotated[int, Field(ge=0)]
    sha256: str


class Header(BaseModel):
    """The first file of an archive."""

    schema_version: Literal[1] = 1
    kind: Literal["agentmig reference"] = "agentmig reference"
    manifest: Manifest
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
    exported: datetime
    files: dict[str, File]


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
        parts: names of the parts in the archive.
        left_out: parts that alone would be of no use elsewhere, with why.
        bytes: size of the archive.
    """

    parts: list[str]
    left_out: list[str]
    bytes: int


def export_reference(entry: Entry, manifest: Manifest, file: Path) -> Exported:
    """Write a reference's complete parts into an archive.

    Args:
        entry: the results.
        manifest: what they are of.
        file: the archive, which must not exist yet.

    Raises:
        ArchiveError: there is no goal yet, the file exists or can't be written.
        BusyError: the results are just being made.
    """
    if file.exists():
        raise ArchiveError(f"{file} exists already; remove it, or name another file")
    with entry.locked_now():
        parts = entry.parts()
        if GOAL not in parts:
            raise ArchiveError(
                f"reference {entry.key}: there is no goal metric yet; `agentmig reference make` measures it"
            )
        lonely = without_partner(parts)
        kept = [part for part in parts if part not in lonely]
        places = [entry.goal_file, *_files(entry.folder / WATCH)]
        places += [each for part in kept if part != GOAL for each in _files(entry.folder / part)]
        names = {place.relative_to(entry.folder).as_posix(): place for place in places}
        header = Header(
            manifest=entry.manifest() or manifest,
            host=re.sub(r"[^A-Za-z0-9._-]", "-", platform.node())[:100] or "unnamed",
            exported=datetime.now(UTC),
            files={name: _fact(place) for name, place in names.items()},
        )
        partial = file.with_name(f"{file.name}.partial")
        try:
            _write(partial, header, names)
            partial.rename(file)
        except OSError as error:
            raise ArchiveError(f"{error.filename or file}: {error.strerror}") from error
        finally:
            partial.unlink(missing_ok=True)
    left_out = [f"{part}: its other half is not there ({lonely[part]})" for part in parts if part in lonely]
    return Exported(kept, left_out, file.stat().st_size)


def without_partner(parts: Sequence[str]) -> dict[str, str]:
    """Production records and calibrations without the other of the two: of no use elsewhere.

    A calibration that one machine makes against another's record would measure the difference of the machines.

    Args:
        parts: names of the parts that are there.

    Returns:
        The name of the missing part, for each.
    """
    partner = {}
    for part in parts:
        if found := re.fullmatch(r"record-(\d+)-production", part):
            partner[part] = calibration_name(int(found[1]))
        elif found := re.fullmatch(r"calibration-(\d+)", part):
            partner[part] = record_name(int(found[1]), "production")
    return {part: other for part, other in partner.items() if other not in parts}


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _fact(file: Path) -> File:
    with file.open("rb") as source:
        return File(bytes=file.stat().st_size, sha256=hashlib.file_digest(source, "sha256").hexdigest())


def _write(file: Path, header: Header, names: dict[str, Path]) -> None:
    with tarfile.open(file, "w:gz", format=tarfile.USTAR_FORMAT, compresslevel=3) as archive:
        text = header.model_dump_json(indent=1).encode()
        archive.addfile(_member(HEADER, len(text), header.exported.timestamp()), io.BytesIO(text))
        for name, place in names.items():
            with place.open("rb") as source:
                stat = place.stat()
                archive.addfile(_member(name, stat.st_size, stat.st_mtime), source)


def _member(name: str, size: int, time: float) -> tarfile.TarInfo:
    """A file's head without its owner, who is nobody else's business."""
    member = tarfile.TarInfo(name)
    member.size, member.mtime = size, int(time)
    return member
