import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.study.model import Kind
from agentmig.study.text import between, counted, figure, plain


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (None, "share", "-"),
        (53 / 70, "share", "75.7%"),
        (3, "count", "3"),
        (0.0, "usd", "$0.00"),
        (1234.5, "usd", "$1,234.50"),
        (0.00042, "usd", "$0.00042"),
        (2.4, "number", "2.4"),
        (15.0, "number", "15"),
        (1234567.8, "number", "1,234,568"),
        (0.123456, "number", "0.1235"),
    ],
)
def test_numbers_as_people_read_them(value: float | None, kind: Kind, words: str) -> None:
    assert figure(value, kind) == words


def test_an_interval_says_percent_once() -> None:
    assert between(0.5, 1, "share") == "[50.0, 100.0]"
    assert between(0.5, 1.25, "number") == "[0.5, 1.25]"


def test_words_follow_their_count() -> None:
    assert [counted(count, "project") for count in (0, 1, 2)] == ["0 projects", "1 project", "2 projects"]


@given(st.text())
def test_foreign_text_has_no_control_characters(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)
