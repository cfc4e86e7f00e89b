from pathlib import Path

import pytest

from agentmig.policy import FEATURES, load_policy
from agentmig.spec import SpecError
from tests.conftest import REPOSITORY


def test_mistakes_are_named_all_at_once(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        'name = "p"\n[[rule]]\nname = "a"\naction = "go"\nreason = "r"\nwhen = [{ feature = "trns", at_least = 1 }]\n'
        '[[rule]]\nname = "b"\naction = "stop"\nreason = "r"\nwhen = [{ feature = "turns" }]\n'
    )
    with pytest.raises(SpecError) as caught:
        load_policy(file)
    text = str(caught.value)
    assert "rule.0.action" in text and "no feature 'trns'" in text and "needs at_least or below" in text


def test_every_feature_is_described() -> None:
    page = (REPOSITORY / "docs" / "policies.md").read_text()
    assert [name for name in FEATURES if f"`{name}`" not in page] == []
