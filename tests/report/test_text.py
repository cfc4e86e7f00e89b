import math
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.report.text import clean, dollars, moment, number, one_line, plural, seconds, short


@given(st.text())
def test_cleaned_text_is_valid_xml_and_keeps_its_length(text: str) -> None:
    shown = clean(text)
    assert len(shown) == len(text)
    element = ElementTree.Element("a")
    element.text = shown
    read = ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode")).text or ""
    assert read == shown.replace("\r\n", "\n").replace("\r", "\n")


def test_what_turns_text_around_is_taken_out() -> None:
    assert clean("a\u202eb\x00c\x85d") == "a\ufffdb\ufffdc\ufffdd"
    assert clean("é 漢字 🦜\n\t") == "é 漢字 🦜\n\t"


@given(st.text(), st.integers(1, 50))
def test_cut_text_fits(text: str, limit: int) -> None:
    assert len(one_line(text, limit)) <= limit
    assert "\n" not in one_line(text)
    assert len(short(text, limit)) <= limit


def test_both_ends_of_a_long_name_stay() -> None:
    assert short("digits-clipping", 9) == "digi…ping"
    assert short("digits", 6) == "digits"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (math.nan, "NaN"),
        (-math.inf, "-inf"),
        (0.0, "0"),
        (-0.0, "0"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (2.3e-16, "2.3e-16"),
        (1e300, "1e+300"),
    ],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "$0.00"),
        (12.345, "$12.35"),
        (0.00087, "$0.00087"),
        (-0.5, "-$0.50"),
        (1e-300, "$0.000000000000"),
        (None, "–"),
    ],
)
def test_small_amounts_keep_two_digits(value: float | None, shown: str) -> None:
    assert dollars(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.011, "0.011 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (571.0, "9 min 31 s"),
        (3599.7, "1 h 00 min"),
        (7260.0, "2 h 01 min"),
        (None, "–"),
    ],
)
def test_durations(value: float | None, shown: str) -> None:
    assert seconds(value) == shown


def test_times_are_utc_and_plurals_are_english() -> None:
    assert moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02 03:04:05 UTC"
    assert [plural(1, "step"), plural(2, "step"), plural(1000, "process")] == [
        "1 step",
        "2 steps",
        "1,000 processes",
    ]
