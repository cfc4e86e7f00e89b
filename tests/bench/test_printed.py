import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentmig.bench import printed


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("epoch  1/10  loss 0.4312  0.35 s", "0.4312"),
        ("Epoch 3: train_loss=1.25e-03, val_loss=0.9", "1.25e-03"),
        ("step 100 | loss: 2.5 | lr 0.1", "2.5"),
        ("Loss/train 0.75", "0.75"),
        ("loss -0.5", "-0.5"),
        ("loss - 0.5", "0.5"),
        ("{'loss': 0.125, 'step': 3}", "0.125"),
        ('{"loss":0.125}', "0.125"),
        ("loss nan", "nan"),
        ("mean loss is 3", "3"),
        ("loss (train): .5", ".5"),
        ("loss[avg] = 7.", "7."),
        ("loss_ce 0.25", "0.25"),
        ("losses: 0.5 0.25", "0.5"),
    ],
)
def test_the_number_after_the_word_loss_is_found(line: str, found: str) -> None:
    assert printed.losses([line]) == [found]


@pytest.mark.parametrize(
    "line", ["loss", "lossless 3 times", "the loss of 3rd kind", "no number: loss high", "accuracy 0.9"]
)
def test_no_loss_is_found_where_none_is_printed(line: str) -> None:
    assert printed.losses([line]) == []


@pytest.mark.parametrize(
    ("text", "unit"),
    [("0.1234", 1e-4), ("12", 0.0), ("1.5e-05", 1e-6), ("1.25E+3", 10.0), ("nan", 0.0), ("-.5", 0.1)],
)
def test_one_unit_of_the_last_digit(text: str, unit: float) -> None:
    assert printed.resolution(text) == pytest.approx(unit)


@given(st.floats(-1e6, 1e6), st.floats(-5e-5, 5e-5), st.integers(1, 6), st.sampled_from("feg"))
def test_roundings_of_nearly_the_same_number_are_alike(
    value: float, apart: float, digits: int, form: str
) -> None:
    other = value * (1 + apart)
    one, two = (format(each, f".{digits}{form}") for each in (value, other))
    assume(form != "g" or digits > 4)  # `g` drops zeros, and with them the digits that it knows
    assert printed.alike(one, two)
    assert printed.alike(two, one)


@given(st.floats(0.01, 1e6), st.integers(3, 6))
def test_numbers_that_are_plainly_apart_are_not_alike(value: float, digits: int) -> None:
    one, two = f"{value:.{digits}f}", f"{value * 1.3 + 0.01:.{digits}f}"
    assert not printed.alike(one, two)
    assert printed.alike(one, two, noise=value + 1)


def test_numbers_that_are_none_are_alike_only_where_both_are_the_same() -> None:
    assert printed.alike("nan", "nan")
    assert printed.alike("inf", "inf")
    assert not printed.alike("nan", "0.5")
    assert not printed.alike("inf", "-inf")


def test_a_series_differs_where_it_leaves_the_noise_of_equal_trainings() -> None:
    clean, again = ["0.500", "0.250"], ["0.500", "0.260"]
    assert printed.first_difference(clean, clean, ["0.500", "0.258"]) == 1
    assert printed.first_difference(clean, again, ["0.500", "0.258"]) is None
    assert printed.first_difference(clean, again, ["0.500", "nan"]) == 1
    assert printed.first_difference(clean, again, ["0.500"]) == 1
    assert printed.first_difference([], [], []) is None
    assert printed.first_difference(["nan"], ["nan"], ["nan"]) is None


def _difference(clean: list[str], again: list[str], other: list[str]) -> str | None:
    return printed.evaluation_difference(*map(printed.evaluations, (clean, again, other)))


def test_an_evaluation_differs_by_its_numbers_and_by_its_lines() -> None:
    clean = ["epoch 1/2 val acc 0.90 loss 0.5", "epoch 2/2 val acc 0.95 loss 0.4"]
    assert _difference(clean, clean, clean) is None
    worse = _difference(clean, clean, [clean[0], clean[1].replace("0.95", "0.85")])
    assert worse is not None
    assert "0.85 where the correct migration prints 0.95" in worse
    assert _difference(clean, clean, clean[:1]) is not None
    assert _difference(clean, clean, [*clean, "test acc 0.99"]) is not None


def test_clocks_and_what_equal_trainings_print_differently_say_nothing() -> None:
    clean = ["val acc 0.90 in 1.25 s at 312.5 and 41ms", "eval took 3"]
    again = ["val acc 0.90 in 1.35 s at 311.0 and 40ms", "eval took 4"]
    other = ["val acc 0.90 in 9.35 s at 100.0 and 90ms", "eval took 9"]
    assert _difference(clean, again, other) is None
    assert _difference(clean, again, [other[0].replace("0.90", "0.80"), other[1]]) is not None


def test_lines_that_speak_of_no_evaluation_are_left_out() -> None:
    assert printed.evaluations(["epoch 3 done", "invalid value 7", "saved /tmp/test/1/model.pt"]) == {}


@given(st.lists(st.text("acc test0123456789.e-+/%s nan:", max_size=20), max_size=5))
def test_any_log_is_like_itself(lines: list[str]) -> None:
    assert _difference(lines, lines, lines) is None
    losses = printed.losses(lines)
    assert all(math.isnan(float(each)) or float(each) is not None for each in losses)
