"""The script of a played session: what the model says, and what it must have been told before it says so.

```toml
[manifest]
origin = "authored"            # or "recorded"
workload = "digits"
model = "claude-sonnet-4-5"
note = "why this session exists, in a sentence"
cli = "2.1.332"                # the Claude Code version it was written against

[[turn]]
expect = "(?i)clip"            # must be found in what the CLI sends since the previous turn
refuse = "accepted"            # must not be found there
text = "I see: the clipping."
usage = { input = 900, output = 80, cache_read = 12000 }

[[turn.tool]]
name = "Edit"
input = { file_path = "${worktree}/train.py", old_string = "a", new_string = "b" }
```
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentmig.journal.events import Usage
from agentmig.spec.loading import Problem, SpecError, read_toml

FILE = "session.toml"
_WORKTREE = "${worktree}"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"a regular expression is needed ({error})") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression, searched for in the text (`.` also matches line ends)."""


class Part(BaseModel):
    """A table of the script; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Manifest(Part):
    """Where the session comes from."""

    origin: Literal["authored", "recorded"]
    """`authored`: a person wrote the model's words; `recorded`: a model said them once."""
    workload: str
    model: str
    """The model that answers; for an authored session, the one whose prices are counted."""
    note: str = ""
    cli: str
    """The Claude Code version that it was written or recorded with."""


class ToolCall(Part):
    """A tool that the model calls."""

    name: str
    """As the CLI knows it: `Edit`, `Bash`, `mcp__agentmig__run_on_target`."""
    input: dict[str, Any] = {}


class ScriptedTurn(Part):
    """One response of the model."""

    expect: Pattern | None = None
    refuse: Pattern | None = None
    text: str = ""
    tool: list[ToolCall] = []
    usage: Usage

    @model_validator(mode="after")
    def _says_something(self) -> "ScriptedTurn":
        if not self.text and not self.tool:
            raise ValueError("a turn needs text or at least one [[turn.tool]]")
        return self

    def objection(self, heard: str) -> str | None:
        """Why this turn is no answer to what the CLI sent; None if it is."""
        if self.expect is not None and not re.search(self.expect, heard, re.DOTALL):
            return f"it answers only what matches {self.expect!r}"
        if self.refuse is not None and re.search(self.refuse, heard, re.DOTALL):
            return f"it must not answer what matches {self.refuse!r}"
        return None


class Script(Part):
    """A session, validated."""

    manifest: Manifest
    turn: Annotated[list[ScriptedTurn], Field(min_length=1)]

    file: Annotated[Path, Field(exclude=True)] = Path()
    """The file it was read from; set by the loader."""

    @property
    def description(self) -> str:
        """Who speaks, in words for people."""
        return (
            f"{self.file.parent.name} ({self.manifest.origin}, {len(self.turn)} turns, {self.manifest.model})"
        )


def load_script(path: Path) -> Script:
    """Read and validate a session's script.

    Args:
        path: the file, or the folder that holds a `session.toml`.

    Raises:
        SpecError: it can't be read or holds mistakes; all are listed.
    """
    file = path / FILE if path.is_dir() else path
    text, raw = read_toml(file)
    try:
        return Script.model_validate({**raw, "file": file.resolve()})
    except ValidationError as error:
        raise SpecError(list(_problems(file, text, error))) from error


def in_worktree(value: Any, worktree: Path) -> Any:
    """A copy of a value of the script with `${worktree}` replaced in every string of it."""
    if isinstance(value, str):
        return value.replace(_WORKTREE, str(worktree))
    if isinstance(value, list):
        return [in_worktree(item, worktree) for item in value]
    if isinstance(value, dict):
        return {key: in_worktree(item, worktree) for key, item in value.items()}
    return value


def _problems(file: Path, text: str, error: ValidationError) -> Iterator[Problem]:
    headers = [
        n for n, line in enumerate(text.splitlines(), start=1) if re.match(r"\s*\[\[\s*turn\s*\]\]", line)
    ]
    for detail in error.errors():
        place = detail["loc"]
        index = place[1] if len(place) > 1 and place[0] == "turn" else None
        line = headers[index] if isinstance(index, int) and index < len(headers) else None
        key = ".".join(f"{part + 1}" if isinstance(part, int) else str(part) for part in place)
        missing = detail["type"] == "missing"
        found = "nothing" if missing else f"{detail['input']!r}"[:80]
        yield Problem(
            file, line, key or "(file)", found, "this key is required" if missing else detail["msg"]
        )
