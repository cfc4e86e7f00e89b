"""Whether a device, by its driver's name, is the accelerator that a workload file names."""

import re
from itertools import pairwise

_MODELS = {
    "p100", "v100", "t4", "a10", "a10g", "a30", "a40", "a100", "a800", "l4", "l40", "l40s",
    "h100", "h200", "h800", "h20", "gh200", "b100", "b200", "gb200", "mi210", "mi250", "mi250x", "mi300x",
}  # fmt: skip
"""Names of data-centre GPUs that stand in the price books' names and in the drivers' alike."""


def is_declared(accelerator: str, device_kind: str) -> bool | None:
    """Compare a declared accelerator with what a device calls itself.

    Args:
        accelerator: a name of the price book, such as `a100-80gb` or `cpu`.
        device_kind: the driver's name of the device, such as `NVIDIA A100-SXM4-80GB` or `CPU`.

    Returns:
        None where the two names can't tell: price books name accelerators as they like.
    """
    wanted, seen = _words(accelerator), _words(device_kind)
    if not wanted or seen in ([], ["unknown"]):
        return None
    if "cpu" in (*wanted, *seen):
        return "cpu" in wanted and "cpu" in seen
    if set(wanted) <= {*seen, *(first + second for first, second in pairwise(seen))}:
        return True
    declared, found = _MODELS & set(wanted), _MODELS & set(seen)
    return False if declared and found and not declared & found else None


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())
