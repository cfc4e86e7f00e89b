"""The page in a browser: nothing from the network, nothing beyond the edge, light and dark, paper."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from agentmig.journal import Event, GateResult, Verdict
from agentmig.journal.events import AttemptFinished, AttemptStarted, ClaimMade, GateFinished, MigrationStarted
from agentmig.report import report, to_html
from tests.journal.builders import TARGET, put
from tests.report.journals import Memory

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no program `chromium` is installed on this machine")
PHONE: ViewportSize = {"width": 360, "height": 740}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def demo_page(demo_html: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the demo's page."""
    return stored(demo_html, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def strange_page(demo_events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page on several runs, one of which holds words that nothing breaks."""
    long = "x" * 3000
    journal = Memory()
    target = TARGET.model_copy(update={"name": long, "description": long})
    put(journal, MigrationStarted, targets=[target], run_id=long, workload=long, base_commit=long, words=long)
    put(journal, AttemptStarted, by="verifier", purpose=f"claim-1: training {long}", target=long)
    put(journal, AttemptFinished, summary=long, cause=long)
    put(journal, ClaimMade, claim=long, summary=long, commit=long)
    result = GateResult(
        gate=long, target=long, verdict=Verdict.FAIL, cause=long, summary=long, evidence={long: long}
    )
    put(journal, GateFinished, claim=long, result=result)
    return stored(to_html(report([journal.events, demo_events[:40]])), tmp_path_factory.mktemp("page"))


def stored(html: str, folder: Path) -> str:
    file = folder / "report.html"
    file.write_text(html, encoding="utf-8")
    return file.as_uri()


def opened(browser: Browser, address: str, **settings: Any) -> tuple[BrowserContext, Page, list[str]]:
    """The page, with everything that it complained about or asked the network for."""
    context = browser.new_context(**settings)
    page = context.new_page()
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("request", lambda request: found.append(request.url) if request.url.startswith("http") else None)
    page.goto(address)
    return context, page, found


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("which", ["demo_page", "strange_page"])
def test_nothing_is_asked_for_and_nothing_leaves_the_screen(
    browser: Browser, which: str, size: ViewportSize, request: pytest.FixtureRequest
) -> None:
    context, page, found = opened(browser, request.getfixturevalue(which), viewport=size)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    width, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    context.close()
    assert found == []
    assert width <= inner == size["width"]


def test_figures_have_a_size_and_their_clip_paths_are_their_own(browser: Browser, demo_page: str) -> None:
    context, page, _ = opened(browser, demo_page, viewport=DESKTOP)
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('svg')]"
        ".map(s => s.getBoundingClientRect()).filter(b => b.width > 200 && b.height > 100).length)"
    )
    clips = page.evaluate(
        """[...document.querySelectorAll('[clip-path]')].map(each => {
            const found = document.querySelectorAll(each.getAttribute('clip-path').slice(4, -1));
            return found.length === 1 && found[0].closest('svg') === each.closest('svg') ? 'own' : 'lost';
        })"""
    )
    small = page.evaluate(
        """[...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width)
            .map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width * 10)"""
    )
    context.close()
    assert sizes == [1] * len(sizes) and len(sizes) == 19
    assert len(clips) > 50 and set(clips) == {"own"}
    assert min(small) >= 9.5, "letters of the figures, in pixels"


def test_letters_of_figures_stay_readable_on_a_telephone(browser: Browser, demo_page: str) -> None:
    context, page, _ = opened(browser, demo_page, viewport=PHONE)
    letters = page.evaluate(
        """[...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width)
            .map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width * 10)"""
    )
    context.close()
    assert len(letters) == 19 and min(letters) >= 9.5


def test_light_and_dark_differ_in_page_and_figures(browser: Browser, demo_page: str) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        context, page, _ = opened(browser, demo_page, color_scheme=scheme)
        colours[scheme] = page.evaluate(
            """[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
                ...['svg text', 'svg path[style*=candidate]', '.word'].map(
                    name => { const style = getComputedStyle(document.querySelector(name));
                              return name.includes('path') ? style.stroke : name.includes('text') ? style.fill : style.color; })]"""
        )
        context.close()
    assert all(light != dark for light, dark in zip(colours["light"], colours["dark"], strict=True))
    assert len(set(colours["light"])) == 5


def test_it_prints_light_with_all_its_figures(browser: Browser, demo_page: str) -> None:
    context, page, _ = opened(browser, demo_page, color_scheme="dark")
    pdf = page.pdf(prefer_css_page_size=True)
    page.emulate_media(media="print")
    background = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    )
    hidden = page.evaluate(
        "[...document.querySelectorAll('figure')].filter(f => ![...f.querySelectorAll('svg')]"
        ".some(s => s.getBoundingClientRect().width > 100)).length"
    )
    context.close()
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
    assert (background, hidden) == ("#ffffff", 0)


def test_what_was_folded_is_on_paper(browser: Browser, tmp_path: Path) -> None:
    journal = Memory()
    put(journal, MigrationStarted)
    put(journal, ClaimMade, summary="word " * 500 + "the last word")
    context, page, _ = opened(browser, stored(to_html(report([journal.events])), tmp_path))
    visible = "document.querySelector('blockquote details p').checkVisibility()"
    on_screen = page.evaluate(visible)
    page.emulate_media(media="print")
    on_paper = page.evaluate(visible)
    context.close()
    assert (on_screen, on_paper) == (False, True)
