import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.doctor.interpreters import Interpreter, of_cache, of_workload
from agentmig.execution.environments import environment_key
from agentmig.spec import Workload

Make = Callable[..., Workload]


def _kept(cache: Path, key: str, name: str = "base") -> Path:
    folder = cache / "environments" / key
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\n")
    (folder / "bin" / "python").chmod(0o755)
    (folder / "agentmig-environment.json").write_text(json.dumps({"name": name}))
    return folder


def _only(workload: Workload, code: Path | None, cache: Path) -> Interpreter:
    (found,) = of_workload(workload, code, cache)
    return found


def test_an_environment_is_found_where_a_run_finds_it_and_never_built(workload: Make, tmp_path: Path) -> None:
    made = workload()
    found = _only(made, tmp_path, tmp_path / "cache")
    assert found.unbuilt and found.built is None
    assert found.finding.fix == f"agentmig reference make {made.file}"
    assert not (tmp_path / "cache").exists()
    folder = _kept(tmp_path / "cache", environment_key("base", made.environments["base"], tmp_path))
    found = _only(made, tmp_path, tmp_path / "cache")
    assert found.finding.state == "ok" and not found.unbuilt
    assert found.built is not None and found.built.python == folder / "bin" / "python"


def test_a_requirements_file_is_read_at_the_base_commit(workload: Make, tmp_path: Path) -> None:
    made = workload(requirements='[]\nrequirements_file = "needs.txt"')
    found = _only(made, None, tmp_path)
    assert found.finding.state == "warn" and "in the project" in found.finding.seen
    found = _only(made, tmp_path, tmp_path)
    assert found.finding.state == "missing" and "needs.txt" in found.finding.seen
    (tmp_path / "needs.txt").write_text("torch\n")
    assert _only(made, tmp_path, tmp_path).unbuilt


def test_a_named_interpreter_is_taken_as_it_is(workload: Make, tmp_path: Path) -> None:
    found = _only(workload(kind=f'"python"\npython = "{sys.executable}"'), None, tmp_path)
    assert found.built is not None and not found.built.ours
    found = _only(workload(kind='"python"\npython = "/nowhere/python"'), None, tmp_path)
    assert found.finding.state == "missing" and not found.unbuilt


@pytest.mark.usefixtures("nothing_on_path")
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ('"uv"', "uv is not on PATH"),
        ('"conda"', "conda is not on PATH"),
        ('"pip"\npython = "/nowhere/python"', "no /nowhere/python"),
        ('"container"\nimage = "i"', "container"),
    ],
)
def test_what_lacks_to_build_it_is_said(workload: Make, tmp_path: Path, kind: str, said: str) -> None:
    found = _only(workload(kind=kind), tmp_path, tmp_path)
    assert found.finding.state in ("missing", "broken") and said in found.finding.seen
    assert found.finding.fix and not found.unbuilt


def test_without_a_workload_all_that_is_in_the_cache_is_listed(tmp_path: Path) -> None:
    _kept(tmp_path, "aaaaaaaa", "base")
    (_kept(tmp_path, "bbbbbbbb") / "agentmig-environment.json").write_text("{")
    (_kept(tmp_path, "cccccccc", "dead") / "bin" / "python").unlink()
    (tmp_path / "environments" / "half-built").mkdir()
    own, *kept = of_cache(tmp_path)
    assert own.built is not None and own.built.python == Path(sys.executable)
    assert [each.name for each in kept] == ["base (aaaaaa)", "bbbbbbbb", "dead (cccccc)"]
    assert [each.finding.state for each in kept] == ["ok", "ok", "broken"]
    assert kept[2].built is None


def test_a_cache_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert len(of_cache(tmp_path / "none")) == 1
