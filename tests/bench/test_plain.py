import pytest

from agentmig.bench.plain import Plain, numbered_lines
from tests.bench.builders import plain


def test_only_lines_with_numbers_are_kept_and_states_of_a_progress_bar_are_lines() -> None:
    assert numbered_lines("begin\nloss 0.5\r\n10%\r20%\nend\nloss nan\nname\n") == [
        "loss 0.5",
        "10%",
        "20%",
        "loss nan",
    ]


def test_losses_are_read_from_the_lines() -> None:
    assert plain().losses == ["0.5000", "0.2500"]


@pytest.mark.parametrize("value", [float("inf"), 0.5, None])
def test_what_is_kept_reads_back_as_it_was(value: float | None) -> None:
    made = plain(metric=value)
    assert Plain.model_validate_json(made.model_dump_json()) == made
