"""What the program's own initial weights look like, before the reference's take their place."""

from collections.abc import Mapping
from typing import Any

import torch

from . import leaves

Tensor = Any


def describe(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Fields of an `initial` line.

    Args:
        tensors: host copies of parameters and buffers by name.

    Returns:
        `digest`: a hash of all, which tells whether two ranks, or two programs with one seed, begin with the same.
        `tensors`: for each float tensor its number of elements, mean, standard deviation and largest magnitude, which can
        be compared where the draws themselves can't.
    """
    digest = leaves.digest(
        [part for name, tensor in tensors.items() for part in (name.encode(), leaves.content(tensor))]
    )
    numbers = {name: _numbers(tensor) for name, tensor in tensors.items() if tensor.is_floating_point()}
    return {"digest": digest, "tensors": numbers}


def _numbers(tensor: Tensor) -> list[float]:
    values = tensor.detach().to(torch.float64)
    if not values.numel():
        return [0, 0.0, 0.0, 0.0]
    spread = float(values.std(correction=0))
    return [values.numel(), float(values.mean()), spread, float(values.abs().max())]
