"""The start-up line survives what train commands do to their interpreter."""

import json
import os
from pathlib import Path

import pytest

from agentmig.probe import loader

from .conftest import run

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("options", [["-E"], ["-s"], ["-I"], []])
def test_options_and_a_path_of_the_commands_own(ref_python: Path, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('own sitecustomize')\n")
    environ = {"PYTHONPATH": str(tmp_path / "own")}
    done = run(ref_python, [*options, "sub.py"], tmp_path / "out", environ=environ)
    assert done.returncode == 0, done.output
    assert done.ranks() == [0]
    assert done.end()["steps"] == 1
    assert done.steps()[0]["grad_norm"] == pytest.approx(8**0.5)
    handshake = json.loads((done.out / "handshake-0.json").read_text())
    assert handshake["torch_xla"] is None
    assert handshake["argv"][-1] == "sub.py"
    assert done.lines("probe_error") == []


def test_a_process_without_torch_and_one_without_the_probe(ref_python: Path, tmp_path: Path) -> None:
    done = run(ref_python, ["-c", "import sys; print('agentmig_probe' in sys.modules)"], tmp_path / "with")
    assert (done.output, done.ranks()) == ("True\n", [])
    code = "import sys; print('agentmig_probe' in sys.modules)"
    assert run(ref_python, ["-c", code], tmp_path / "without", probe=False).output == "False\n"


def test_a_missing_plan_is_said_and_the_program_runs(ref_python: Path, tmp_path: Path) -> None:
    environ = {loader.PLAN_VARIABLE: str(tmp_path / "none.json")}
    done = run(ref_python, ["sub.py"], tmp_path / "out", environ=environ)
    assert done.returncode == 0
    assert "runs unwatched" in done.output
    assert done.ranks() == []


def test_the_chaining_sitecustomize(ref_python: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("print('own sitecustomize')\n")
    environ = {"PYTHONPATH": os.pathsep.join([str(loader.CHAIN_FOLDER), str(tmp_path / "own")])}
    done = run(ref_python, ["sub.py"], tmp_path / "out", environ=environ)
    assert "own sitecustomize" in done.output
    assert done.end()["steps"] == 1
