from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.findings import Place, confirm, found, one_line, shown


@given(st.text(st.characters()))
def test_foreign_text_becomes_one_line_of_utf_8(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "\x1b" not in line
    line.encode()


def test_values_are_short() -> None:
    assert shown("x" * 500) == "x" * 199 + "…"


def test_places_are_told() -> None:
    place = Place("a\nb.py", 3)
    assert str(place) == "a b.py:3"
    assert (found("seed", 1, place).file, found("seed", 1).file) == ("a b.py", None)
    assert confirm("goal.margin", "why?", place).line == 3
