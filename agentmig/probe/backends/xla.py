"""torch_xla: counters from its metrics, values in one transfer, and the loader that fetches in the background."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from . import Counters, Host

Tensor = Any

_COMPILES = ("CompileTime", "EagerOpCompileTime")
_EXECUTIONS = ("ExecuteTime", "ExecuteReplicatedTime", "EagerOpExecuteTime")
_TRANSFER = "TransferFromDeviceTime"
_ITEM = "aten::_local_scalar_dense"  # a value read by the program: a transfer, not an operator on the host


class Xla(Host):
    """Readings of a process that has imported torch_xla.

    Args:
        torch_xla: the module, complete.
    """

    def __init__(self, torch_xla: ModuleType) -> None:
        self._module: Any = torch_xla
        self._core: Any = torch_xla._XLAC
        self._own_transfers = 0
        # Kept before an emulation replaces it: what the runtime itself has.
        self._devices: Callable[[], int] = self._module.runtime.global_runtime_device_count

    def _samples(self, names: Sequence[str]) -> int:
        return sum(data[0] for data in map(self._core._xla_metric_data, names) if data)

    def counters(self) -> Counters:
        """Counts of the program's own doing: transfers that the probe or the bridge made are left out."""
        names = [
            name for name in self._core._xla_counter_names() if name.startswith("aten::") and name != _ITEM
        ]
        return Counters(
            compiles=self._samples(_COMPILES),
            executions=self._samples(_EXECUTIONS),
            transfers_to_host=self._samples([_TRANSFER]) - self._own_transfers,
            fallbacks=sum(self._core._xla_counter_value(name) or 0 for name in names),
        )

    def fallback_ops(self) -> list[str]:
        """Operators that ran on the host, without reads of single values."""
        return sorted(set(self._core._get_executed_fallback_ops()) - {_ITEM})

    def to_host(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Copies on the host; the device's part goes in one execution and one transfer."""
        device = [index for index, tensor in enumerate(tensors) if tensor.device.type == "xla"]
        result = super().to_host([torch.empty(0) if t.device.type == "xla" else t for t in tensors])
        if device:
            before = self._samples([_TRANSFER])
            # One graph for all that is pending: reading some values first would compute what they share twice.
            self._core._xla_sync_live_tensors(str(tensors[device[0]].device), [], True)
            fetched = self._core._xla_get_cpu_tensors([tensors[index].detach() for index in device])
            self._own_transfers += self._samples([_TRANSFER]) - before
            for index, tensor in zip(device, fetched, strict=True):
                result[index] = tensor
        return result

    def kind(self, device: str) -> str:
        """The hardware behind an XLA device, such as CPU or TPU; `xla:0` doesn't say."""
        if not device.startswith("xla"):
            return super().kind(device)
        return str(self._module.core.xla_model.xla_device_hw(device))

    def spmd(self) -> bool:
        """Whether this process drives all devices of the runtime together."""
        return bool(self._module.runtime.is_spmd())

    def runtime_devices(self) -> int | None:
        """Devices of the runtime itself, whatever an emulation tells the program."""
        return int(self._devices())


def remember_grad_mode(parallel_loader: Any) -> None:
    """Tell the DataLoader under an `MpDeviceLoader` whether the loop over it runs with gradients.

    The loader is read by a thread of torch_xla's, where gradients are always on: there an evaluation under
    `torch.no_grad()` would look like training.
    """
    cls = parallel_loader.MpDeviceLoader
    original = cls.__iter__

    def iterate(self: Any) -> Any:
        getattr(self._loader, "__dict__", {})["_agentmig_grad"] = torch.is_grad_enabled()
        return original(self)

    cls.__iter__ = iterate
