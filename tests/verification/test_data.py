from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentmig.probe.passes import Ledger
from agentmig.verification.data import findings
from agentmig.verification.records import Pass
from agentmig.verification.traces import RankTrace, World

SAMPLES = 40
Share = Sequence[Sequence[int]]


def world(*ranks: Share, training: bool = True, holds: Any = None, complete: bool = True) -> World:
    """A run whose ranks took these indices in each pass; `holds` gives what a sample of a pass holds."""
    made = World(Path("none"))
    for rank, passes in enumerate(ranks):
        made.ranks[rank] = RankTrace(rank)
        for number, indices in enumerate(passes):
            ledger = Ledger(number)
            ledger.saw(list(indices))
            ledger.complete = complete
            if holds:
                ledger.keep(list(indices), [holds(index, number) for index in indices])
            fields = {**ledger.fields(), "loader": 0, "training": training}
            made.ranks[rank].passes.append(Pass.model_validate(fields))
    return made


def shuffled(seed: int) -> list[int]:
    return sorted(range(SAMPLES), key=lambda index: (index * 7919 + seed * 104729) % 9973)


def shares(size: int, epochs: int = 3, shift: int = 0) -> list[Share]:
    """Each rank's stride of a new order in each epoch."""
    return [[shuffled(epoch + shift)[rank::size] for epoch in range(epochs)] for rank in range(size)]


def fixed(index: int, number: int) -> tuple[str, str]:
    return f"n{index}", f"l{index}"


def augmented(index: int, number: int) -> tuple[str, str]:
    return f"n{index}-{number}", f"l{index}"


def causes(reference: World, candidate: World) -> list[str]:
    return [finding.cause for finding in findings(reference, candidate)]


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.integers(0, 9))
def test_the_same_samples_in_other_shares_and_orders_are_no_finding(old: int, new: int, shift: int) -> None:
    assert causes(world(*shares(old), holds=fixed), world(*shares(new, shift=shift), holds=fixed)) == []


@given(st.integers(1, SAMPLES // 2))
def test_samples_that_are_left_out_are_found(left_out: int) -> None:
    fewer = [[part[:-left_out] for part in shares(1)[0]]]
    (finding,) = findings(world(*shares(1)), world(*fewer))
    assert finding.cause == "data_changed"
    assert f"takes {SAMPLES - left_out} samples; the reference's takes {SAMPLES}" in finding.summary


def test_other_samples_in_the_same_number_are_found() -> None:
    other = [[[index + 5 for index in part] for part in shares(1)[0]]]
    assert causes(world(*shares(1)), world(*other)) == ["data_changed"]


def test_a_sampler_that_draws_anew_in_each_epoch_may_draw_otherwise() -> None:
    drawn = [[[(index * epoch) % SAMPLES for index in range(SAMPLES)] for epoch in (3, 7, 9)]]
    again = [[[(index * epoch) % SAMPLES for index in range(SAMPLES)] for epoch in (11, 13, 17)]]
    assert causes(world(*drawn), world(*again)) == []


def test_padding_of_another_number_of_replicas_is_no_finding() -> None:
    padded = [[[*part, 0] for part in rank] if number == 3 else rank for number, rank in enumerate(shares(4))]
    assert causes(world(*shares(1)), world(*padded)) == []
    assert causes(world(*shares(4)), world(*padded)) == ["data_changed"]


def test_replicas_on_the_same_samples_are_found() -> None:
    same = [shares(1)[0]] * 4
    assert "same_data" in causes(world(*shares(4)), world(*same))
    assert "same_data" not in causes(world(*same), world(*same))


def test_an_order_that_never_changes_is_found() -> None:
    still = [[shuffled(1)] * 3]
    assert causes(world(*shares(1)), world(*still)) == ["not_reshuffled"]
    assert causes(world(*still), world(*still)) == []


def test_an_evaluation_on_each_replica_may_be_shared_out() -> None:
    whole = [[list(range(SAMPLES))]] * 4
    parts = [[list(range(rank, SAMPLES, 4))] for rank in range(4)]
    assert causes(world(*whole, training=False), world(*parts, training=False)) == []


def test_an_evaluation_of_a_part_or_with_duplicates_is_found() -> None:
    whole = [[list(range(SAMPLES))]]
    tail = [[list(range(SAMPLES - 3))]]
    twice = [[[*range(SAMPLES), 0, 1]]]
    for wrong in (tail, twice):
        assert causes(world(*whole, training=False), world(*wrong, training=False)) == ["evaluation_changed"]


def test_a_pass_that_was_broken_off_tells_no_number() -> None:
    half = [[part[:20] for part in shares(1)[0]]]
    assert causes(world(*shares(1)), world(*half, complete=False)) == []


def test_other_labels_are_found_under_augmentation_too() -> None:
    def noisy(index: int, number: int) -> tuple[str, str]:
        numbers, label = augmented(index, number)
        return numbers, "l0" if index % 9 == 1 else label

    (finding,) = findings(world(*shares(1), holds=augmented), world(*shares(1), holds=noisy))
    assert (finding.cause, finding.evidence["part"]) == ("data_changed", "labels")


def test_augmentation_alone_is_no_finding() -> None:
    def otherwise(index: int, number: int) -> tuple[str, str]:
        return f"other{index}-{number}", f"l{index}"

    assert causes(world(*shares(1), holds=augmented), world(*shares(1), holds=otherwise)) == []


def test_samples_under_other_numbers_are_no_finding() -> None:
    def moved(index: int, number: int) -> tuple[str, str]:
        return f"n{(index + 1) % SAMPLES}", ""

    def unlabelled(index: int, number: int) -> tuple[str, str]:
        return f"n{index}", ""

    assert causes(world(*shares(1), holds=unlabelled), world(*shares(1), holds=moved)) == []
