"""Asks the interpreter that runs it for one backend of PyTorch, by one training step on it.

The doctor gives this file to an interpreter as its standard input, on this machine or over ssh: it needs nothing but
Python 3.7 and what it looks for. `python - BACKEND` with `torch`, `cuda`, `torch_xla`, `torch_tpu`, or `none` for the
machine alone; paths after that are looked for. It prints lines that begin with `agentmig-doctor` and hold a JSON object: first what is known without
importing anything, then how the step went. A crash of torch leaves the first line alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

MARK = "agentmig-doctor "
PACKAGES = {"torch": "torch", "cuda": "torch", "torch_xla": "torch_xla", "torch_tpu": "torch_tpu"}


def tell(facts: dict[str, Any]) -> None:
    """Print a line for the doctor, whatever stands on the line so far."""
    print("\n" + MARK + json.dumps(facts), flush=True)


def installed(package: str) -> str | None:
    """The version of a package that can be found, without importing it; `?` where it doesn't say."""
    if importlib.util.find_spec(package) is None:
        return None
    try:
        return str(import_module("importlib.metadata").version(package))
    except Exception:
        return "?"


def machine(backend: str) -> dict[str, Any]:
    """What is known without importing torch."""
    kinds = ("nvidia[0-9]*", "accel*", "vfio/*")
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "cores": os.cpu_count() or 1,
        "free_gb": shutil.disk_usage(Path.home()).free / 1e9,
        "nodes": [node for kind in kinds for node in sorted(map(str, Path("/dev").glob(kind)))],
        "unreadable": [path for path in sys.argv[2:] if not os.access(path, os.R_OK)],
        "version": installed(PACKAGES[backend]) if backend in PACKAGES else None,
    }


def device_of(backend: str, torch: Any) -> tuple[Any, str, int, str]:
    """The device of a backend, what it is in the backend's own words, how many there are, and more words.

    Where there is none, the device is None and the words say why.
    """
    if backend == "torch":
        return torch.device("cpu"), "CPU", 1, f"{torch.get_num_threads()} threads"
    if backend == "cuda":
        return cuda(torch)
    if backend == "torch_xla":
        module, runtime = import_module("torch_xla"), import_module("torch_xla.runtime")
        core = import_module("torch_xla.core.xla_model")
        device = module.device() if hasattr(module, "device") else core.xla_device()
        kind = str(core.xla_device_hw(device))
        words = f"libtpu {installed('libtpu')}" if kind == "TPU" else "PJRT"
        return device, kind, runtime.global_runtime_device_count(), words
    import_module("torch_tpu")
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if found is None or found.type != "tpu":
        return None, "CPU", 0, "torch_tpu sees no TPU"
    return torch.device("tpu"), "TPU", torch.accelerator.device_count(), f"libtpu {installed('libtpu')}"


def cuda(torch: Any) -> tuple[Any, str, int, str]:
    """The same for CUDA."""
    made_for = torch.version.cuda
    if made_for is None:
        return None, "CPU", 0, "this torch was built without CUDA"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        there = torch.cuda.is_available()
    if not there:
        why = "; ".join(str(warning.message) for warning in said)
        return None, "CPU", 0, why or f"this torch (CUDA {made_for}) sees no GPU"
    return torch.device("cuda"), torch.cuda.get_device_name(0), torch.cuda.device_count(), f"CUDA {made_for}"


def step(torch: Any, device: Any, dtype: Any) -> list[Any]:
    """Forward, backward and one step of an optimizer on fixed numbers: the loss and the parameters after it."""
    numbers = torch.arange(128, dtype=torch.float64)
    weights = [torch.cos(numbers).reshape(16, 8) / 4, torch.sin(numbers[:64]).reshape(4, 16) / 4]
    parameters = [weight.to(dtype).to(device).requires_grad_() for weight in weights]
    batch = torch.sin(3 * numbers[:64]).reshape(8, 8).to(dtype).to(device)
    labels = (torch.arange(8) % 4).to(device)
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    hidden = torch.tanh(batch @ parameters[0].t())
    loss = torch.nn.functional.cross_entropy(hidden @ parameters[1].t(), labels)
    loss.backward()
    optimizer.step()
    values = [loss.detach(), *(parameter.detach() for parameter in parameters)]
    return [value.cpu().to(torch.float64) for value in values]


def train(backend: str) -> dict[str, Any]:
    """How the step went on the backend's device, against the same on the CPU in float64."""
    torch = import_module("torch")
    device, kind, count, words = device_of(backend, torch)
    facts = {"kind": kind, "devices": count, "words": words, "torch": str(torch.__version__)}
    if device is None:
        return facts
    begin = time.time()
    expected, found = step(torch, "cpu", torch.float64), step(torch, device, torch.float32)
    pairs = zip(found, expected)  # noqa: B905  Python 3.7 knows no `strict`
    differences = [float((one - other).abs().max() / other.abs().max()) for one, other in pairs]
    # None where there is a NaN, which JSON can't say and which compares as nothing.
    facts["difference"] = max(differences) if all(d == d for d in differences) else None
    facts["wall_s"] = time.time() - begin
    return facts


def main() -> None:
    """Say what there is, then train if the package is there."""
    backend = sys.argv[1]
    facts = machine(backend)
    tell(facts)
    if facts["version"] is None:
        return
    try:
        result = train(backend)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    tell(result)
    # Ends before torch's own teardown, which can crash after all is said.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
