"""How far two runs are apart: errors of tensors, normalised by the global norm of the reference's."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch

Tensor = Any


def norm(tensors: Iterable[Tensor]) -> float:
    """2-norm over all elements of host tensors, in float64."""
    return math.sqrt(sum(_square(tensor) for tensor in tensors))


def _square(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor.to(torch.float64)).item()) ** 2


def distance(left: Tensor | None, right: Tensor | None) -> float:
    """2-norm of the difference; a tensor that one side lacks counts as zero."""
    if left is None or right is None:
        present = right if left is None else left
        return 0.0 if present is None else norm([present])
    return norm([left.to(torch.float64) - right.to(torch.float64)])


def worst(ours: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> tuple[float, str | None]:
    """Largest error of a tensor and its name.

    Args:
        ours: host tensors by name.
        reference: the reference's by the same names; its global norm is the unit. (A gradient may be zero by nature,
            such as that of a bias before a BatchNorm: its own norm is no unit.)

    Returns:
        max over tensors of |ours - reference| / global norm of the reference, and where; NaN counts as the largest.
        Without any tensor: 0 and None. A reference of norm zero gives the plain distance.
    """
    unit = norm(reference.values()) or 1.0
    error, where = 0.0, None
    for name in sorted(set(ours) | set(reference)):
        here = distance(ours.get(name), reference.get(name)) / unit
        if math.isnan(here):
            return here, name
        if where is None or here > error:
            error, where = here, name
    return error, where
