from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.doctor.uses import uses
from agentmig.doctor.workload import judge_data, judge_prices, judge_secrets, mistakes
from agentmig.spec import SpecError, Workload, load_prices, load_workload

Make = Callable[..., Workload]


def test_each_mistake_is_a_result_with_its_place(workload_file: Callable[[str], Path], minimal: str) -> None:
    file = workload_file(minimal.replace("margin = 0.01", "margin = 0").replace('"maximize"', '"most"'))
    with pytest.raises(SpecError) as raised:
        load_workload(file)
    found = mistakes(raised.value)
    assert {result.name for result in found} == {"goal.margin", "goal.direction"}
    assert all(result.state == "broken" and f"{file}:" in result.fix for result in found)


def test_a_file_that_is_not_there_can_be_drafted(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as raised:
        load_workload(tmp_path / "none.toml")
    (found,) = mistakes(raised.value)
    assert "agentmig init" in found.fix


def _data(workload: Make, path: str, machine: str = "local") -> Workload:
    return workload(tail=f'[data.set]\npaths = {{ {machine} = "{path}" }}')


def test_data_is_looked_for_where_the_file_says(workload: Make, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert judge_data(_data(workload, str(tmp_path / "data")), ["local"])["data set"].state == "ok"
    found = judge_data(_data(workload, str(tmp_path / "none")), ["local"])["data set"]
    assert found.state == "missing" and str(tmp_path / "none") in found.fix
    found = judge_data(_data(workload, "data/set"), ["local"])["data set"]
    assert found.state == "broken" and "no whole path" in found.seen


def test_data_is_needed_on_every_machine_that_runs_something(workload: Make) -> None:
    found = judge_data(_data(workload, "/data", "box"), ["box", "local"])["data set"]
    assert found.state == "missing" and found.fix.startswith("add data.set.paths.local")
    assert judge_data(_data(workload, "/data", "box"), ["box"]) == {}


def test_data_that_can_not_be_read_is_broken(
    workload: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: mode == 0)  # there, and closed
    found = judge_data(_data(workload, str(tmp_path)), ["local"])["data set"]
    assert found.state == "broken" and found.fix.startswith("chmod")


def test_only_secrets_that_a_command_gets_are_needed_and_only_their_names_are_told(workload: Make) -> None:
    assert judge_secrets(workload(), {}).state == "not needed"
    using = workload(tail='[agent]\nsecrets = ["TOKEN"]')
    found = judge_secrets(using, {})
    assert (found.state, found.fix) == ("missing", "export TOKEN=…")
    found = judge_secrets(using, {"TOKEN": "s3cret"})
    assert found.state == "ok" and "s3cret" not in found.seen


def test_a_price_that_is_not_known_is_a_warning(workload: Make) -> None:
    made = workload()
    assert judge_prices(made, uses(made), load_prices()).state == "ok"
    made = workload(emulated="false", accelerator='"v99"', tail='[agent]\nmodel = "unheard-of"')
    found = judge_prices(made, uses(made), load_prices())
    assert found.state == "warn" and "v99, unheard-of" in found.seen
