import re

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from agentmig.journal import Event
from agentmig.report import ReportView, report, to_markdown
from agentmig.report.markdown import escape, table
from agentmig.report.tables import Table
from tests.report.journals import HOSTILE, journals, texts

OURS = {"<details><summary>", "</summary>", "</details>"}


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@given(texts)
def test_foreign_text_shows_as_itself_and_does_nothing(text: str) -> None:
    shown = rendered(f"x {escape(text)}")
    assert re.fullmatch(r"<p>[^<]*</p>\n", shown), shown


@given(texts)
def test_foreign_text_begins_nothing_either(text: str) -> None:
    assert re.fullmatch(r"(<p>[^<]*</p>\n)?", rendered(escape(text)))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_is_one_cell(text: str) -> None:
    shown = rendered(table(Table(("a", "b"), [(text, "end")])))
    assert shown.count("<td>") == 2 and "<td>end</td>" in shown


@settings(max_examples=50)
@given(journals())
def test_every_state_gives_a_document_whose_first_line_is_the_verdict(events: list[Event]) -> None:
    found = report([events])
    document = to_markdown(found)
    assert document.startswith(f"# {escape(found.headline)}\n")
    for line in re.findall(r"</?[a-z]+", document.replace("\\<", "")):
        assert line in {"<details", "</details", "<summary", "</summary"}
    assert document.count("<details>") == document.count("</details>")
    assert "![" not in document.replace("\\!", "").replace("!\\[", "")


def test_the_demo_is_told_with_its_numbers(demo_report: ReportView) -> None:
    document = to_markdown(demo_report)
    first, *_ = document.splitlines()
    assert first.startswith(
        "# ACCEPTED (on EMULATED targets, with AUTHORED words of the model): Every gate passed on xla"
    )
    assert "- **EMULATED**: nothing of xla, torch-tpu ran on the real accelerator" in document
    assert "| claim-1 | xla (EMULATED) | pass | fail | not reached |" in document
    assert (
        "**First divergence:** norm before clip at step 0 on rank 2: 0.611893 instead of 0.393686" in document
    )
    assert "Cause: **clip\\_before\\_reduction**." in document
    assert "| xla / reference |  | 2.15 × (2.04 to 2.26) |" in document
    assert "| gradient | 8.35e-06 | 0.0001 |" in document
    html = rendered(document)
    assert html.count("<table>") >= 15 and html.startswith("<h1>ACCEPTED")


def test_long_tables_are_cut_and_say_so() -> None:
    shown = table(Table(("n", "m"), [(str(n), "x") for n in range(500)]), most=3)
    assert shown.splitlines()[-1] == "| … | 497 more |"
    assert len(shown.splitlines()) == 6


def test_several_runs_begin_with_a_table(demo_events: list[Event]) -> None:
    document = to_markdown(report([demo_events, demo_events[:3]]))
    assert document.splitlines()[0].startswith("# 2 runs: 1 accepted, 1 running")
    assert document.index("| accepted | 20261201-084935-digits-7316 |") < document.index("## 20261201")
    assert "### Gates" in document
