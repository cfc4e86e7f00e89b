"""What differs between backends: how values come to the host, which counters there are, what the device is.

A process begins with CUDA's readings, which are those of the plain host while the program uses no CUDA; torch_xla or
torch_tpu takes over as soon as the program has imported it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

Tensor = Any


@dataclass(frozen=True)
class Counters:
    """Cumulative counts of a backend that compiles; reading them doesn't wait for the device.

    None is what a backend can't tell.
    """

    compiles: int
    executions: int | None
    transfers_to_host: int | None
    fallbacks: int | None

    def plain(self) -> dict[str, int]:
        """As a JSON object, without what the backend can't tell."""
        return {name: value for name, value in asdict(self).items() if value is not None}


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

    def spmd(self) -> bool:
        """Whether this process drives all devices of the runtime together."""

    def evidence(self) -> dict[str, Any]:
        """What else the backend tells of itself at the end of a process, as JSON can hold it."""

    def unseen(self) -> list[str]:
        """What can't be known of this backend, a sentence each."""


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

    def spmd(self) -> bool:
        """False: a process has its own device."""
        return False

    def evidence(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def unseen(self) -> list[str]:
        """Nothing that is to be known stays hidden."""
        return []


from .cuda import Cuda as Cuda  # noqa: E402  (it builds on Host)
