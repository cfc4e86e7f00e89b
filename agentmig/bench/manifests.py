"""Fault operators as people write them: one TOML file for each, its changes to the example projects' correct migrations.

Every mistake in every file is found before anything is run, and all are told at once.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from agentmig.errors import AgentmigError
from agentmig.failures import CAUSES
from agentmig.spec import Problem, SpecError
from agentmig.spec.loading import read_toml
from agentmig.spec.workload import Name

OracleKind = Literal["training", "evaluation", "performance", "hardware", "integrity"]
Kind = Literal["fault", "cheat", "clean"]

CLEAN = "clean-migration"
"""The name under which the correct migrations themselves are run; no operator may have it."""


class ManifestError(AgentmigError):
    """Fault operators can't be used as they are; every mistake is listed."""

    def __init__(self, mistakes: Iterable[object]):
        self.mistakes = [str(mistake) for mistake in mistakes]
        count = f"{len(self.mistakes)} mistake{'s' if len(self.mistakes) != 1 else ''}"
        super().__init__(
            "\n".join([f"the fault operators have {count}:", *(f"  {m}" for m in self.mistakes)])
        )


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Edit(_Part):
    """A piece of text that is replaced."""

    file: Annotated[str, StringConstraints(min_length=1)]
    """Relative to the project."""
    find: Annotated[str, StringConstraints(min_length=1)]
    """The exact text."""
    replace: str
    count: Annotated[int, Field(ge=1)] = 1
    """How often the text occurs; all occurrences are replaced."""


class Mutant(_Part):
    """A change to one project's correct migration to one target, or why there is none."""

    workload: Name | None = None
    target: Name | None = None
    edits: list[Edit] = []
    patch: str | None = None
    """A patch for `git apply`, beside the manifest."""
    transform: str | None = None
    """A Python script beside the manifest, run with the checkout's path as its argument."""
    inexpressible: str | None = None
    """Why the fault can't be had on this hardware: listed, not counted."""
    expected: list[str] | None = None
    """Instead of the operator's."""
    short: bool = False
    """Whether it belongs to the handful that `--short` runs."""
    note: str = ""

    @model_validator(mode="after")
    def _is_one_change(self) -> Self:
        ways = {
            "edits": self.edits,
            "patch": self.patch,
            "transform": self.transform,
            "inexpressible": self.inexpressible,
        }
        given = [name for name, value in ways.items() if value]
        if len(given) != 1:
            raise ValueError(
                f"exactly one of {', '.join(ways)} is needed, not {' and '.join(given) or 'none of them'}"
            )
        if self.inexpressible is None and not (self.workload and self.target):
            raise ValueError("workload and target are needed: a change is made to one project's migration")
        return self


class Operator(_Part):
    """A way in which a migration can go wrong (or rightly be done otherwise, for kind `clean`)."""

    schema_version: Literal[1]
    name: Name
    """The file's name without `.toml`."""
    kind: Kind
    """`fault`, `cheat`, or `clean`: a legitimate rewrite, which must not be rejected."""
    title: Annotated[str, StringConstraints(min_length=1)]
    number: int | None = None
    """Its row in a catalogue of faults."""
    source: str = ""
    """Where it was reported."""
    expected: list[str] = []
    """Causes that count as right; none for kind `clean`."""
    oracle: OracleKind | None = None
    """How it is decided that a mutant differs from the correct migration; not for kind `clean`."""
    mutant: Annotated[list[Mutant], Field(min_length=1)]

    file: Annotated[Path, Field(exclude=True)] = Path()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "clean":
            if self.expected or self.oracle or any(mutant.expected for mutant in self.mutant):
                raise ValueError(
                    "kind 'clean' is to be accepted: it has neither expected causes nor an oracle"
                )
        elif self.oracle is None:
            raise ValueError("an oracle is needed: how is it decided that the mutant differs?")
        return self

    def expects(self, mutant: Mutant) -> list[str]:
        """The causes that are right for one of its mutants."""
        return self.expected if mutant.expected is None else mutant.expected


@dataclass(frozen=True)
class Known:
    """What operators may refer to.

    Attributes:
        targets: for each workload the targets that have a correct migration; None where that is of no interest.
    """

    targets: Mapping[str, list[str] | None]


