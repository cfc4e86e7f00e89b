from pathlib import Path

import pytest

from agentmig.settings import SettingsInvalid, settings


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty configuration: neither variables nor files of whoever runs the tests."""
    for name in ("RUNS", "CACHE", "QUIET", "ISOLATION", "HUMAN_USD_PER_HOUR"):
        monkeypatch.delenv(f"AGENTMIG_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "project" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "deep")


def test_without_any_setting_runs_lie_in_the_current_folder(tmp_path: Path) -> None:
    seen = settings()
    assert seen.runs == tmp_path / "project" / "deep" / ".agentmig" / "runs"
    assert seen.cache == tmp_path / "cache" / "agentmig"
    assert (seen.isolation, seen.quiet) == ("required", False)


def test_the_nearest_file_is_read_and_its_paths_begin_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "agentmig.toml").write_text('runs = "far"\n')
    (tmp_path / "project" / "agentmig.toml").write_text('runs = "near"\nhuman_usd_per_hour = 90\n')
    assert settings().runs == tmp_path / "project" / "near"
    assert settings().human_usd_per_hour == 90


def test_a_variable_comes_before_a_file_and_the_users_file_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config" / "agentmig").mkdir(parents=True)
    (tmp_path / "config" / "agentmig" / "agentmig.toml").write_text("quiet = true\nhuman_usd_per_hour = 1\n")
    (tmp_path / "project" / "agentmig.toml").write_text("human_usd_per_hour = 2\n")
    assert (settings().quiet, settings().human_usd_per_hour) == (True, 2)
    monkeypatch.setenv("AGENTMIG_HUMAN_USD_PER_HOUR", "3")
    assert settings().human_usd_per_hour == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("human_usd_per_hour = -1\n", "human_usd_per_hour: found -1"),
        ('isolaton = "none"\n', "isolaton"),
        ('isolation = "perhaps"\n', "isolation: found 'perhaps'"),
        ("runs = \n", "line 1"),
    ],
)
def test_a_mistake_is_said_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "project" / "agentmig.toml"
    file.write_text(text)
    with pytest.raises(SettingsInvalid) as raised:
        settings()
    assert said in str(raised.value) and str(file) in str(raised.value)


def test_a_mistake_in_a_variable_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMIG_QUIET", "perhaps")
    with pytest.raises(SettingsInvalid, match="AGENTMIG_QUIET"):
        settings()
