import re
from pathlib import Path

import pytest

import agentmig
from agentmig.failures.taxonomy import CAUSES, advice

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = Path(agentmig.__file__).parent


@pytest.mark.parametrize("name", CAUSES)
def test_each_cause_is_one_for_people(name: str) -> None:
    cause = CAUSES[name]
    assert re.fullmatch(r"[a-z][a-z0-9_]+", name) and cause.name == name
    assert cause.meaning.endswith(".") and cause.meaning[0].isupper()
    assert advice(name) == cause.advice and cause.advice.endswith(".")


def test_the_document_lists_the_causes_and_no_others() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", (REPOSITORY / "docs/causes.md").read_text(), re.MULTILINE
    )
    assert {name: (meaning, told) for name, meaning, told in rows} == {
        name: (cause.meaning, cause.advice) for name, cause in CAUSES.items()
    }


def test_every_cause_that_code_gives_is_known() -> None:
    pattern = (
        r"(?:Finding\(\s*|failed\(\s*(?:GATE|gate), \w+, |inconclusive\(\s*(?:GATE|gate), \w+, )\"(\w+)\""
    )
    given = {
        name
        for folder in ("verification", "failures")
        for path in (SOURCES / folder).rglob("*.py")
        for name in re.findall(pattern, path.read_text())
    }
    assert len(given) > 30
    assert given <= set(CAUSES)


def test_a_fault_of_the_machine_is_told_from_one_of_the_code() -> None:
    assert {name for name, cause in CAUSES.items() if cause.fault == "infrastructure"} >= {
        "preempted",
        "disk_full",
    }
    assert all(cause.kind == "loud" for cause in CAUSES.values() if cause.fault == "infrastructure")
    assert all(cause.kind == "cheat" for cause in CAUSES.values() if cause.fault == "conduct")
