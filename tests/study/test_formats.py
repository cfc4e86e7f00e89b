import csv
import io
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentmig.journal import Outcome
from agentmig.study import formats
from agentmig.study.document import study
from agentmig.study.facts import Migration
from agentmig.study.layout import flat
from agentmig.study.model import TABLES, StudyView
from agentmig.study.reading import Reading
from tests.study.migrations import FEWER, REAL, execution, migration, studies, trainings

HOSTILE = r"""\end{tabular} $x_1^2$ | a & b % # ~ <b> `c` [d](e) "f" * -- \\"""


def _view(migrations: list[Migration]) -> StudyView:
    return study(Reading(migrations, [], []), 30.0)


def _hostile() -> StudyView:
    target = REAL.model_copy(update={"name": HOSTILE})
    failed = (execution(Outcome.LOUD, HOSTILE),)
    return _view(
        [
            migration(
                HOSTILE, executions=failed, trainings=(trainings([1, 2], [3, 4], target, hardware=HOSTILE),)
            ),
            migration("[first\x1b[31m\n", project="[first é 中 \u202e", interventions=(("hint", 1.0),)),
        ]
    )


def _markdown_tables(text: str) -> dict[str, list[list[str]]]:
    """Cells of each table's body, by its heading, as a parser of Markdown reads them."""
    found: dict[str, list[list[str]]] = {}
    title, within = "", ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("heading_open", "thead_open", "tbody_open", "tr_open"):
            within = token.type if token.type != "tr_open" else within
            if token.type == "tr_open" and within == "tbody_open":
                found.setdefault(title, []).append([])
        elif token.type == "inline":
            parts = token.children or []
            assert {part.type for part in parts} <= {"text", "text_special", "softbreak"}, token.content
            words = "".join(part.content for part in parts)
            if within == "heading_open":
                title, within = words, ""
            elif within == "tbody_open":
                found[title][-1].append(words)
        elif token.type == "table_close":
            within = ""
    return found


UNESCAPED = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    "{`}": "`",
    "-{}-": "--",
    r"\{": "{",
    r"\}": "}",
    r"\$": "$",
    r"\&": "&",
    r"\#": "#",
    r"\%": "%",
    r"\_": "_",
}


def _from_latex(text: str) -> str:
    pattern = "|".join(map(re.escape, UNESCAPED))
    return re.sub(pattern, lambda match: UNESCAPED[match.group()], text)


def _latex_tables(text: str) -> dict[str, list[list[str]]]:
    found: dict[int, list[list[str]]] = {}
    for part in re.split(r"\\begin\{(?:tabular|longtable)\}", text)[1:]:
        body = (
            part.split(r"\bottomrule", 1)[0] if "endfirsthead" not in part else part.split(r"\endfoot", 1)[1]
        )
        rows = [line.removesuffix(r" \\") for line in body.splitlines() if line.endswith(r" \\")]
        found[len(found)] = [
            [_from_latex(cell) for cell in re.split(r" (?<!\\)& ", row.removeprefix("{}"))] for row in rows
        ]
    names = re.findall(r"\\label\{tab:(\w+)\}", text)
    skip = 0 if "endfirsthead" in text else 1
    return {name: rows[skip:] for name, rows in zip(names, found.values(), strict=True)}


@FEWER
@given(studies())
def test_markdown_and_latex_hold_the_same_cells(migrations: list[Migration]) -> None:
    view = _view(migrations)
    markdown = _markdown_tables(formats.markdown(view))
    latex = _latex_tables(formats.latex(view))
    for laid in formats.grids(view):
        assert markdown.get(laid.title, []) == laid.rows
        assert latex[laid.name] == laid.rows


