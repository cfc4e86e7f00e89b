import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.probe.handshake import Identity
from agentmig.probe.trace import Trace, plain

ALONE = Identity(0, 0, 1, 1)


@pytest.fixture
def trace() -> Iterator[Callable[[Path], Trace]]:
    made: list[Trace] = []

    def make(out: Path) -> Trace:
        made.append(Trace(out, ALONE, "2.9.0", "sha"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "trace-0.jsonl").read_text().splitlines()]


@given(st.recursive(st.floats() | st.integers() | st.text() | st.none(), st.lists))
def test_plain_is_strict_json(value: Any) -> None:
    json.dumps(plain(value), allow_nan=False)


def test_numbers_that_json_lacks() -> None:
    assert plain({"a": [float("nan"), float("inf"), -float("inf"), 1.5]}) == {
        "a": ["nan", "inf", "-inf", 1.5]
    }


def test_lines_wait_until_the_process_is_a_rank(tmp_path: Path, trace: Callable[[Path], Trace]) -> None:
    one = trace(tmp_path)
    one.write("seed", call="x", value=1)
    assert not list(tmp_path.iterdir())
    one.own(ALONE)
    assert lines(tmp_path) == [{"kind": "seed", "call": "x", "value": 1}]
    assert one.is_ours()


def test_a_process_that_trained_before_stays_in_the_trace(
    tmp_path: Path, trace: Callable[[Path], Trace]
) -> None:
    first, second = trace(tmp_path), trace(tmp_path)
    first.own(ALONE)
    first.write("step", step=0)
    second.own(ALONE)
    assert [line["kind"] for line in lines(tmp_path)] == ["step", "note"]


def test_a_process_that_only_imported_torch_leaves_no_line(
    tmp_path: Path, trace: Callable[[Path], Trace]
) -> None:
    first, second = trace(tmp_path), trace(tmp_path)
    first.own(ALONE)
    first.write("seed", call="x", value=1)
    second.own(ALONE)
    assert lines(tmp_path) == []


def test_a_note_is_made_once(tmp_path: Path, trace: Callable[[Path], Trace]) -> None:
    one = trace(tmp_path)
    one.own(ALONE)
    one.note("a", "b")
    one.note("a", "b")
    assert len(lines(tmp_path)) == 1


def test_an_error_of_ours_is_written_and_goes_no_further(
    tmp_path: Path, trace: Callable[[Path], Trace]
) -> None:
    one = trace(tmp_path)
    one.own(ALONE)
    for _ in range(9):
        with one.guard("somewhere"):
            raise KeyError("lost")
    written = lines(tmp_path)
    assert len(written) == 5
    assert written[0]["where"] == "somewhere"
    assert written[0]["message"].startswith("KeyError: 'lost' (test_trace.py:")


def test_a_forked_child_is_silent(tmp_path: Path, trace: Callable[[Path], Trace]) -> None:
    one = trace(tmp_path)
    one.own(ALONE)
    one.forked()
    one.write("step", step=0)
    assert lines(tmp_path) == []
    assert not one.is_ours()
