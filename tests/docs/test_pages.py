"""Every command that the documentation shows is one that there is, and does what the page says."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.docs.checking import CheckError, check, check_agentmig, synopsis
from tests.docs.pages import DOCS, REPOSITORY, Page, all_pages
from tests.docs.running import Reader

PAGES = {str(page.path.relative_to(REPOSITORY)): page for page in all_pages()}
TUTORIAL = "docs/tutorial/index.md"
ALONE = [name for name, page in PAGES.items() if page.runs and page.after is None and name != TUTORIAL]
AFTER = [name for name, page in PAGES.items() if page.runs and page.after == "tutorial/index.md"]


@pytest.mark.parametrize("name", PAGES)
def test_each_command_is_one_that_there_is(name: str) -> None:
    for command in PAGES[name].commands:
        try:
            check(command.text)
        except CheckError as error:
            raise AssertionError(f"{name}:{command.line}: {error}") from error
    for line in PAGES[name].synopses:
        check_agentmig(synopsis(line))


def test_pages_go_on_from_the_tutorial_or_begin_afresh() -> None:
    assert {page.after for page in PAGES.values()} == {None, "tutorial/index.md"}
    assert PAGES[TUTORIAL].runs


@pytest.mark.parametrize("name", ALONE)
def test_a_page_by_itself(name: str, tmp_path: Path) -> None:
    Reader(tmp_path).follow(PAGES[name])


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, ref_python: Path) -> Iterator[Reader]:
    """Somebody who has followed the tutorial; the environment that it trains in stands."""
    home = tmp_path_factory.mktemp("reader")
    reader = Reader(home)
    reader.follow(PAGES[TUTORIAL])
    yield reader
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.torch
def test_the_tutorial(reader: Reader) -> None:
    assert (reader.folder / "workload.toml").exists()


@pytest.mark.torch
@pytest.mark.parametrize("name", AFTER)
def test_a_page_after_the_tutorial(name: str, reader: Reader) -> None:
    page: Page = PAGES[name]
    before = reader.folder
    reader.follow(page)
    assert reader.folder == before, "a page must leave the reader where the tutorial left them"


def test_commands_of_the_example_pipelines() -> None:
    files = sorted((DOCS / "howto" / "ci").glob("*.yml"))
    assert files
    for file in files:
        for script in _scripts(yaml.safe_load(file.read_text())):
            for line in script.splitlines():
                check(line)


def _scripts(node: object) -> Iterator[str]:
    """The shell scripts of a pipeline: values of `run`, and items of `script`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            elif key == "script":
                yield from value
            else:
                yield from _scripts(value)
    elif isinstance(node, list):
        for each in node:
            yield from _scripts(each)