def _read_back(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@FEWER
@given(studies())
def test_csv_and_json_hold_the_same_numbers(migrations: list[Migration]) -> None:
    view = _view(migrations)
    document = StudyView.model_validate_json(view.model_dump_json())
    for name in TABLES:
        rows = _read_back(formats.csv_text(formats.table(view, name)))
        expected = [flat(row) for row in getattr(document, name).rows]
        assert len(rows) == len(expected)
        for row, cells in zip(rows, expected, strict=True):
            assert list(row) == list(cells)
            for column, value in cells.items():
                if isinstance(value, float):
                    assert float(row[column]) == value
                else:
                    assert row[column] == ("" if value is None else str(value))


def test_what_markdown_shows_is_what_json_holds() -> None:
    migrations = [
        migration(
            f"r{index}",
            executions=(execution(Outcome.LOUD), execution(Outcome.SILENT), execution(Outcome.OK))[
                : 1 + index % 3
            ],
        )
        for index in range(6)
    ]
    view = _view(migrations)
    share: Any = view.model_dump()["attempts"]["rows"][0]["failure_share"]
    shown = _markdown_tables(formats.markdown(view))["Execution attempts"][0][9]
    ends = [f"{100 * share[end]:.1f}" for end in ("low", "high")]
    assert shown == f"{100 * share['value']:.1f}% [{', '.join(ends)}] (a)"


def test_csv_holds_foreign_text_as_it_is() -> None:
    rows = _read_back(formats.csv_text(_hostile().migrations))
    assert {row["run"] for row in rows} == {HOSTILE, "[first\x1b[31m\n"}


def test_foreign_text_breaks_no_markdown() -> None:
    text = formats.markdown(_hostile())
    tables = _markdown_tables(text)
    assert {row[0] for row in tables["Migrations"]} == {HOSTILE, "[first [31m"}
    assert "\x1b" not in text
    assert "\u202e" not in text


def _balanced(text: str) -> bool:
    """Environments, braces and dollars of a LaTeX text, without its comments, come in pairs."""
    code = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in text.splitlines())
    bare = re.sub(r"\\[\\{}$&#%_]", "", code)
    opened: list[str] = []
    for word, name in re.findall(r"\\(begin|end)\{(\w+)\}", bare):
        if word == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    return not opened and bare.count("{") == bare.count("}") and "$" not in bare and "#" not in bare


def _cells_in_rows(text: str) -> set[tuple[int, int]]:
    """Columns that are declared, and cells that a row has, of each table."""
    found = set()
    for part in re.split(r"\\begin\{(?:tabular|longtable)\}", text)[1:]:
        declared = len(part[1 : part.index("}")])
        rows = [line for line in part.splitlines() if line.endswith(r" \\")]
        found |= {(declared, len(re.findall(r"(?<!\\)&", row)) + 1) for row in rows}
    return found


@pytest.mark.parametrize("copies", [1, 50])
def test_latex_is_balanced_whatever_the_names(copies: int) -> None:
    view = _hostile()
    rows = view.migrations.rows * copies
    view = view.model_copy(update={"migrations": view.migrations.model_copy(update={"rows": rows})})
    text = formats.latex(view)
    assert text.isascii() or set(filter(lambda char: not char.isascii(), text)) == {"é"}
    assert _balanced(text)
    assert all(declared == cells for declared, cells in _cells_in_rows(text))
    kinds = Counter(re.findall(r"\\begin\{(\w+)\}", text))
    assert kinds["longtable"] == (1 if copies > 1 else 0)
    assert kinds["table"] == kinds["tabular"] == len(TABLES) - kinds["longtable"]
    assert text.count(r"\toprule") == len(TABLES) + kinds["longtable"]


@given(st.text())
def test_any_text_is_balanced_in_latex(text: str) -> None:
    escaped = formats.latex_text(text)
    assert _balanced(escaped)
    assert "--" not in escaped
    assert not re.search(r"(?<!\\)[&%_#$]|[\^~<>|]", escaped)


def test_a_row_that_begins_with_a_bracket_is_no_argument_of_the_row_before() -> None:
    assert "\n{}[first" in formats.latex(_hostile(), "migrations")


def test_one_table_alone() -> None:
    view = _hostile()
    assert set(_markdown_tables(formats.markdown(view, "migrations"))) == {"Migrations"}
    assert list(_latex_tables(formats.latex(view, "migrations"))) == ["migrations"]
    assert sorted(formats.csv_files(view)) == sorted(f"{name}.csv" for name in TABLES)
