import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmig.spec import SpecError, load_workload
from tests.conftest import DIGITS

Write = Callable[[str], Path]


def test_a_valid_file_loads_with_its_defaults(workload_file: Write, minimal: str) -> None:
    workload = load_workload(workload_file(minimal))
    assert workload.name == "tiny"
    assert workload.acceptance.goal.looks == [3, 5, 8]
    assert workload.targets["xla"].description.startswith("EMULATED xla")


def test_the_example_loads_from_its_folder() -> None:
    workload = load_workload(DIGITS)
    assert {name: target.chips for name, target in workload.targets.items()} == {"xla": 4, "torch-tpu": 4}
    assert all(target.emulated for target in workload.targets.values())


def test_all_mistakes_are_reported_at_once_with_their_places(workload_file: Write, minimal: str) -> None:
    text = minimal.replace('direction = "maximize"', 'direction = "up"').replace(
        "margin = 0.01", "margin = -1\nmagrin = 2"
    )
    text = text.replace('environment = "base"\n[targets', 'environment = "bsae"\n[targets')
    text = text.replace("--seed {seed}", "--seed {sede}").replace("([0-9.]+)", "[0-9.]+")
    file = workload_file(text)
    with pytest.raises(SpecError) as caught:
        load_workload(file)
    found = {problem.key: problem for problem in caught.value.problems}
    assert set(found) == {
        "goal.direction",
        "goal.margin",
        "goal.magrin",
        "goal.pattern",
        "reference.environment",
        "train.command",
    }
    assert found["goal.direction"].found == "'up'"
    assert "'maximize' or 'minimize'" in found["goal.direction"].allowed
    assert "base" in found["reference.environment"].allowed
    line = found["reference.environment"].line
    assert line is not None
    assert file.read_text().splitlines()[line - 1] == 'environment = "bsae"'
    assert str(file) in str(caught.value)
    assert (
        sum(problem.key == "train.command" for problem in caught.value.problems) == 2
    )  # unknown field, and no {seed}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("{checkpoint}", "model.pt"), "evaluate.command"),
        (("requirements = [", "requirement = ["), "environments.base.requirements"),
        (('kind = "pip"', 'kind = "python"'), "environments.base.python"),
        (("--out {out}", "--out {out} --data {data.images}"), "train.command"),
        (("--out {out}", "--out {out"), "train.command"),
        (("[train]\n", '[train]\nsecrets = ["OTHER"]\n'), "train.secrets"),
        (("schema_version = 1", "schema_version = 2"), "schema_version"),
        (('accelerator = "v5e"', 'accelerator = "v5e"\nmachine = "tpu-vm"'), "targets.xla.machine"),
    ],
)
def test_each_mistake_is_named(workload_file: Write, minimal: str, change: tuple[str, str], key: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_workload(workload_file(minimal.replace(*change)))
    assert key in [problem.key for problem in caught.value.problems]


def test_machines_data_and_secrets_have_their_place_today(workload_file: Write, minimal: str) -> None:
    later = """
[machines.tpu-vm]
kind = "ssh"
host = "tpu"
workers = ["tpu-0", "tpu-1"]
[data.images]
paths = { local = "/data/images", tpu-vm = "/mnt/images" }
fingerprint = "sha256:00"
"""
    text = minimal.replace("--out {out}", "--out {out} --data {data.images}") + later
    assert load_workload(workload_file(text)).machines["tpu-vm"].workers == ["tpu-0", "tpu-1"]


def test_a_file_that_is_not_there_and_one_that_is_no_toml(tmp_path: Path, workload_file: Write) -> None:
    with pytest.raises(SpecError, match="No such file"):
        load_workload(tmp_path / "none.toml")
    with pytest.raises(SpecError, match=":2: "):
        load_workload(workload_file("a = 1\nb = = 2\n"))


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3),
    )
)
def test_any_value_anywhere_gives_a_spec_error_and_nothing_else(
    workload_file: Write, minimal: str, value: object
) -> None:
    document = tomllib.loads(minimal)
    for table in ("targets", "environments", "train", "goal", "reference"):
        file = workload_file(minimal)
        text = f"{table} = {_toml(value)}\n" + "\n".join(
            f"{k} = {_toml(v)}" for k, v in document.items() if not isinstance(v, dict)
        )
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SpecError):
            load_workload(file)


def _toml(value: object) -> str:
    if value is None:
        return '""'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(max(-(2**63), min(value, 2**63 - 1)))
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return '"' + "".join(c if c.isalnum() and c.isascii() else "_" for c in str(value)) + '"'
