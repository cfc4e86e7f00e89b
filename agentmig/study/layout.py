"""A table as text: headers, cells, and footnotes that say how each interval was made. Every format shows these."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agentmig.study.model import Estimate, Kind, Part, Shown, Table
from agentmig.study.statistics import LEVEL
from agentmig.study.text import between, figure, plain


@dataclass(frozen=True)
class Column:
    """A column that people see."""

    name: str
    header: str
    kind: Kind

    @property
    def is_text(self) -> bool:
        """Whether it holds words; all others are set to the right."""
        return self.kind == "text"


@dataclass(frozen=True)
class Grid:
    """A table, laid out.

    Attributes:
        rows: as many cells as there are columns, in each.
        notes: what holds for the whole table, and what the marks in its cells mean.
    """

    name: str
    title: str
    columns: list[Column]
    rows: list[list[str]]
    notes: list[str]


def columns(row: type[Part]) -> list[Column]:
    """The columns that people see of tables with such rows."""
    return [
        Column(name, shown.header, shown.kind)
        for name, field in row.model_fields.items()
        for shown in field.metadata
        if isinstance(shown, Shown)
    ]


def grid(name: str, table: Table[Any]) -> Grid:
    """Lay a table out."""
    found = columns(row_type(table))
    estimates = [e for row in table.rows for c in found if isinstance(e := getattr(row, c.name), Estimate)]
    marks = _marks(estimates)
    rows = [[_cell(getattr(row, c.name), c.kind, marks) for c in found] for row in table.rows]
    return Grid(name, table.title, found, rows, [*table.notes, *_legend(marks)])


def row_type(table: Table[Any]) -> type[Part]:
    """The class of a table's rows, which an empty table has too."""
    kind: type[Part] = type(table).model_fields["rows"].annotation.__args__[0]  # type: ignore[union-attr]
    return kind


def _marks(estimates: Iterable[Estimate]) -> dict[tuple[str, str], str]:
    """A letter for each method, and for each reason why there is no interval, in the order of their appearance."""
    found: dict[tuple[str, str], str] = {}
    for estimate in estimates:
        if estimate.method or estimate.note:
            found.setdefault((estimate.method, estimate.note), _letter(len(found)))
    return found


def _letter(index: int) -> str:
    """The letters a to z, then aa, ab and so on."""
    letter = chr(ord("a") + index % 26)
    return letter if index < 26 else _letter(index // 26 - 1) + letter


def _legend(marks: dict[tuple[str, str], str]) -> list[str]:
    return [
        f"({letter}) {note or f'{LEVEL:.0%} interval: {method}'}." for (method, note), letter in marks.items()
    ]


def _cell(value: Any, kind: Kind, marks: dict[tuple[str, str], str]) -> str:
    if not isinstance(value, Estimate):
        return plain(value) if isinstance(value, str) else figure(value, kind)
    words = figure(value.value, kind)
    if value.low is not None and value.high is not None:
        words += f" {between(value.low, value.high, kind)}"
    mark = marks.get((value.method, value.note))
    return f"{words} ({mark})" if mark else words


def flat(row: Part) -> dict[str, Any]:
    """A row's fields as a program's table has them; an estimate takes several columns."""
    cells: dict[str, Any] = {}
    for name in type(row).model_fields:
        value = getattr(row, name)
        if isinstance(value, Estimate):
            cells[name] = value.value
            cells |= {f"{name}_{part}": getattr(value, part) for part in ESTIMATE[1:]}
        else:
            cells[name] = value
    return cells


ESTIMATE: Sequence[str] = tuple(Estimate.model_fields)
"""The parts of an estimate; the first has the estimate's own name as a column."""


def flat_names(row: type[Part]) -> list[str]:
    """The names of those columns, which an empty table has too."""
    names: list[str] = []
    for name, field in row.model_fields.items():
        names.append(name)
        if field.annotation is Estimate:
            names += [f"{name}_{part}" for part in ESTIMATE[1:]]
    return names
