import re
from pathlib import Path

from agentmig.bench.baselines import WORDS
from agentmig.bench.manifests import Known, Mutant, load_operators
from agentmig.bench.oracle import TOLERANCE
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "howto" / "bench.md").read_text()


def test_the_manifest_on_the_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "larger-rate.toml").write_text(block)
    (operator,) = load_operators(tmp_path, Known({"digits": ["xla", "torch-tpu"]}))
    assert operator.mutant[0].short
    assert operator.mutant[1].inexpressible


def test_the_page_names_all_ways_and_numbers() -> None:
    for way in ("edits", "patch", "transform", "inexpressible"):
        assert way in Mutant.model_fields
        assert f"| `{way}` |" in PAGE
    assert TOLERANCE == 1e-4
    assert "10⁻⁴" in PAGE
    assert len(WORDS) == 4
