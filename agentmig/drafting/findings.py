"""What was found in a project, with the line that says so; the document that `agentmig init --json` prints."""

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; the file is relative to the project, with `/`."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{one_line(self.file)}:{self.line}"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(_Part):
    """One fact about the project."""

    kind: str
    """What it is about, such as `train_program`, `launcher`, `seed`, `metric`."""
    value: str
    file: str | None = None
    """Relative to the project; None where no one file says it."""
    line: int | None = None


class Hazard(_Part):
    """Something in the code that is known to go wrong on another backend."""

    name: str
    text: str
    """What happens, and what to look at."""
    cause: str | None = None
    """The name that a verification would give it (`docs/causes.md`)."""
    file: str
    line: int
    count: int = 1
    """Places of this kind in the code that training reaches."""


class Question(_Part):
    """What a person has to say."""

    key: str
    """The key of the workload file."""
    kind: Literal["missing", "confirm"]
    """`missing`: nothing works without the answer; `confirm`: a value was chosen that should be looked at."""
    text: str
    file: str | None = None
    line: int | None = None


class Document(_Part):
    """All that `agentmig init` has to say."""

    schema_version: Literal[1] = 1
    project: str
    """The folder that was looked at."""
    draft_path: str
    """Where the draft lies, or would lie."""
    written: bool
    """False where it was only printed."""
    draft: str
    """The text of the drafted workload file."""
    unfilled: list[str]
    """Keys whose values still hold `FILL-IN`."""
    findings: list[Finding]
    hazards: list[Hazard]
    questions: list[Question]
    notes: list[str]
    """What was left out of the search, and what can't be read."""


def found(kind: str, value: object, place: Place | None = None) -> Finding:
    """A finding at a place."""
    return Finding(
        kind=kind,
        value=shown(value),
        file=one_line(place.file) if place else None,
        line=place.line if place else None,
    )


def missing(key: str, text: str, place: Place | None = None) -> Question:
    """A question without whose answer nothing works."""
    return _question(key, "missing", text, place)


def confirm(key: str, text: str, place: Place | None = None) -> Question:
    """A question about a value that was chosen."""
    return _question(key, "confirm", text, place)


def _question(key: str, kind: Literal["missing", "confirm"], text: str, place: Place | None) -> Question:
    file = one_line(place.file) if place else None
    return Question(key=key, kind=kind, text=one_line(text), file=file, line=place.line if place else None)


def one_line(text: str) -> str:
    """Foreign text that can stand in one line of a comment or a table: control characters and odd bytes replaced."""
    kept = re.sub(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+", " ", text)
    return kept.encode("utf-8", "replace").decode("utf-8")


def shown(value: object, width: int = 200) -> str:
    """A value as one short line."""
    text = one_line(str(value)).strip()
    return text if len(text) <= width else text[: width - 1] + "…"
