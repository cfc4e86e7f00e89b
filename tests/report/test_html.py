import re

from hypothesis import given, settings

from agentmig.journal import Event, GateResult, Verdict
from agentmig.journal.events import ClaimMade, ClaimVerified, GateFinished, MigrationStarted
from agentmig.report import report, to_html
from agentmig.report.html import FULL_CLAIMS
from tests.journal.builders import put
from tests.report.demo import deciding
from tests.report.journals import Memory, journals
from tests.report.pages import Page

ABROAD = re.compile(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//|@import|url\(\s*["']?http""")


@settings(max_examples=15)
@given(journals())
def test_every_state_gives_a_page_in_which_all_foreign_text_is_text(events: list[Event]) -> None:
    html = to_html(report([events]))
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert page.targets <= set(page.ids)
    assert not ABROAD.search(html)
    assert "\x00" not in html and "\u202e" not in html


def test_the_same_journal_gives_the_same_page(demo_events: list[Event]) -> None:
    rejected = report([_until_the_first_verdict(demo_events)])
    assert to_html(rejected) == to_html(rejected)


def _until_the_first_verdict(events: list[Event]) -> list[Event]:
    """A run with few figures."""
    return events[: next(i for i, event in enumerate(events) if isinstance(event, ClaimVerified)) + 1]


def test_verdict_and_cautions_come_first(demo_html: str) -> None:
    body = Page(demo_html).text.partition("ACCEPTED (on EMULATED targets")[2].partition("✓ ACCEPTED")[2]
    assert body.startswith(
        " on EMULATED targets, with AUTHORED words of the model Every gate passed on xla, torch-tpu."
    )
    assert body.index("EMULATED : nothing of xla") < body.index("Gates")
    assert "no model was asked" in body[: body.index("Gates")]


def test_the_demo_s_figures_have_numbers_words_and_colours_by_name(demo_html: str) -> None:
    page = Page(demo_html)
    drawings = re.findall(r"<svg .*?</svg>", demo_html, re.DOTALL)
    # Three of the rejected claim, six on each target of the accepted one, tokens, money, speed; the timeline twice.
    assert len(drawings) == 3 + 12 + 3 + 2
    assert page.elements.count("figure") == 3 + 12 + 3 + 1
    for drawing in drawings:
        assert 'role="img"' in drawing and re.search(r'aria-label="[^"]{20,}"', drawing)
        assert "font-family" not in drawing
        assert not re.search(r"#[0-9a-fA-F]{6}", drawing)
        assert "var(--f-" in drawing
    assert "first divergence: step 0" in page.text
    assert "norm before clip at step 0 on rank 2: 0.611893 instead of 0.393686" in page.text


def test_evidence_advice_and_what_was_not_reached_are_told(demo_html: str) -> None:
    text = Page(demo_html).text
    assert "clip_before_reduction Gradients are clipped" in text
    assert "largest_error.loss" in text
    assert "not reached: numerics, runs, hardware, performance, goal" in text
    assert "EMULATED : xla, torch-tpu ran on a CPU in place of the accelerator." in text
    assert "0.467 × (no interval: 1 run of the reference)" in text
    assert "nobody was billed" in text


def test_hundreds_of_claims_keep_the_page_within_bounds() -> None:
    journal = Memory()
    put(journal, MigrationStarted)
    result = deciding(clipping=True)
    for number in range(300):
        name = f"claim-{number}"
        put(journal, ClaimMade, claim=name)
        put(journal, GateFinished, claim=name, result=result)
        put(journal, ClaimVerified, claim=name, verdict=Verdict.FAIL)
    html = to_html(report([journal.events]))
    page = Page(html)
    assert page.ids.count("r1-c0") == 1 and f"r1-c{FULL_CLAIMS}" not in page.ids
    assert "The 280 earlier claims have their rows in the table of gates" in page.text
    assert "Figures are drawn for the 6 newest claims" in page.text
    assert len(html) < 3_000_000


def test_long_texts_are_folded_and_whole() -> None:
    journal = Memory()
    put(journal, MigrationStarted)
    words = "word " * 4000 + "<end>"
    put(journal, ClaimMade, summary=words)
    gate = GateResult(gate="runs", target="xla", verdict=Verdict.FAIL, summary="x" * 9000)
    put(journal, GateFinished, claim="claim-1", result=gate)
    html = to_html(report([journal.events]))
    assert "All of it (20,005 characters)" in html
    assert "&lt;end&gt;" in html and "<end>" not in html
    assert "x" * 9000 in html


def test_several_runs_begin_with_a_table_of_them(demo_events: list[Event]) -> None:
    journal = Memory()
    put(journal, MigrationStarted, run_id="other-run", workload="another")
    html = to_html(report([_until_the_first_verdict(demo_events), journal.events]))
    page = Page(html)
    assert len(page.ids) == len(set(page.ids)) and page.targets <= set(page.ids)
    assert page.elements.count("article") == 2
    assert page.text.index("2 runs: 2 running") < page.text.index("other-run") < page.text.index("claim-1")
