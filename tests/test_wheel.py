"""The wheel, as somebody installs it: nothing of the checkout is needed, and any folder will do."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.tiny import environment, tiny


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The folder that the wheel was unpacked to, as pip does for a pure one."""
    folder = wheel.parent / "site"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def _agentmig(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The interpreter below the virtual environment doesn't know the checkout; its libraries come by path.
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    env = environment(PYTHONPATH=f"{installed}:{sysconfig.get_path('purelib')}")
    command = [str(python), "-m", "agentmig", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_it_is_the_wheel_that_runs(installed: Path, tmp_path: Path) -> None:
    done = _agentmig(installed, tmp_path, "--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "agentmig"), done.stderr
    python = ["-c", "import agentmig.resources as r; print(r.resource('prompts', 'task.md.j2'))"]
    env = environment(PYTHONPATH=f"{installed}:{sysconfig.get_path('purelib')}")
    base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    where = subprocess.run(
        [str(base), *python], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert Path(where.stdout.strip()).is_relative_to(installed)


def test_everything_that_is_read_at_run_time_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("prompts", "policies", "prices"):
        for file in (REPOSITORY / folder).iterdir():
            assert f"agentmig/_resources/{folder}/{file.name}" in names
    for file in (REPOSITORY / "agentmig").rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            assert file.relative_to(REPOSITORY).as_posix() in names


def test_it_plans_drafts_and_reports_from_any_folder(installed: Path, tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", Path(sys.executable))
    planned = _agentmig(installed, tmp_path, "plan", str(folder), "--json")
    assert json.loads(planned.stdout)["policy"] == "default", planned.stderr
    (folder / "workload.toml").unlink()
    drafted = _agentmig(installed, tmp_path, "init", str(folder))
    assert (folder / "workload.toml").exists(), drafted.stderr
