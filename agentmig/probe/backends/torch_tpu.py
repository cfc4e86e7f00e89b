"""TorchTPU: readings of a package whose interfaces are called unstable, and what it doesn't tell.

Each reading is looked up where it is used and may be missing: then it is None, and a sentence says which. None of them
initialises the runtime, which claims the chip and, without one, waits minutes for a cloud's metadata server.
"""

import importlib.metadata
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from . import Counters, Host

_DEVICE = "torch_tpu._internal.device._device_ops_backend"
_HARDWARE = "torch_tpu._internal.utils.hardware"
_MODES = "torch_tpu._internal.execution_mode"
_FUNCTIONAL = "torch_tpu._internal.optimizers.optim"


class TorchTpu(Host):
    """Readings of a process that has imported torch_tpu."""

    def __init__(self) -> None:
        self._missing: dict[str, str] = {}
        self._fell_back: bool | None = False

    def _read(self, what: str, reading: Callable[[], Any]) -> Any:
        try:
            return reading()
        except Exception as error:  # an unstable interface may fail in any way
            why = (str(error).splitlines() or [""])[0]
            self._missing.setdefault(what, f"{type(error).__name__}: {why}")
            return None

    def _has_runtime(self) -> bool:
        """Whether the program uses the chip; asked of the extension, as the public function warns its callers."""
        return bool(
            self._read("whether the runtime is there", lambda: import_module(_DEVICE)._is_initialized())
        )

    def _cpu_fallback(self) -> bool | None:
        """Whether operators without a kernel for the TPU run on the host, now or at an earlier look."""
        now = self._read(
            "the state of the CPU fallback", lambda: bool(import_module(_MODES).enable_cpu_fallback)
        )
        if now is None or self._fell_back is None:
            self._fell_back = None
        else:
            self._fell_back = self._fell_back or now
        return self._fell_back

    def _of_the_cache(self, name: str) -> int | None:
        """A number of torch_tpu's cache of compiled programs."""
        tpu: Any = getattr(torch, "tpu", None)
        number: int | None = self._read(name, lambda: int(getattr(tpu._get_cache_stats(), name)))
        return number

    def counters(self) -> Counters | None:
        """Compilations; no fallbacks while they are switched off, as an operator without a kernel then raises."""
        compiles = self._of_the_cache("num_compilations")
        fallback = self._cpu_fallback()
        if compiles is None:
            return None
        return Counters(
            compiles=compiles,
            executions=None,
            transfers_to_host=None,
            fallbacks=0 if fallback is False else None,
        )

    def kind(self, device: str) -> str:
        """The chip's generation, such as TPU v5e, as its PCI identifier tells."""
        if not device.startswith("tpu"):
            return super().kind(device)
        name = self._read("the chip's name", lambda: import_module(_HARDWARE).get_tpu_device_name())
        return str(name) if name else "unknown"

    def runtime_devices(self) -> int | None:
        """Devices of this host; a chip may be several. None while the process uses none."""
        if not self._has_runtime():
            return None
        count = self._read("the number of devices", lambda: torch.accelerator.device_count())
        return None if count is None else int(count)

    def evidence(self) -> dict[str, Any]:
        """Versions, devices, modes, the process group's backend, and what the compilation cache counted."""
        return {
            "torch_tpu": _version("torch_tpu"),
            "libtpu": _version("libtpu"),
            "runtime": self._has_runtime(),
            "host_devices": self._read(
                "the host's devices", lambda: int(import_module(_HARDWARE).get_tpu_device_count())
            ),
            "devices_per_chip": self._read(
                "devices of a chip", lambda: import_module(_HARDWARE).get_devices_per_chip()
            ),
            "cpu_fallback": self._cpu_fallback(),
            "eager_mode": self._read("the eager mode", lambda: str(import_module(_MODES).eager_mode.name)),
            "float32_matmul": self._read(
                "the precision of float32", lambda: torch.get_float32_matmul_precision()
            ),
            "process_group": self._read("the process group's backend", _process_group),
            "cache_requests": self._of_the_cache("num_cache_reqs"),
            "cache_hits": self._of_the_cache("num_cache_hits"),
        }

    def unseen(self) -> list[str]:
        """What torch_tpu doesn't count, what was switched on, and each reading that this version lacks."""
        sentences = [f"torch_tpu doesn't tell {what} ({why})" for what, why in sorted(self._missing.items())]
        if self._has_runtime():
            sentences.append(
                "torch_tpu counts neither executions nor the values that a step reads from the chip"
            )
        if self._fell_back:
            sentences.append(
                "the CPU fallback was switched on: torch_tpu doesn't count the operators that ran on the host"
            )
        if _FUNCTIONAL in sys.modules:
            sentences.append(
                "the program loaded torch.tpu.optimizers: they are no torch optimizers, and their steps can't be seen"
            )
        return sentences


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _process_group() -> str | None:
    """The backend of the program's own default group: `tpu_dist` where collectives run between chips."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    return str(distributed.get_backend())
