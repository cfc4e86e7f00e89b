import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.text import toml, workload_name


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_a_toml_string(text: str) -> None:
    assert tomllib.loads(f"a = {toml(text)}")["a"] == text


def test_bytes_that_are_no_text_are_replaced() -> None:
    text = toml("x\udcff")
    assert tomllib.loads(f"a = {text}")["a"] == "x?"


def test_names_after_the_folder() -> None:
    names = ["My Project", "42", "-3d_Net-", "ä" * 50, "a" * 60]
    assert [workload_name(Path("/p") / name) for name in names] == [
        "my-project",
        "project",
        "d-net",
        "project",
        "a" * 40,
    ]
