"""Accelerators of this machine: device files, the NVIDIA driver, and who holds the TPU."""

import fcntl
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from agentmig.doctor.checks import Check
from agentmig.doctor.child import run, shortened
from agentmig.doctor.results import Finding, broken, not_needed, ok, warn
from agentmig.execution.launch import accelerators

LOCK = Path("/tmp/libtpu_lockfile")
"""libtpu locks this file while a process has the TPU: it admits one at a time."""

_SMI_TIMEOUT_S = 15.0
_SMI = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
_VARIABLES = ("TPU_", "PJRT_", "LIBTPU_", "CUDA_VISIBLE_DEVICES")


def checks(cuda: bool, tpu: bool) -> list[Check]:
    """The accelerators of this machine.

    Args:
        cuda: a run on this machine needs a GPU.
        tpu: a run on this machine needs a TPU.
    """

    async def gpu() -> Finding:
        return await examine_gpu([node for node in accelerators() if node.name.startswith("nvidia")], cuda)

    async def chips() -> Finding:
        return judge_tpu(tpu_nodes(), os.environ, hold(tpu_nodes()), tpu)

    return [Check("NVIDIA GPU", "backends", gpu), Check("TPU", "backends", chips)]


async def examine_gpu(nodes: Sequence[Path], needed: bool) -> Finding:
    """GPUs as the driver's own program sees them."""
    cards = [node for node in nodes if node.name.removeprefix("nvidia").isdigit()]
    there = shutil.which("nvidia-smi")
    if not cards and not there:
        return not_needed("no device file /dev/nvidia*, no nvidia-smi")
    if not there:
        return warn(f"{len(cards)} device files, no nvidia-smi on PATH to ask the driver with")
    done = await run(_SMI, timeout_s=_SMI_TIMEOUT_S)
    if not done.ok:
        judge = broken if needed else warn
        return judge(f"nvidia-smi: {done.how}", "install the NVIDIA driver of this card, and reboot")
    lines = [line.strip() for line in done.output.splitlines() if line.strip()]
    if not cards:
        return warn(f"{shortened('; '.join(lines))}; but no device file /dev/nvidia0 (run `nvidia-modprobe`)")
    return ok(f"{shortened('; '.join(lines))} (name, driver, memory)")


def tpu_nodes() -> list[Path]:
    """Device files of TPU chips."""
    found = [node for node in accelerators() if not node.name.startswith("nvidia")]
    return [file for node in found for file in (sorted(node.glob("[0-9]*")) if node.is_dir() else [node])]


@dataclass(frozen=True)
class Hold:
    """Who keeps the TPU from us.

    Attributes:
        by: processes that have it open, in words.
        locked: somebody has the lock file locked.
        unusable: the lock file is there, and we may not open it: libtpu then gives up.
    """

    by: tuple[str, ...] = ()
    locked: bool = False
    unusable: bool = False

    def __str__(self) -> str:
        if self.by:
            return f"held by {', '.join(self.by)}"
        return "held by a process that can't be seen from here" if self.locked else "free"

    @property
    def free(self) -> bool:
        """Nobody has it."""
        return not (self.by or self.locked or self.unusable)


def hold(nodes: Sequence[Path], lock: Path = LOCK) -> Hold:
    """Look for whoever has one of the device files, or the lock file, open."""
    by = tuple(_openers([*nodes, lock]))
    try:
        with lock.open("r+b") as handle:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return Hold(by)
    except PermissionError as error:
        return Hold(by, unusable=error.filename is not None, locked=error.filename is None)
    except OSError:
        return Hold(by, locked=True)
    return Hold(by)


def _openers(files: Sequence[Path]) -> list[str]:
    wanted = {str(file) for file in files}
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            links = {str(entry.readlink()) for entry in Path(f"/proc/{process.pid}/fd").iterdir()}
            if links & wanted:
                found.append(f"process {process.pid} ({process.name()}, of {process.username()})")
        except (OSError, psutil.Error):
            continue  # ended meanwhile, or another user's
    return found


def judge_tpu(nodes: Sequence[Path], environ: Mapping[str, str], held: Hold, needed: bool) -> Finding:
    """Whether there is a TPU and a run can have it.

    Args:
        nodes: device files of chips.
        environ: environment variables.
        held: who has it now.
        needed: a run on this machine needs it.
    """
    variables = [f"{name}={environ[name]}" for name in sorted(environ) if name.startswith(_VARIABLES)]
    seen = shortened(
        "; ".join(
            [f"{len(nodes)} device files" if nodes else "no device file /dev/accel*, /dev/vfio/*", *variables]
        )
    )
    if not nodes:
        return not_needed(seen)
    if held.unusable and not held.by:
        return (broken if needed else warn)(
            f"{seen}; the lock file {LOCK} belongs to somebody else and nobody seems to hold the TPU",
            f"sudo rm {LOCK}",
        )
    if not held.free:
        return warn(f"{seen}; {held}: a TPU admits one process at a time", "wait for that process, or end it")
    return ok(f"{seen}; {held}")
