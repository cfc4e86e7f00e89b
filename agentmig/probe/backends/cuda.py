"""CUDA: readings that don't wait for the card, and what can't be read of it."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from . import Counters, Host


def compiled_graphs() -> int:
    """Graphs that `torch.compile` has handed to a compiler so far, those that it compiled again included.

    torch's compiler is never imported for this: a program that doesn't use it has compiled nothing.
    """
    utilities: Any = sys.modules.get("torch._dynamo.utils")
    return int(utilities.counters["stats"]["unique_graphs"]) if utilities else 0


def float32_precision() -> dict[str, str]:
    """How exactly float32 is multiplied, in torch's own words; without the names that a version of torch lacks.

    torch 2.9 has settings for each kind of operator beside the older, common one, and an error where a program mixed
    both: then the words are those of the error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.9 warns where the older setting is read
        return {
            "matmul": _read(torch.get_float32_matmul_precision),
            "cuda_matmul": _read(lambda: torch.backends.cuda.matmul.fp32_precision),
            "cudnn_conv": _read(lambda: torch.backends.cudnn.conv.fp32_precision),
        }


def _read(setting: Callable[[], Any]) -> str:
    try:
        return str(setting())
    except (AttributeError, RuntimeError) as error:
        return f"unknown ({str(error).splitlines()[0]})"


class Cuda(Host):
    """CUDA devices, through `torch.cuda`; the plain host while the program hasn't begun to use CUDA.

    CUDA is never initialised from here: a process that did so before it forks has children that can't use a card.
    """

    def __init__(self) -> None:
        self._graphs = 0
        self._before = 0

    def counters(self) -> Counters | None:
        """Compiled graphs; an operator never falls back to the host, and the rest isn't counted by CUDA."""
        if not torch.cuda.is_initialized():
            return None
        graphs = compiled_graphs()
        if graphs < self._graphs:  # the program has reset torch's counters
            self._before += self._graphs
        self._graphs = graphs
        return Counters(compiles=self._before + graphs, executions=None, transfers_to_host=None, fallbacks=0)

    def kind(self, device: str) -> str:
        """The graphics card's name."""
        if not device.startswith("cuda"):
            return super().kind(device)
        return str(torch.cuda.get_device_name(device))

    def runtime_devices(self) -> int | None:
        """Cards that this process sees; None while it uses none."""
        return int(torch.cuda.device_count()) if torch.cuda.is_initialized() else None

    def evidence(self) -> dict[str, Any]:
        """The current card, the precision of float32, and the most memory that tensors took, in bytes."""
        if not torch.cuda.is_initialized():
            return {}
        index = torch.cuda.current_device()
        return {
            "card": torch.cuda.get_device_name(index),
            "capability": ".".join(map(str, torch.cuda.get_device_capability(index))),
            "index": index,
            "cuda": torch.version.cuda,
            "float32": float32_precision(),
            "peak_bytes": torch.cuda.max_memory_allocated(index),
        }

    def unseen(self) -> list[str]:
        """What CUDA doesn't count."""
        if not torch.cuda.is_initialized():
            return []
        return ["CUDA counts neither its kernels nor the values that a step reads from the card"]
