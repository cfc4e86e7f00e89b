"""What was observed of each arm, kept line by line as soon as it is known, so that an interrupted campaign goes on."""

import os
from pathlib import Path

from pydantic import ValidationError

from agentmig.bench.oracle import Outcome
from agentmig.bench.plain import Part
from agentmig.bench.verifying import Verified
from agentmig.errors import AgentmigError

FILE = "rows.jsonl"


class RowsError(AgentmigError):
    """Rows can't be read or written."""


class Observation(Part):
    """What was observed of one arm; what it is judged by is not in here, so that it can change."""

    key: str
    """Hash of all that it depends on."""
    arm: str
    outcome: Outcome | None
    """What the oracle says; None for what is to be accepted."""
    reason: str
    distance: float | None
    """Of the checkpoint from the correct migration's, relative to its norm."""
    metric: float | None
    """Of the plain training, by the base's evaluation."""
    baselines: dict[str, bool | None]
    """Whether simpler checks accept it; None where one has nothing to look at."""
    verified: Verified | None
    """None for a mutant that is equivalent."""
    run: str | None
    """Name of the verification's folder."""


def read(folder: Path) -> dict[str, Observation]:
    """All observations by key; a last line that was cut off is none.

    Raises:
        RowsError: the file can't be read.
    """
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{file}: {error}; remove it to run all arms again") from error
    found: dict[str, Observation] = {}
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if not line.endswith("\n"):
            break
        try:
            row = Observation.model_validate_json(line)
        except ValidationError as error:
            raise RowsError(
                f"{file}:{number}: damaged, or from another version of agentmig "
                f"({error.errors()[0]['msg']}); remove the line to run its arm again"
            ) from error
        found[row.key] = row
    return found


def append(folder: Path, row: Observation) -> None:
    """Add one; it is on disk when this returns.

    Raises:
        RowsError: the disk refuses.
    """
    file = folder / FILE
    try:
        with file.open("a+b") as handle:
            _drop_cut_off_line(handle.fileno())
            handle.write(row.model_dump_json().encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        raise RowsError(f"{file}: {error.strerror}; all earlier rows are kept") from error


def _drop_cut_off_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        text = os.pread(descriptor, size, 0)
        os.ftruncate(descriptor, text.rfind(b"\n") + 1)
