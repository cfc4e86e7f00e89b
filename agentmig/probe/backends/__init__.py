"""What differs between backends: how values come to the host, which counters there are, what the device is.

`choose` takes torch_xla as soon as the program has imported it, CUDA where a tensor lies there, and otherwise the
plain host.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch

Tensor = Any


@dataclass(frozen=True)
class Counters:
    """Cumulative counts of a backend that compiles; reading them doesn't wait for the device."""

    compiles: int
    executions: int
    transfers_to_host: int
    fallbacks: int

    def plain(self) -> dict[str, int]:
        """As a JSON object."""
        return asdict(self)


class Backend(Protocol):
    """One backend's readings."""

    def counters(self) -> Counters | None:
        """Cumulative counters; None where the backend has none."""

    def fallback_ops(self) -> list[str]:
        """Operators that ran on the host instead of the device."""

    def to_host(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Copies on the host, in one transfer where the backend can."""

    def kind(self, device: str) -> str:
        """What the device is, in the backend's own words."""

    def runtime_devices(self) -> int | None:
        """Devices that the runtime of this process really has."""


class Host:
    """Tensors on the CPU (and on anything that no other backend claims)."""

    def counters(self) -> Counters | None:
        """None: nothing is compiled."""
        return None

    def fallback_ops(self) -> list[str]:
        """None."""
        return []

    def to_host(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Copies that later in-place changes don't reach."""
        return [tensor.detach().to("cpu", copy=True) for tensor in tensors]

    def kind(self, device: str) -> str:
        """The device's type in capitals, such as CPU."""
        return device.split(":")[0].upper()

    def runtime_devices(self) -> int | None:
        """None: torch has one CPU device, whatever the machine has."""
        return None


class Cuda(Host):
    """CUDA devices, through `torch.cuda`."""

    def kind(self, device: str) -> str:
        """The graphics card's name."""
        if not device.startswith("cuda"):
            return super().kind(device)
        return str(torch.cuda.get_device_name(device))

    def runtime_devices(self) -> int | None:
        """Cards that this process sees."""
        return int(torch.cuda.device_count())
