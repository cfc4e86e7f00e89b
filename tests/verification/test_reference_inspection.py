import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmig.spec.workload import GoalTest
from agentmig.verification.reference_cache import Entry
from agentmig.verification.reference_inspection import _like, detectable, inspect
from agentmig.verification.reference_key import DocumentError, write_document
from agentmig.verification.references import MADE, GoalReference
from agentmig.verification.statistics import claim_alpha, nominal_alpha, runs_needed
from tests.verification.untouched import Untouched, manifest, measured

TEST = GoalTest()


def test_what_there_is_is_told_part_by_part(tmp_path: Path) -> None:
    workload = Untouched(tmp_path).workload
    entry = measured(tmp_path / "cache", manifest())
    found = inspect(workload, entry, manifest())
    assert found.goal is not None
    assert found.goal.values == {1: 0.9, 2: 0.91, 3: 0.92}
    assert [found.goal.mean, found.goal.deviation] == pytest.approx([0.91, 0.01])
    assert found.goal.margin is not None and found.goal.margin.in_deviations == pytest.approx(2.0)
    assert [part.name for part in found.parts] == ["calibration-2", "record-2-float64", "record-2-production"]
    assert all(part.wall_s == 5.0 and part.hardware.startswith("NVIDIA") for part in found.parts)
    assert found.missing == ["record-4-float64", "record-4-production", "calibration-4"]
    assert found.bytes > sum(part.bytes for part in found.parts) > 0


def test_nothing_is_there_before_it_is_measured(tmp_path: Path) -> None:
    found = inspect(Untouched(tmp_path).workload, Entry(tmp_path / "cache", manifest().key), manifest())
    assert (found.goal, found.parts, found.bytes, found.others) == (None, [], 0, [])
    assert found.missing[0] == "goal"


def test_why_other_results_do_not_apply(tmp_path: Path) -> None:
    workload = Untouched(tmp_path).workload
    entry = measured(tmp_path / "cache", manifest())
    older = measured(tmp_path / "cache", manifest(tree="d" * 40, cores=64))
    stranger = manifest(probe="0" * 64).model_copy(update={"workload": "stranger"})
    measured(tmp_path / "cache", stranger)
    nobody = measured(tmp_path / "cache", manifest(semantics_steps=3))
    (nobody.folder / "manifest.json").unlink()
    found = inspect(workload, entry, manifest())
    assert [other.key for other in found.others] == [older.key]
    assert found.others[0].differences == [
        "the project at its base commit (tree): dddddddddddd there, aaaaaaaaaaaa here",
        "the machine's cores: 64 there, 8 here",
    ]
    assert found.unknown == [nobody.key]


def test_parts_of_an_earlier_version_are_told_from_their_traces(tmp_path: Path) -> None:
    entry = measured(tmp_path / "cache", manifest())
    (entry.folder / "record-2-float64" / MADE).unlink()
    found = inspect(Untouched(tmp_path).workload, entry, manifest())
    part = next(part for part in found.parts if part.name == "record-2-float64")
    assert (part.hardware, part.wall_s) == ("CPU, 2 processes", None)


def test_damage_of_other_results_hides_nothing(tmp_path: Path) -> None:
    workload = Untouched(tmp_path).workload
    entry = measured(tmp_path / "cache", manifest())
    other = measured(tmp_path / "cache", manifest(cores=2))
    (other.folder / "manifest.json").write_text("{")
    assert inspect(workload, entry, manifest()).unknown == [other.key]
    entry.goal_file.write_text("{")
    with pytest.raises(DocumentError, match=r"goal\.json"):
        inspect(workload, entry, manifest())


def test_a_metric_that_is_not_finite_is_no_reason_to_give_up(tmp_path: Path) -> None:
    entry = measured(tmp_path / "cache", manifest())
    goal = GoalReference.model_validate_json(entry.goal_file.read_text())
    write_document(entry.goal_file, goal.model_copy(update={"values": [0.9, math.nan, 0.92]}))
    found = inspect(Untouched(tmp_path).workload, entry, manifest())
    assert found.goal is not None and found.goal.margin is None
    assert '"NaN"' in found.model_dump_json()


def test_the_margin_against_the_spread() -> None:
    values = [0.90, 0.91, 0.92]
    wide = detectable(values, 0.2, TEST)
    assert wide.look == 3 and wide.runs_needed is not None and wide.runs_needed <= 3
    narrow = detectable(values, 0.001, TEST)
    assert narrow.look is None and narrow.in_deviations == pytest.approx(0.1)
    assert wide.nominal_alpha == nominal_alpha((3, 5, 8), claim_alpha(0.05, 4, 1))


def test_more_runs_of_the_candidate_do_not_make_up_for_a_reference_of_few_seeds() -> None:
    few = detectable([0.4375, 0.4375, 0.203125], 0.45, GoalTest(looks=[5, 20]))
    assert few.shown_at[20] > few.shown_at[5]
    assert few.look == 5


def test_a_reference_that_never_varies_has_no_deviation_to_measure_by() -> None:
    same = detectable([0.9, 0.9, 0.9], 0.01, TEST)
    assert (same.in_deviations, same.look, same.shown_at) == (None, 3, {3: 0.0, 5: 0.0, 8: 0.0})


@settings(max_examples=30)
@given(
    st.lists(st.floats(0.1, 0.9), min_size=3, max_size=6),
    st.floats(0.001, 1.0),
    st.sampled_from([[3], [3, 5, 8], [5, 20]]),
)
def test_looks_are_reckoned_as_the_gate_reckons_runs(
    values: list[float], margin: float, looks: list[int]
) -> None:
    seen = detectable(values, margin, GoalTest(looks=looks))
    for look, smallest in seen.shown_at.items():
        # From `look` equal values on, so many runs are the fewest that `runs_needed` can say.
        like = _like(values, look)
        for factor in (0.999, 1.001):
            needed = runs_needed(values, like, smallest * factor or 1e-9, "minimize", seen.nominal_alpha)
            assert (needed == look) == (factor > 1 or smallest == 0)
