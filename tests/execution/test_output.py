import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.execution.output import BoundedLog, Lines

CHUNKS = st.lists(st.binary(min_size=1, max_size=12), max_size=20)


@given(CHUNKS, st.integers(0, 60))
def test_a_log_keeps_the_beginning_and_the_end_of_all_that_was_written(
    chunks: list[bytes], limit: int
) -> None:
    file = io.BytesIO()
    log = BoundedLog(file, limit)
    for chunk in chunks:
        log.write(chunk)
    log.close()
    output = b"".join(chunks)
    if len(output) <= limit:
        assert file.getvalue() == output
    else:
        dropped = f"\n[agentmig: {len(output) - limit} bytes of output were dropped here]\n".encode()
        end = limit // 2
        assert file.getvalue() == output[: limit - end] + dropped + output[len(output) - end :]


@given(CHUNKS)
def test_lines_are_cut_alike_however_they_arrive(chunks: list[bytes]) -> None:
    seen: list[str] = []
    lines = Lines(seen.append)
    for chunk in chunks:
        lines.write(chunk)
    lines.close()
    expected = b"".join(chunks).split(b"\n")
    assert seen == [line.decode(errors="replace") for line in (expected if expected[-1] else expected[:-1])]


def test_of_an_endless_line_the_end_is_kept() -> None:
    seen: list[str] = []
    lines = Lines(seen.append)
    for _ in range(100):
        lines.write(b"x" * 65536)
    lines.write(b"end\n")
    assert len(seen) == 1
    assert len(seen[0]) <= 65536 + 4 and seen[0].endswith("xend")


def test_the_beginning_is_in_the_file_at_once(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        log = BoundedLog(file, 100)
        log.write(b"step 1\n")
        assert (tmp_path / "log").read_bytes() == b"step 1\n"
        log.close()


@pytest.mark.parametrize("limit", [0, 1])
def test_limits_that_keep_next_to_nothing(limit: int) -> None:
    file = io.BytesIO()
    log = BoundedLog(file, limit)
    log.write(b"abc")
    log.close()
    assert (
        file.getvalue()
        == b"abc"[:limit] + f"\n[agentmig: {3 - limit} bytes of output were dropped here]\n".encode()
    )
