"""Markdown, LaTeX and CSV. Everything that comes from a journal is escaped."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from agentmig.study.layout import Column, Grid, flat, flat_names, grid, row_type
from agentmig.study.model import TABLES, StudyView, Table
from agentmig.study.text import plain

_LONG = 40
"""Rows that still fit a page; longer tables go over several."""
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#$])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": "{`}",  # no part of a ligature
}


def grids(view: StudyView, only: str | None = None) -> list[Grid]:
    """The tables laid out, or a single one."""
    return [grid(name, table(view, name)) for name in TABLES if only in (None, name)]


def table(view: StudyView, name: str) -> Table[Any]:
    """A table by its name."""
    found: Table[Any] = getattr(view, name)
    return found


def head(view: StudyView) -> list[str]:
    """What stands above all tables: what the study is over, and what was left out."""
    scope = view.scope
    lines = [f"{scope.headline}."]
    lines += [f"Not finished, so neither success nor failure: {run}." for run in scope.unfinished]
    lines += [f"Counted once: {c.run}; {c.folder} is a copy of {c.counted}." for c in scope.copies]
    lines += [f"Left out: {reason}" for reason in scope.left_out]
    return [plain(line) for line in lines]


def markdown(view: StudyView, only: str | None = None) -> str:
    """GitHub-flavoured Markdown."""
    parts = ["# Study\n" if only is None else "", *(f"{markdown_text(line)}\n" for line in head(view))]
    for shown in grids(view, only):
        parts.append(f"## {markdown_text(shown.title)}\n")
        parts.append(_markdown_table(shown) if shown.rows else "Nothing to show.\n")
        parts += [f"- {markdown_text(note)}" for note in shown.notes]
        parts.append("")
    return "\n".join(parts).strip("\n") + "\n"


def _markdown_table(shown: Grid) -> str:
    lines = [
        [markdown_text(column.header) for column in shown.columns],
        [":--" if column.is_text else "--:" for column in shown.columns],
        *([markdown_text(cell) for cell in row] for row in shown.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown_text(text: str) -> str:
    """Text that means nothing to Markdown or HTML, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex(view: StudyView, only: str | None = None) -> str:
    r"""Tables for `\input`; they need the packages booktabs and longtable."""
    lines = [r"% \usepackage{booktabs,longtable}", *(f"% {_comment(line)}" for line in head(view))]
    for shown in grids(view, only):
        lines += ["", *(_long_table(shown) if len(shown.rows) > _LONG else _short_table(shown))]
    return "\n".join(lines) + "\n"


def _short_table(shown: Grid) -> list[str]:
    return [
        r"\begin{table}[tbp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption[{latex_text(shown.title)}]{{{_caption(shown)}}}",
        rf"\label{{tab:{shown.name}}}",
        rf"\begin{{tabular}}{{{_alignment(shown.columns)}}}",
        r"\toprule",
        _latex_row([column.header for column in shown.columns]),
        r"\midrule",
        *(_latex_row(row) for row in shown.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def _long_table(shown: Grid) -> list[str]:
    header = _latex_row([column.header for column in shown.columns])
    return [
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{_alignment(shown.columns)}}}",
        rf"\caption[{latex_text(shown.title)}]{{{_caption(shown)}}}\label{{tab:{shown.name}}}\\",
        r"\toprule",
        header,
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        header,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *(_latex_row(row) for row in shown.rows),
        r"\end{longtable}}",
    ]


def _caption(shown: Grid) -> str:
    return latex_text(" ".join([f"{shown.title}.", *shown.notes]))


def _alignment(columns: Sequence[Column]) -> str:
    return "".join("l" if column.is_text else "r" for column in columns)


def _latex_row(cells: Sequence[str]) -> str:
    line = " & ".join(latex_text(cell) for cell in cells) + r" \\"
    return "{}" + line if line.startswith(("[", "*")) else line  # else an argument of the \\ before it


def latex_text(text: str) -> str:
    """Text that means nothing to LaTeX; letters that pdfLaTeX has no glyph for become their code point."""
    return "".join(_latex_char(char) for char in " ".join(text.split())).replace("--", "-{}-")


def _latex_char(char: str) -> str:
    if char in _LATEX:
        return _LATEX[char]
    if " " <= char <= "~" or ("À" <= char <= "ÿ" and char not in "×÷ÐðÞþ"):
        return char
    return f"[U+{ord(char):04X}]"


def _comment(text: str) -> str:
    return " ".join(text.encode("ascii", "backslashreplace").decode().split())


def csv_text(found: Table[Any]) -> str:
    """A table as CSV (RFC 4180, but for its line ends) with all digits; estimates take several columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, flat_names(row_type(found)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat(row) for row in found.rows)
    return text.getvalue()


def csv_files(view: StudyView) -> dict[str, str]:
    """File names and contents, one for each table."""
    return {f"{name}.csv": csv_text(table(view, name)) for name in TABLES}


WRITERS: dict[str, Callable[[StudyView, str | None], str]] = {"markdown": markdown, "latex": latex}
"""The formats that show several tables in one text."""
