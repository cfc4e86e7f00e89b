from pathlib import Path

import pytest

from agentmig.spec import SpecError, load_prices


def test_every_price_names_its_source_and_date() -> None:
    book = load_prices()
    assert all(
        price.source and price.date.year >= 2026
        for price in [*book.models.values(), *book.accelerators.values()]
    )


def test_a_model_is_found_with_its_date_suffix_and_nothing_else_is() -> None:
    book = load_prices()
    assert book.model("claude-sonnet-4-5-20250929") == book.models["claude-sonnet-4-5"]
    assert book.model("claude-sonnet-4-5-fast") is None
    assert book.model("gpt") is None


def test_a_wrong_price_is_named(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('[models]\n[accelerators.v5e]\nusd_per_chip_hour = -1\nsource = "x"\ndate = 2026-01-01\n')
    with pytest.raises(SpecError, match=r"accelerators\.v5e\.usd_per_chip_hour"):
        load_prices(file)
