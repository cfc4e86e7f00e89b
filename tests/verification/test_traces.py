import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.verification.traces import read_trace, read_world
from tests.verification.parallel import Program, train, write

STEP = {"kind": "step", "step": 0, "loss": 1.5}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["nan", "inf"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["step", "optimizer", "note", "checkpoint", "seed", "end", "probe_error", "weather"])


def trace_file(folder: Path, *lines: Any, tail: str = "") -> Path:
    path = folder / "trace-0.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    world = train(Program())
    write(world, tmp_path)
    again = read_world(tmp_path)
    assert again.handshakes == world.handshakes
    assert {rank: trace.steps for rank, trace in again.ranks.items()} == {
        r: t.steps for r, t in world.ranks.items()
    }
    assert again.size == 4 and again.missing == [] and again.damage == []
    assert again.count == 8 and again.losses == world.losses
    assert again.samples(0) == 32


def test_loss_is_the_mean_over_the_ranks() -> None:
    world = train(Program())
    losses = [trace.steps[2].loss for trace in world.ranks.values()]
    assert world.loss(2) == pytest.approx(sum(loss or 0.0 for loss in losses) / 4)
    object.__setattr__(world.ranks[3].steps[2], "loss", None)
    assert world.loss(2) is None


def test_words_become_numbers(tmp_path: Path) -> None:
    path = trace_file(tmp_path, {**STEP, "loss": "nan", "grad_norm": "inf", "update_norm": "-inf"})
    step = read_trace(path, 0).steps[0]
    assert step.loss is not None and math.isnan(step.loss)
    assert (step.grad_norm, step.update_norm) == (math.inf, -math.inf)


def test_last_line_may_be_cut_off(tmp_path: Path) -> None:
    trace = read_trace(trace_file(tmp_path, STEP, tail='{"kind": "step", "st'), 0)
    assert len(trace.steps) == 1 and trace.cut_off and trace.damage == []


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace-0.jsonl"
    path.write_text(
        f'{json.dumps(STEP)}\n{{"kind": "st\n[1]\n{{"kind": "step", "step": "x"}}\n{json.dumps(STEP)}\n'
    )
    trace = read_trace(path, 0)
    assert len(trace.steps) == 2 and not trace.cut_off
    assert [text.partition(":")[0] for text in trace.damage] == [
        f"trace-0.jsonl line {number}" for number in (2, 3, 4)
    ]
    assert "step: " in trace.damage[2]


def test_unknown_kinds_and_fields_are_no_damage(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path, {"kind": "weather"}, {"kind": "weather"}, {**STEP, "mood": [1]}, {"no": "kind"}
    )
    trace = read_trace(path, 0)
    assert trace.unknown == {"weather": 2, "None": 1}
    assert len(trace.steps) == 1 and trace.damage == []


def test_missing_ranks(tmp_path: Path) -> None:
    write(train(Program()), tmp_path)
    (tmp_path / "trace-1.jsonl").unlink()
    (tmp_path / "handshake-3.json").unlink()
    (tmp_path / "handshake-x.json").write_text("{}")
    assert read_world(tmp_path).missing == [1, 3]


def test_damaged_handshake_is_named(tmp_path: Path) -> None:
    write(train(Program()), tmp_path)
    (tmp_path / "handshake-2.json").write_text("{")
    world = read_world(tmp_path)
    assert world.missing == [2]
    assert world.damage[0].startswith("handshake-2.json: ")


def test_folder_without_anything_misses_rank_0(tmp_path: Path) -> None:
    world = read_world(tmp_path)
    assert (world.size, world.missing, world.count, world.loss(0)) == (1, [0], 0, None)
    assert world.first.steps == []


@given(st.lists(st.tuples(KINDS, st.dictionaries(st.text(max_size=10), JSON, max_size=4)), max_size=6))
def test_any_json_line_is_read_counted_or_named(
    tmp_path: Path, lines: list[tuple[str, dict[str, Any]]]
) -> None:
    path = trace_file(tmp_path, *({**fields, "kind": kind} for kind, fields in lines))
    trace = read_trace(path, 0)
    taken: list[Sequence[object]] = [
        trace.steps,
        trace.optimizers,
        trace.notes,
        trace.checkpoints,
        trace.seeds,
        trace.errors,
        trace.damage,
    ]
    ends = [kind for kind, _ in lines if kind == "end"]
    counted = sum(len(part) for part in taken) + sum(trace.unknown.values())
    damaged_ends = sum(1 for text in trace.damage if lines[int(text.split()[2].rstrip(":")) - 1][0] == "end")
    assert counted + len(ends) - damaged_ends == len(lines)
    assert not trace.cut_off


@given(st.binary(max_size=200))
def test_any_bytes_are_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "trace-0.jsonl"
    path.write_bytes(data)
    trace = read_trace(path, 0)
    assert len(trace.steps) == 0 or b"step" in data


@given(st.integers(min_value=0, max_value=400))
def test_a_cut_anywhere_loses_at_most_the_line_it_hits(tmp_path: Path, cut: int) -> None:
    lines = [json.dumps({**STEP, "step": number}) + "\n" for number in range(8)]
    text = "".join(lines)[:cut]
    path = tmp_path / "trace-0.jsonl"
    path.write_text(text)
    trace = read_trace(path, 0)
    complete = text.count("\n")
    # A line whose newline alone is missing is whole.
    assert len(trace.steps) - complete in (0, 1)
    assert trace.damage == []
