"""Programs and workloads that several tests put in front of the doctor."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.spec import Workload, load_workload

Script = Callable[[str, str], Path]
"""Writes an executable shell script (name, text) into a folder that is first on PATH."""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Programs that stand in for others, before all else on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/local/bin:/usr/bin:/bin")

    def write(name: str, text: str) -> Path:
        file = folder / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    return write


@pytest.fixture
def nothing_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program can be found."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


@pytest.fixture
def python_with(tmp_path: Path) -> Callable[[str], Path]:
    """Makes an environment whose `torch` is the given text; returns its interpreter."""

    def make(torch: str) -> Path:
        folder = tmp_path / "env"
        (folder / "bin").mkdir(parents=True)
        (folder / "lib").mkdir()
        (folder / "lib" / "torch.py").write_text(torch)
        python = folder / "bin" / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={folder / "lib"} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        return python

    return make


@pytest.fixture
def workload(workload_file: Callable[[str], Path], minimal: str) -> Callable[..., Workload]:
    """The small workload with lines put at its head, text replaced, or tables added."""

    def make(head: str = "", tail: str = "", **replaced: str) -> Workload:
        text = minimal
        for key, value in replaced.items():
            old = next(line for line in text.splitlines() if line.startswith(f"{key} ="))
            text = text.replace(old, f"{key} = {value}")
        return load_workload(workload_file(f"{head}\n{text}\n{tail}"))

    return make
