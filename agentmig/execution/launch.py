"""What a program finds around it when it is started on a target: environment variables and the probe's plan."""

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from agentmig.errors import AgentmigError
from agentmig.execution.environments import Built
from agentmig.probe.loader import CHAIN_FOLDER, PROBE_FOLDER
from agentmig.probe.loader import environment as probe_environment
from agentmig.spec.workload import Target, Workload

PROBE: Path = PROBE_FOLDER
"""The probe's sources; they lie beside agentmig and are read by every watched run."""


_CUBE = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,2,2"}
_SQUARE = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}
_TOPOLOGIES = {
    "v4": _CUBE,
    "v5p": _CUBE,
    "v5e": _SQUARE,
    "v6e": _SQUARE,
    "v7": {2: "1,1,1,2", 4: "1,2,1,2", 8: "2,2,1,2"},
}
"""Shapes that TorchTPU 0.2.0 knows for so many devices of one host; a v7 chip is two devices."""


class LaunchError(AgentmigError):
    """A target can't be used on this machine."""


@dataclass(frozen=True)
class Plan:
    """What the probe shall do in a run; the fields are described in `agentmig.probe`."""

    mode: Literal["record", "match", "watch"]
    steps: int | None = None
    precision: Literal["float64", "production"] = "production"
    dropout: bool = True
    reference: Path | None = None
    teacher_forced: bool = False
    replay: bool = False
    short: list[int] | None = None
    stress: bool = False
    perturb: float = 0.0
    values: bool = True

    def write(self, folder: Path, bridge: bool) -> Path:
        """Put the plan for a run into `folder`, where the probe also writes; returns the plan's path."""
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            **asdict(self),
            "schema": 1,
            "out": str(folder),
            "reference": str(self.reference) if self.reference else None,
            "bridge": bridge,
        }
        path = folder / "plan.json"
        path.write_text(json.dumps(document, indent=1))
        return path


def is_bridged(target: Target | None) -> bool:
    """Whether several emulated XLA chips need their collectives bridged."""
    return target is not None and target.backend == "xla" and target.emulated


def require_hardware(name: str, target: Target) -> None:
    """Check that this machine has the accelerator of a target that isn't emulated.

    Raises:
        LaunchError: it is on another machine, or there is no such device here.
    """
    if target.machine != "local":
        raise LaunchError(
            f"targets.{name}.machine: {target.machine!r} is reached over ssh, which this version can't do: run agentmig "
            'on that machine and set machine = "local"'
        )
    if target.emulated or target.backend == "cpu":
        return
    devices = {
        "xla": ("/dev/accel0", "/dev/vfio/0"),
        "torch_tpu": ("/dev/accel0", "/dev/vfio/0"),
        "cuda": ("/dev/nvidia0",),
    }
    if not any(Path(device).exists() for device in devices[target.backend]):
        raise LaunchError(
            f"targets.{name}: this machine has no {target.accelerator} ({' or '.join(devices[target.backend])} is missing); "
            "run on a machine that has it, or set emulated = true to verify on stand-ins, which every report will say"
        )
    shapes = _TOPOLOGIES.get(target.accelerator, {target.chips: ""})
    if target.backend == "torch_tpu" and target.chips not in shapes:
        raise LaunchError(
            f"targets.{name}.chips: TorchTPU has no topology for {target.chips} devices of {target.accelerator} on one "
            f"host; it knows {', '.join(map(str, shapes))}"
        )


def accelerators() -> list[Path]:
    """Device files of this machine's GPUs and TPUs, which a run that uses them must see."""
    patterns = ("nvidia*", "accel*", "vfio")
    return sorted(device for pattern in patterns for device in Path("/dev").glob(pattern))


def environment(
    workload: Workload,
    built: Built,
    target: Target | None,
    chips: int,
    plan: Path | None,
    secrets: list[str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """The whole environment of a run: nothing of ours leaks in but what is listed here.

    Args:
        workload: for the reference's own variables.
        built: the Python environment; its programs come first on PATH.
        target: None for the reference.
        chips: processes that the command starts.
        plan: the probe's plan, if the run is watched.
        secrets: names of variables that the step may see.
        extra: the step's own variables.
    """
    env = {
        "PATH": f"{built.bin}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        # A command that names no number of chips starts one process, which drives all of them.
        **_hardware(target, chips, 1 if "{chips}" in workload.train_command(target) else chips),
        **(target.env if target else workload.reference.env),
        **extra,
        **{name: os.environ[name] for name in secrets if name in os.environ},
    }
    if plan:
        env |= probe_environment(plan)
        if not built.ours:
            env["PYTHONPATH"] = f"{CHAIN_FOLDER}:{env.get('PYTHONPATH', '')}".rstrip(":")
    return env


def _hardware(target: Target | None, chips: int, devices: int) -> dict[str, str]:
    """Variables of a target's hardware; `devices` is how many of the chips each process drives."""
    on_cpu = {
        # The processes share this machine's cores; more threads than cores only wait for each other.
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) * devices // chips)),
        # Gloo looks its own host name up, which a network namespace can't answer.
        "GLOO_SOCKET_IFNAME": "lo",
        "CUDA_VISIBLE_DEVICES": "",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    if target is None:
        return _cuda(chips) if Path("/dev/nvidia0").exists() else on_cpu
    if target.backend == "xla":
        return (
            {**on_cpu, "PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(devices)}
            if target.emulated
            else {"PJRT_DEVICE": "TPU", **_described_by_the_machine()}
        )
    if target.backend == "cpu" or target.emulated:
        return on_cpu
    return _cuda(chips) if target.backend == "cuda" else _torch_tpu(target.accelerator, chips)


def _cuda(chips: int) -> dict[str, str]:
    """As many cards as the run is to use, of those that agentmig itself may use: a program takes what it sees."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    cards = [str(index) for index in range(chips)] if allowed is None else allowed.split(",")
    return {
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
        "CUDA_VISIBLE_DEVICES": ",".join(cards[:chips]),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def _torch_tpu(accelerator: str, chips: int) -> dict[str, str]:
    """What TorchTPU's ranks must find the same before a launcher starts them (its `set_tpu_launch_env`)."""
    shape = _TOPOLOGIES.get(accelerator, {}).get(chips)
    return {
        "GLOO_SOCKET_IFNAME": "lo",
        "CUDA_VISIBLE_DEVICES": "",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",
        **_described_by_the_machine(),
        **({"TORCH_TPU_TOPOLOGY": shape} if shape else {}),
        "TORCH_TPU_SLICEBUILDER_ADDRESSES": ",".join(f"localhost:{port}" for port in _free_ports(chips)),
        "TORCH_TPU_XPROF_SESSION_ID": str(time.time_ns()),
    }


def _described_by_the_machine() -> dict[str, str]:
    """Variables that tell libtpu what it otherwise asks a metadata server, which an isolated run can't reach."""
    return {name: value for name, value in os.environ.items() if name.startswith("TPU_")}


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
