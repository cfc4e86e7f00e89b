import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.doctor import Report, examine
from agentmig.doctor.results import TITLES
from tests.doctor.conftest import Script


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    """A person without settings, key, network and accelerators."""
    for name in ("RUNS", "CACHE", "QUIET", "ISOLATION", "HUMAN_USD_PER_HOUR"):
        monkeypatch.delenv(f"AGENTMIG_{name}", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def _examine(file: Path | None = None) -> Report:
    return asyncio.run(examine(file)).report


def _state(report: Report, name: str) -> str:
    (found,) = [result for result in report.results if result.name == name]
    return found.state


def test_without_a_workload_what_every_run_needs_is_looked_at_in_a_fixed_order() -> None:
    report = _examine()
    groups = [result.group for result in report.results]
    assert groups == sorted(groups, key=list(TITLES).index)
    assert {"agent", "isolation", "machine", "backends"} == set(groups)
    assert _state(report, "API key") == "missing"
    assert not report.ready and any("ANTHROPIC_API_KEY" in step for step in report.todo)
    assert [result.name for result in report.results] == [result.name for result in _examine().results]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    _examine()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_workload_adds_what_it_asks_for(workload_file: Callable[[str], Path], minimal: str) -> None:
    report = _examine(workload_file(minimal))
    assert _state(report, "file") == "ok"
    assert _state(report, "project") == "missing"
    assert _state(report, "environment base") == "warn"
    assert _state(report, "torch_xla on CPU in base") == "warn"
    assert _state(report, "local") == "ok"
    assert any(fix.startswith("agentmig reference make") for fix in report.suggestions)


def test_mistakes_in_the_workload_are_listed_and_the_rest_is_looked_at(
    workload_file: Callable[[str], Path], minimal: str
) -> None:
    report = _examine(workload_file(minimal.replace("margin = 0.01", "margin = 0")))
    assert _state(report, "goal.margin") == "broken"
    assert _state(report, "git") == "ok"


def test_mistakes_in_the_settings_are_told_once(
    tmp_path: Path, workload_file: Callable[[str], Path], minimal: str
) -> None:
    (tmp_path / "agentmig.toml").write_text("cahce = 1\n")
    report = _examine(workload_file(minimal))
    broken = [result.name for result in report.results if "cahce" in result.seen]
    assert broken == ["settings"]
    assert not [result for result in report.results if "unexpected" in result.seen]


def test_a_broken_machine_is_described_and_nothing_is_unexpected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workload_file: Callable[[str], Path], minimal: str
) -> None:
    (tmp_path / "cache").write_text("a file in the cache's place")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("HOME")
    report = _examine(workload_file(minimal))
    states = {name: _state(report, name) for name in ("git", "bubblewrap", "cache folder", "project")}
    assert states == {
        "git": "missing",
        "bubblewrap": "missing",
        "cache folder": "broken",
        "project": "missing",
    }
    assert not [result for result in report.results if "unexpected" in result.seen]


def test_what_a_check_did_not_foresee_is_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def ill() -> None:
        raise LookupError("nobody foresaw this")

    monkeypatch.setattr("agentmig.doctor.machine.judge_python", ill)
    report = _examine()
    assert [result.name for result in report.results if "nobody foresaw this" in result.seen] == ["Python"]
    assert _state(report, "git") == "ok"


def test_secrets_are_not_told_whoever_says_them(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hf_s3cret_value")
    script("git", "echo hf_s3cret_value; exit 1")
    assert "hf_s3cret_value" not in _examine().model_dump_json()


def test_what_runs_is_told() -> None:
    told: set[str] = set()
    asyncio.run(examine(None, lambda names: told.update(names)))
    assert {"settings", "Claude Code", "bubblewrap", "git"} <= told
