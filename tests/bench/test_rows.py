import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.bench import rows
from tests.bench.builders import arm, observation

ROW = observation(arm())


@given(st.lists(st.sampled_from("abc"), max_size=6), st.integers(0, 400))
def test_rows_read_back_and_a_line_that_was_cut_off_is_dropped(
    tmp_path: Path, keys: list[str], lost: int
) -> None:
    file = tmp_path / rows.FILE
    file.unlink(missing_ok=True)
    made = [ROW.model_copy(update={"key": key, "metric": float(n)}) for n, key in enumerate(keys)]
    for row in made:
        rows.append(tmp_path, row)
    assert rows.read(tmp_path) == {row.key: row for row in made}
    if made:
        data = file.read_bytes()
        last = data.rindex(b"\n", 0, -1) + 1 if len(made) > 1 else 0
        cut = max(last, len(data) - 1 - lost)
        file.write_bytes(data[:cut])
        assert rows.read(tmp_path) == {row.key: row for row in made[:-1]}
        rows.append(tmp_path, made[-1])
        assert rows.read(tmp_path) == {row.key: row for row in made}


def test_a_folder_without_rows_has_none(tmp_path: Path) -> None:
    assert rows.read(tmp_path) == {}


def test_damage_is_named_by_its_line(tmp_path: Path) -> None:
    rows.append(tmp_path, ROW)
    with (tmp_path / rows.FILE).open("a") as file:
        file.write(json.dumps({"key": 3}) + "\n")
    with pytest.raises(rows.RowsError, match=r"rows\.jsonl:2: damaged"):
        rows.read(tmp_path)
    (tmp_path / rows.FILE).write_bytes(b"\xff\xfe\n")
    with pytest.raises(rows.RowsError, match="remove it to run all arms again"):
        rows.read(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(rows.RowsError, match="all earlier rows are kept"):
        rows.append(tmp_path / "nowhere", ROW)