def load_operators(folder: Path, known: Known, only: Iterable[str] | None = None) -> list[Operator]:
    """Read the operators in a folder, in the order of their names.

    Args:
        folder: holds a `.toml` file for each.
        known: what they may refer to.
        only: names of the operators to use; all are checked.

    Raises:
        ManifestError: a mistake in a file, or no operator of such a name; all are listed.
    """
    if not folder.is_dir():
        raise ManifestError([f"{folder}: there is no such folder"])
    operators: list[Operator] = []
    mistakes: list[object] = []
    files = sorted(folder.glob("*.toml"))
    for file in files:
        operator, problems = read_operator(file, known)
        mistakes += problems
        operators += [operator] if operator else []
    names = [file.stem for file in files]
    wanted = list(only) if only is not None else None
    mistakes += [
        f"{folder}: no operator {name!r}; there are {', '.join([CLEAN, *names])}"
        for name in wanted or []
        if name not in (*names, CLEAN)
    ]
    if mistakes:
        raise ManifestError(mistakes)
    return [operator for operator in operators if wanted is None or operator.name in wanted]


def read_operator(file: Path, known: Known) -> tuple[Operator | None, list[Problem]]:
    """One operator, or what is wrong with its file."""
    try:
        text, raw = read_toml(file)
    except SpecError as error:
        return None, error.problems
    lines = _header_lines(text)
    operator, found = None, []
    try:
        operator = Operator.model_validate({**raw, "file": file})
    except ValidationError as error:
        found = list(_from_pydantic(error))
    else:
        found = list(_references(operator, known))
    problems = [Problem(file, _line(lines, text, key), key, what, allowed) for key, what, allowed in found]
    return (None if problems else operator), problems


_Mistake = tuple[str, str, str]


def _from_pydantic(error: ValidationError) -> Iterator[_Mistake]:
    for detail in error.errors(include_url=False):
        key = ".".join(map(str, detail["loc"])) or "(file)"
        if detail["type"] == "missing":
            yield key, "nothing", "this key is required"
        elif detail["type"] == "extra_forbidden":
            yield key, "an unknown key", "remove it or correct its name"
        elif detail["type"] == "value_error":
            yield key, "keys that don't go together", detail["msg"].removeprefix("Value error, ")
        else:
            yield key, _shown(detail["input"]), detail["msg"][0].lower() + detail["msg"][1:]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _references(operator: Operator, known: Known) -> Iterator[_Mistake]:
    if operator.name != operator.file.stem:
        yield "name", repr(operator.name), f"it must be the file's name, {operator.file.stem!r}"
    if operator.name == CLEAN:
        yield "name", repr(operator.name), "the correct migrations themselves go by this name; choose another"
    yield from _causes("expected", operator.expected)
    for number, mutant in enumerate(operator.mutant):
        key = f"mutant.{number}"
        yield from _causes(f"{key}.expected", mutant.expected or [])
        if operator.kind != "clean" and mutant.inexpressible is None and not operator.expects(mutant):
            yield (
                f"{key}.expected",
                "nothing",
                "name the causes that count as right, here or for the operator",
            )
        yield from _place(key, mutant, known)
        for name in ("patch", "transform"):
            beside = getattr(mutant, name)
            if beside and not (operator.file.parent / beside).is_file():
                yield f"{key}.{name}", repr(beside), "there is no such file beside the manifest"


def _causes(key: str, names: Iterable[str]) -> Iterator[_Mistake]:
    for name in names:
        if name not in CAUSES:
            yield key, repr(name), "no cause has this name; see docs/causes.md"


def _place(key: str, mutant: Mutant, known: Known) -> Iterator[_Mistake]:
    if mutant.workload is None:
        return
    if mutant.workload not in known.targets:
        names = ", ".join(sorted(known.targets)) or "none"
        yield f"{key}.workload", repr(mutant.workload), f"no workload has this name; there are {names}"
        return
    targets = known.targets[mutant.workload]
    if targets is not None and mutant.target is not None and mutant.target not in targets:
        names = ", ".join(targets) or "none"
        yield (
            f"{key}.target",
            repr(mutant.target),
            f"{mutant.workload} has no correct migration to it (migrations/*.patch); there are {names}",
        )


def _header_lines(text: str) -> list[int]:
    """Where each `[[mutant]]` stands."""
    return [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*mutant\s*\]\]", line)
    ]


def _line(headers: list[int], text: str, key: str) -> int | None:
    """About where a key stands, as a help for people; the table's first line where the key isn't in it."""
    parts = key.split(".")
    at = int(parts[1]) if parts[0] == "mutant" and len(parts) > 1 else None
    in_mutant = at is not None and at < len(headers)
    begin = headers[at] if at is not None and in_mutant else 1
    end = next((line for line in headers if line > begin or not in_mutant), None)
    name = parts[2] if in_mutant and len(parts) > 2 else parts[0]
    for number, line in enumerate(text.splitlines(), start=1):
        if begin <= number and (end is None or number < end) and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return number
    return begin if in_mutant else None
