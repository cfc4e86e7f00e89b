"""Compares the tensors of two checkpoints. A program of its own: it runs in the workload's environment, by its path.

    python tensors.py A B

prints one JSON object: `relative`, the norm of the difference of all floating-point tensors over the norm of those of A
(null where there is none, or they can't be compared), and `problem`, in words, where the checkpoints differ in more than
values of floating-point tensors.
"""

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import torch


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Everything inside a checkpoint that holds nothing itself, with its path."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, f"{name}[{index}]")
    else:
        yield name, value


def compare(a: Any, b: Any) -> dict[str, Any]:
    """Compare two loaded checkpoints; see the module's text."""
    old, new = dict(leaves(a)), dict(leaves(b))
    if old.keys() != new.keys():
        names = sorted(old.keys() ^ new.keys())
        return {"relative": None, "problem": f"only one of the checkpoints has {', '.join(names[:3])}"}
    distance = norm = 0.0
    for name, one in old.items():
        other = new[name]
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            if type(one) is not type(other) or (one != other and not (one != one and other != other)):
                return {"relative": None, "problem": f"{name} is {other!r:.60}, not {one!r:.60}"}
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            problem = f"{name} is {other.dtype} {list(other.shape)}, not {one.dtype} {list(one.shape)}"
            return {"relative": None, "problem": problem}
        if not (one.is_floating_point() or one.is_complex()):
            if not torch.equal(one, other):
                return {"relative": None, "problem": f"{name} differs, which holds no floating-point numbers"}
            continue
        wide = torch.complex128 if one.is_complex() else torch.float64
        one, other = one.detach().to(wide), other.detach().to(wide)
        if not torch.equal(one.isfinite(), other.isfinite()):
            return {"relative": None, "problem": f"{name} has other places that aren't finite"}
        one, other = one[one.isfinite()], other[other.isfinite()]
        distance += float((one - other).abs().square().sum())
        norm += float(one.abs().square().sum())
    if norm == 0.0:
        return {
            "relative": 0.0 if distance == 0.0 else None,
            "problem": None if distance == 0.0 else "all zeros once",
        }
    return {"relative": math.sqrt(distance / norm), "problem": None}


def main() -> None:
    """Compare the two files that the command line names."""
    try:
        a, b = (torch.load(path, map_location="cpu", weights_only=True) for path in sys.argv[1:3])
        print(json.dumps(compare(a, b)))
    except Exception as error:
        print(
            json.dumps(
                {"relative": None, "problem": f"a checkpoint can't be read as tensors: {error!s:.200}"}
            )
        )


if __name__ == "__main__":
    main()
