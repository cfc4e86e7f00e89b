import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agentmig.execution.environments import (
    Built,
    EnvironmentBuildError,
    build,
    cache_root,
    environment_key,
)
from agentmig.probe.loader import PTH_NAME
from agentmig.spec.workload import Environment


def _environment(**fields: object) -> Environment:
    return Environment.model_validate(fields)


def _package(folder: Path) -> str:
    """A project without dependencies that pip can install without any registry."""
    folder.mkdir()
    (folder / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='tinypkg', version='1', py_modules=['tinypkg'])\n"
    )
    (folder / "tinypkg.py").write_text("VALUE = 7\n")
    return str(folder)


def _build(tmp_path: Path, environment: Environment, lines: list[str] | None = None) -> Built:
    return asyncio.run(
        build("e", environment, tmp_path, (lines if lines is not None else []).append, tmp_path / "cache")
    )


def test_an_environment_is_built_once_and_loads_the_probe(tmp_path: Path) -> None:
    environment = _environment(
        kind="pip", requirements=[_package(tmp_path / "package")], setup=["python -c 'import tinypkg'"]
    )
    lines: list[str] = []
    key = environment_key("e", environment, tmp_path)
    assert not (tmp_path / "cache").exists()
    first = _build(tmp_path, environment, lines)
    second = _build(tmp_path, environment)
    assert (first.key, second.key) == (key, key)
    assert (first.cached, second.cached) == (False, True)
    assert first.python == second.python
    assert any("tinypkg" in line for line in lines)
    value = subprocess.run(
        [first.python, "-c", "import tinypkg; print(tinypkg.VALUE)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert value.stdout == "7\n"
    assert list(first.prefix.glob(f"lib/python3*/site-packages/{PTH_NAME}"))


def test_another_content_is_another_environment(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    one = _environment(kind="pip", requirements=["a==1"])
    two = _environment(kind="pip", requirements=["a==1"], setup=["true"])
    with pytest.raises(EnvironmentBuildError):
        _build(tmp_path, _environment(kind="pip", requirements_file="missing.txt"))
    from agentmig.execution.environments import _key

    assert _key(one, ["a==1"]) != _key(two, ["a==1"]) != _key(two, ["a==2"])


def test_a_failed_installation_leaves_nothing_and_shows_the_output(tmp_path: Path) -> None:
    environment = _environment(kind="pip", requirements=[str(tmp_path / "nothing-here")])
    with pytest.raises(EnvironmentBuildError, match="nothing-here") as caught:
        _build(tmp_path, environment)
    assert ".log" in str(caught.value)
    assert not any(path.is_dir() for path in (tmp_path / "cache" / "environments").iterdir())


def test_an_existing_interpreter_is_taken_as_it_is(tmp_path: Path) -> None:
    built = _build(tmp_path, _environment(kind="python", python=sys.executable))
    assert (built.ours, built.python) == (False, Path(sys.executable))
    with pytest.raises(EnvironmentBuildError, match="no program"):
        _build(tmp_path, _environment(kind="python", python="bin/none"))


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentBuildError, match="container engine"):
        _build(tmp_path, _environment(kind="container", image="i"))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EnvironmentBuildError, match="'conda' is not on PATH"):
        _build(tmp_path, _environment(kind="conda", requirements=["numpy"]))


def test_the_cache_is_where_the_person_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.delenv("AGENTMIG_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_root() == Path("/x/agentmig")


def test_a_key_is_refused_where_nothing_could_be_built(tmp_path: Path) -> None:
    existing = _environment(kind="python", python=sys.executable)
    assert environment_key("e", existing, tmp_path) == _build(tmp_path, existing).key
    with pytest.raises(EnvironmentBuildError, match="container engine"):
        environment_key("e", _environment(kind="container", image="i"), tmp_path)
