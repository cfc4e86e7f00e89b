from pathlib import Path

import pytest

from agentmig.doctor import install


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def _program(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_the_package_manager_that_is_here_is_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(programs, "dnf")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert install.install(["git", "socat"]) == "sudo dnf install -y git socat"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert install.install(["git"]) == "dnf install -y git"


def test_without_one_it_is_said_in_words(programs: Path) -> None:
    assert install.install(["git", "socat"]).startswith("install git and socat")
