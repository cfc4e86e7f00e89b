from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.supervisor.inputs import FILE, InputsError, kept_inputs, read_inputs


def test_what_was_kept_is_what_was_read(
    tmp_path: Path, workload_file: Callable[[str], Path], minimal: str
) -> None:
    file = workload_file(minimal)
    inputs = read_inputs(file)
    inputs.keep(tmp_path)
    file.write_text("changed since\n")
    assert kept_inputs(tmp_path, inputs.workload.file) == inputs


def test_only_the_named_targets_are_kept(workload_file: Callable[[str], Path], minimal: str) -> None:
    two = minimal + '[targets.cpu]\nbackend = "cpu"\nenvironment = "base"\naccelerator = "cpu"\n'
    assert list(read_inputs(workload_file(two), ["cpu"]).workload.targets) == ["cpu"]
    with pytest.raises(InputsError, match="no target 'gpu'; it has xla, cpu"):
        read_inputs(workload_file(two), ["cpu", "gpu"])


def test_a_policy_of_the_settings_is_used_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workload_file: Callable[[str], Path], minimal: str
) -> None:
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    mine.write_text('name = "mine"\n')
    other.write_text('name = "other"\n')
    monkeypatch.setenv("AGENTMIG_POLICY", str(mine))
    assert read_inputs(workload_file(minimal)).policy.name == "mine"
    assert read_inputs(workload_file(minimal), policy=other).policy.name == "other"


@pytest.mark.parametrize("text", [None, "{", '{"workload": {}}'])
def test_a_run_without_usable_inputs_says_so(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(InputsError, match="start it anew"):
        kept_inputs(tmp_path, tmp_path / "workload.toml")
