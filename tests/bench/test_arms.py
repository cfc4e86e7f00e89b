import random

from agentmig.bench.arms import arm_id, by_group, in_order, sources
from tests.bench.builders import arm


def test_what_is_to_be_accepted_comes_first_in_each_group() -> None:
    arms = [
        arm("lr"),
        arm("helper", "rewrite"),
        arm("clean-migration", "clean"),
        arm("zero", "cheat"),
        arm("lr", id="lr.other.cpu", workload="other"),
    ]
    random.Random(1).shuffle(arms)
    ordered = in_order(arms)
    assert [each.id for each in ordered] == [
        "lr.other.cpu",
        "clean-migration.tiny.cpu",
        "helper.tiny.cpu",
        "lr.tiny.cpu",
        "zero.tiny.cpu",
    ]
    assert {group: len(members) for group, members in by_group(ordered).items()} == {
        ("other", "cpu"): 1,
        ("tiny", "cpu"): 4,
    }


def test_a_number_is_in_a_name_only_where_there_are_several() -> None:
    assert arm_id("lr", "tiny", "cpu", 1, 1) == "lr.tiny.cpu"
    assert arm_id("lr", "tiny", "cpu", 2, 3) == "lr.tiny.cpu.2"


def test_the_code_that_decides_is_part_of_every_key() -> None:
    assert sources() == sources()
    assert len(sources()) == 16
