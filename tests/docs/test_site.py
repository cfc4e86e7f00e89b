"""The site builds without a warning and loads nothing from elsewhere; links of the project's own files lead somewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.docs.pages import DOCS, REPOSITORY

ROOT_FILES = sorted(REPOSITORY.glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Without --quiet, which hides warnings from --strict too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Loaded(HTMLParser):
    """What a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video"):
            self.places.append(named.get("src") or "")
        elif tag == "link" and named.get("rel") != "canonical":
            self.places.append(named.get("href") or "")


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        loaded = _Loaded()
        loaded.feed(page.read_text())
        assert any("bundle" in place for place in loaded.places)
        assert not [place for place in loaded.places if re.match(r"(\w+:)?//", place)], page


def test_tools_of_the_documentation_are_no_part_of_the_site(site: Path) -> None:
    assert not list(site.rglob("*.py"))


@pytest.mark.parametrize("file", ROOT_FILES, ids=lambda file: file.name)
def test_links_of_the_projects_own_files(file: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text()):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (file.parent / path) if path else file
        assert place.exists(), target
        if anchor:
            assert anchor in _anchors(place.read_text()), target


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_citation_is_complete() -> None:
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(cited)
    assert all({"type", "title", "authors"} <= set(each) for each in cited["references"])


def test_hooks_before_a_commit_load_nothing_and_call_what_there_is() -> None:
    config = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())
    assert [each["repo"] for each in config["repos"]] == ["local"]
    for hook in config["repos"][0]["hooks"]:
        program = Path(hook["entry"].split()[0])
        assert (hook["language"], program.parent) == ("system", Path(".venv/bin"))


def test_each_decision_is_listed() -> None:
    index = (DOCS / "decisions" / "README.md").read_text()
    assert re.findall(r"\]\((\S+)\)", index) == sorted(p.name for p in (DOCS / "decisions").glob("0*.md"))
