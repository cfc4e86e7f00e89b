import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agentmig.doctor.devices import Hold, examine_gpu, hold, judge_tpu
from tests.doctor.conftest import Script

CARD = [Path("/dev/nvidia0"), Path("/dev/nvidiactl")]
CHIPS = [Path("/dev/accel0")]
HOLDER = """
import fcntl, sys
handle = open(sys.argv[1], "r+b")
if sys.argv[2] == "lock":
    fcntl.lockf(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.usefixtures("nothing_on_path")
def test_without_a_card_none_is_needed_and_a_card_without_its_program_is_a_warning() -> None:
    assert asyncio.run(examine_gpu([], False)).state == "not needed"
    assert asyncio.run(examine_gpu(CARD, True)).state == "warn"


def test_the_driver_is_asked(script: Script) -> None:
    script("nvidia-smi", "echo 'NVIDIA H200, 570.86, 143771 MiB'")
    found = asyncio.run(examine_gpu(CARD, True))
    assert found.state == "ok" and "570.86" in found.seen
    assert asyncio.run(examine_gpu([], True)).state == "warn"


def test_a_driver_that_does_not_answer_is_broken_where_it_is_needed(script: Script) -> None:
    script("nvidia-smi", 'echo "couldn\'t communicate with the NVIDIA driver"; exit 9')
    found = asyncio.run(examine_gpu(CARD, True))
    assert found.state == "broken" and "communicate" in found.seen
    assert asyncio.run(examine_gpu(CARD, False)).state == "warn"


@pytest.mark.parametrize("how", ["open", "lock"])
def test_who_holds_the_tpu_is_named(tmp_path: Path, how: str) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    command = [sys.executable, "-c", HOLDER, str(lock), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        held = hold([], lock)
        process.communicate()
    assert not held.free and f"process {process.pid} (" in str(held)
    assert held.locked is (how == "lock")
    assert hold([], lock) == Hold()


def test_a_lock_file_that_nobody_holds_is_no_obstacle(tmp_path: Path) -> None:
    assert hold([], tmp_path / "none") == Hold()
    (tmp_path / "stale").touch()
    assert hold([], tmp_path / "stale").free


def test_a_lock_file_of_somebody_else_can_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "open", refuse)
    assert hold([], tmp_path / "lock") == Hold(unusable=True)


def test_a_tpu_that_is_held_is_a_warning_and_never_broken() -> None:
    held = Hold(by=("process 7 (python, of ann)",), locked=True)
    found = judge_tpu(CHIPS, {"TPU_WORKER_ID": "0", "PATH": "/bin"}, held, True)
    assert found.state == "warn" and "process 7 (python, of ann)" in found.seen
    assert "TPU_WORKER_ID=0" in found.seen and "PATH" not in found.seen
    assert judge_tpu(CHIPS, {}, Hold(locked=True), True).state == "warn"
    assert judge_tpu(CHIPS, {}, Hold(), True).state == "ok"
    assert judge_tpu([], {}, Hold(), False).state == "not needed"


def test_a_stale_lock_file_of_somebody_else_is_to_be_removed() -> None:
    found = judge_tpu(CHIPS, {}, Hold(unusable=True), True)
    assert found.state == "broken" and found.fix.startswith("sudo rm ")
    assert judge_tpu(CHIPS, {}, Hold(unusable=True), False).state == "warn"
