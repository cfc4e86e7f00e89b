"""Prints, as JSON, what the probe's backends read: `readings.py NAME`, a function of this file."""

import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parents[3] / "agentmig" / "probe"


def backends(name):
    """A module of the probe's, loaded by its path as in a watched process."""
    spec = importlib.util.spec_from_file_location(
        "agentmig_probe", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    sys.modules["agentmig_probe"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return importlib.import_module(f"agentmig_probe.backends.{name}")


def told(backend, device):
    counters = backend.counters()
    return {
        "counters": counters and counters.plain(),
        "kind": backend.kind(device),
        "devices": backend.runtime_devices(),
        "evidence": backend.evidence(),
        "unseen": backend.unseen(),
        "fallback_ops": backend.fallback_ops(),
    }


def host():
    """Recorded: a torch built for CUDA, in a process that doesn't use it."""
    backend = backends("cuda").Cuda()
    return {**told(backend, "cpu"), "initialised": torch.cuda.is_initialized()}


def cuda():
    """Constructed from torch 2.9.0: torch/cuda/__init__.py (is_initialized, current_device, get_device_name,
    get_device_capability, device_count) and torch/cuda/memory.py (max_memory_allocated); the graphs and the precision
    are torch's own."""
    module = backends("cuda")
    backend = module.Cuda()
    for name, value in {
        "is_initialized": True,
        "current_device": 1,
        "get_device_name": "NVIDIA H200",
        "get_device_capability": (9, 0),
        "device_count": 2,
        "max_memory_allocated": 4096,
    }.items():
        setattr(torch.cuda, name, lambda *_, value=value: value)
    seen = [backend.counters().compiles]
    double = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
    for size in (2, 2, 3):
        double(torch.ones(size))
        seen.append(backend.counters().compiles)
    torch._dynamo.utils.counters.clear()
    double(torch.ones(4))
    seen.append(backend.counters().compiles)
    torch.set_float32_matmul_precision("high")
    return {**told(backend, "cuda:1"), "graphs": seen}


def precision():
    """Constructed: a torch that lacks a setting, and one whose settings were mixed (aten/src/ATen/Context.cpp)."""
    module = backends("cuda")
    del type(torch.backends.cudnn).conv

    def mixed():
        raise RuntimeError("mix of the legacy and new")

    torch.get_float32_matmul_precision = mixed
    return module.float32_precision()


def _stands_in():
    """A package as torch_tpu 0.2.0 is, on a machine with four chips."""
    # Constructed from torch_tpu/_internal/device/_device_module.py:967 (_get_cache_stats) and the attributes of the
    # extension's PerfStats as recorded without a TPU.
    torch.tpu = types.SimpleNamespace(
        _get_cache_stats=lambda: types.SimpleNamespace(
            num_cache_reqs=40, num_cache_hits=33, num_compilations=7, per_entry_stats=[]
        )
    )
    parts = {
        # _device_module.py:517 (_is_initialized)
        "_internal.device._device_ops_backend": {"_is_initialized": lambda: True},
        # torch_tpu/_internal/utils/hardware.py:123, :228, :322
        "_internal.utils.hardware": {
            "get_tpu_device_name": lambda: "TPU v5e",
            "get_devices_per_chip": lambda: 1,
            "get_tpu_device_count": lambda: 4,
        },
        # torch_tpu/_internal/execution_mode/__init__.py:97, :107
        "_internal.execution_mode": {
            "enable_cpu_fallback": False,
            "eager_mode": types.SimpleNamespace(name="DEFER_NEVER"),
        },
    }
    for name in (
        "torch_tpu",
        "torch_tpu._internal",
        "torch_tpu._internal.device",
        "torch_tpu._internal.utils",
    ):
        sys.modules[name] = types.ModuleType(name)
    for name, content in parts.items():
        sys.modules[f"torch_tpu.{name}"] = module = types.ModuleType(name)
        vars(module).update(content)
    torch.accelerator.device_count = lambda: 4
    return sys.modules["torch_tpu._internal.execution_mode"]


def tpu():
    _stands_in()
    return told(backends("torch_tpu").TorchTpu(), "tpu:0")


def tpu_fallback():
    """The fallback is switched on for some steps, and the functional optimizers are loaded."""
    modes = _stands_in()
    backend = backends("torch_tpu").TorchTpu()
    seen = []
    for state in (False, True, False):
        modes.enable_cpu_fallback = state
        seen.append(backend.counters().plain())
    sys.modules["torch_tpu._internal.optimizers.optim"] = types.ModuleType("optim")
    return {**told(backend, "tpu:0"), "seen": seen}


def tpu_changed():
    """A version that has renamed what is read."""
    _stands_in()
    for name in list(sys.modules):
        if name.startswith("torch_tpu._internal."):
            sys.modules[name] = types.ModuleType(name)
    torch.tpu = types.SimpleNamespace(_get_cache_stats=lambda: types.SimpleNamespace(compilations=7))
    return told(backends("torch_tpu").TorchTpu(), "tpu:0")


def tpu_real():
    """Recorded: the package itself, on a machine without a TPU."""
    import torch_tpu  # noqa: F401

    backend = backends("torch_tpu").TorchTpu()
    try:
        torch.ones(1, device="tpu")
        error = None
    except RuntimeError as raised:
        error = str(raised)
    return {**told(backend, "cpu"), "error": error, "accelerators": torch.accelerator.device_count()}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
