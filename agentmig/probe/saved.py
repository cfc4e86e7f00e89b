"""What the program saves: kept beside a record, and compared with what the record's program saved.

The file that a training leaves is its result. It may hold other weights than those that were trained (an average over the
steps, the best epoch's, a narrower type), so it is compared by itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from . import compare, precision
from .backends import Backend
from .plan import Plan
from .state import State, strip

Tensor = Any

_FLOOR = 1e-3
"""A tensor's own norm is its unit, but no less than this part of the whole file's: a bias may be zero by nature."""
_SHOWN = 5


def tensors(value: Any, prefix: str = "") -> dict[str, Tensor]:
    """All tensors of a saved object by their path, wrappers' names left out."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        return {strip(prefix): value}
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {}
    found: dict[str, Tensor] = {}
    for name, item in items:
        found |= tensors(item, f"{prefix}.{name}" if prefix else name)
    return found


def difference(ours: Mapping[str, Tensor], reference: Mapping[str, Tensor]) -> dict[str, Any]:
    """How far what was saved is from what the reference saved.

    Args:
        ours: host tensors by path.
        reference: the same of the reference.

    Returns:
        `error`: the worst tensor's distance over its own norm (see `_FLOOR`); `worst`: its path; `missing`: what only the
        reference saved, `extra`: what only this program saved, `shapes`: paths whose shapes differ (the first few each).
    """
    floats = {name: tensor for name, tensor in reference.items() if tensor.is_floating_point()}
    least = _FLOOR * compare.norm(floats.values()) / max(len(floats), 1) ** 0.5
    error, worst, shapes = 0.0, None, []
    for name, theirs in reference.items():
        mine = ours.get(name)
        if mine is None:
            continue
        if mine.shape != theirs.shape:
            shapes.append(name)
            continue
        here = compare.distance(mine, theirs) / (max(compare.norm([theirs]), least) or 1.0)
        if not here <= error:
            error, worst = here, name
    return {
        "error": error,
        "worst": worst,
        "missing": sorted(set(reference) - set(ours))[:_SHOWN],
        "extra": sorted(set(ours) - set(reference))[:_SHOWN],
        "shapes": shapes[:_SHOWN],
    }


class Saved:
    """Keeps or compares each saved object, by its file's name and how often that was written.

    Args:
        plan: whether to keep or to compare.
        state: the cap on bytes.
        rank: whose saves these are.
        backend: how values come to the host.
        save: torch's own `torch.save`.
    """

    def __init__(
        self,
        plan: Plan,
        state: State,
        rank: Callable[[], int],
        backend: Callable[[], Backend],
        save: Callable[..., Any],
    ) -> None:
        self._plan = plan
        self._state = state
        self._rank = rank
        self._backend = backend
        self._save = save
        self._times: Counter[str] = Counter()

    def saw(self, value: Any, path: str) -> dict[str, Any]:
        """Fields of the `checkpoint` line of a saved object; empty where it isn't compared."""
        if self._plan.short is None or not self._plan.values:
            return {}
        found = tensors(value)
        if not found:
            return {}
        half = {name for name, tensor in found.items() if precision.narrowed(tensor)}
        host = dict(zip(found, self._backend().to_host(list(found.values())), strict=True))
        host = {  # in a float64 pass nothing is narrow any more, but the file of a real training would be
            name: tensor.bfloat16().double() if name in half else tensor for name, tensor in host.items()
        }
        name = Path(path).name
        number = self._times[name]
        self._times[name] += 1
        file = f"saved-{name}-{number}"
        if self._plan.mode == "record":
            size = sum(tensor.numel() * tensor.element_size() for tensor in host.values())
            if self._state.afford(size, file):
                self._save(host, self._plan.out / f"{file}-{self._rank()}.pt")
        elif self._plan.mode == "match":
            reference = self._state.read_of_rank(file)
            if reference is not None:
                return {"number": number, **difference(host, reference)}
        return {}
