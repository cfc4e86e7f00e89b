from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.configs import hydra_values, literal, read_values
from tests.drafting.programs import tree_of


def test_keys_get_their_dotted_names() -> None:
    text = "seed: 3  # of all\ntrainer:\n  max_epochs: 10\n  opt:\n    lr: 1e-3\nname: 'x'\nlist:\n  - a\n"
    values = {value.key: value.value for value in read_values("c.yaml", text)}
    assert values == {"seed": 3, "trainer.max_epochs": 10, "trainer.opt.lr": 1e-3, "name": "x"}


def test_hydra_groups_are_read_with_their_prefix() -> None:
    tree = tree_of(
        {
            "conf/train.yaml": "defaults:\n  - _self_\n  - trainer: small\n  - override hydra/x: y\nseed: null\n",
            "conf/trainer/small.yaml": "max_epochs: 5\n",
        }
    )
    values = {
        value.key: (value.value, str(value.place)) for value in hydra_values(tree, "conf", "train.yaml")
    }
    assert values == {
        "seed": (None, "conf/train.yaml:5"),
        "trainer.max_epochs": (5, "conf/trainer/small.yaml:1"),
    }
    assert hydra_values(tree, "conf", "missing") == []


def test_words_of_yaml() -> None:
    assert [literal(word) for word in ("True", "~", "1.5", "a b", "[1]")] == [True, None, 1.5, "a b", "[1]"]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_values("c.yaml", text)
