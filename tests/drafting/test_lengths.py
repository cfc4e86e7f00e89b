import pytest

from agentmig.drafting.lengths import Length, find_lengths
from tests.drafting.programs import program_of


def _lengths(text: str) -> list[Length]:
    program = program_of("import argparse\np = argparse.ArgumentParser()\n" + text)
    return find_lengths(program.reach, program.options, program.symbols)


@pytest.mark.parametrize(
    ("flag", "unit"),
    [("--epochs", "epochs"), ("--num_train_epochs", "epochs"), ("--niter", "epochs"), ("--max-steps", "steps"), ("--total-timesteps", "steps")],
)  # fmt: skip
def test_options_for_the_length(flag: str, unit: str) -> None:
    (length,) = _lengths(f"p.add_argument('{flag}', type=int, default=7)\n")
    assert (length.unit, length.value, length.option is not None) == (unit, 7, True)


@pytest.mark.parametrize(
    "flag", ["--warmup-epochs", "--eval-steps", "--min_epochs", "--log-steps", "--epoch-name"]
)
def test_options_that_are_no_length(flag: str) -> None:
    assert _lengths(f"p.add_argument('{flag}', type=int, default=7)\n") == []


def test_the_whole_comes_before_a_part() -> None:
    text = "p.add_argument('--num-steps', default=128)\np.add_argument('--total-timesteps', default=500000)\n"
    assert [length.value for length in _lengths(text)] == [500000, 128]
    assert _lengths(text)[0].is_long


def test_a_limit_that_is_off_is_no_end() -> None:
    (length,) = _lengths("p.add_argument('--max-steps', default=-1)\n")
    assert length.is_endless
    both = _lengths("p.add_argument('--max-steps', default=-1)\np.add_argument('--epochs', default=3)\n")
    assert [length.unit for length in both] == ["epochs"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("for epoch in range(20):\n    pass\n", 20),
        ("for epoch in range(start, start + 30):\n    pass\n", 30),
        ("EPOCHS = 40\nfor epoch in tqdm(range(1, EPOCHS + 1)):\n    pass\n", 40),
        ("for epoch in trange(50):\n    pass\n", 50),
        ("trainer = Trainer(max_epochs=60)\n", 60),
    ],
)
def test_numbers_that_the_code_writes(text: str, value: int) -> None:
    (length,) = _lengths(text)
    assert (length.value, length.option) == (value, None)
