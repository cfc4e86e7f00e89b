"""Checkpoints that the program saves and seeds that it sets, as lines of the trace."""

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .observe import wrap
from .saved import Saved
from .trace import Trace

_SEEDS_KEPT = 50


class Marks:
    """Hooks `torch.save` and the functions that seed generators.

    Args:
        trace: where the lines go.
        saved: keeps or compares what is saved.
    """

    def __init__(self, trace: Trace, saved: Saved) -> None:
        self._trace = trace
        self._saved = saved
        self._inside = threading.local()
        self._count = 0

    def install(self) -> None:
        """Hook torch, `random`, and numpy where it is loaded."""
        wrap(torch, "save", self._saving)
        self._seeds(torch, "torch", "manual_seed")
        self._seeds(torch.cuda, "torch.cuda", "manual_seed")
        self._seeds(torch.cuda, "torch.cuda", "manual_seed_all")
        self._seeds(random, "random", "seed")
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            self._seeds(numpy.random, "numpy.random", "seed")

    def hook_xla(self, torch_xla: Any) -> None:
        """Hook the seeds of torch_xla's own generator, which `torch.manual_seed` doesn't reach."""
        self._seeds(torch_xla, "torch_xla", "manual_seed")
        self._seeds(torch_xla.core.xla_model, "xm", "set_rng_state")

    def _saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(obj, f, *args, **kwargs)
            with self._trace.guard("torch.save"):
                path = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
                if path is not None:
                    compared = self._saved.saw(obj, os.fspath(path))
                    place = str(Path.cwd() / os.fspath(path))
                    self._trace.write("checkpoint", path=place, time=time.time(), **compared)
            return result

        return save

    def _seeds(self, owner: Any, prefix: str, name: str) -> None:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def seed(*args: Any, **kwargs: Any) -> Any:
                if getattr(self._inside, "seeding", False):  # torch.manual_seed seeds CUDA itself
                    return original(*args, **kwargs)
                self._inside.seeding = True
                try:
                    result = original(*args, **kwargs)
                finally:
                    self._inside.seeding = False
                self._count += 1
                if self._count <= _SEEDS_KEPT:
                    value = args[0] if args else next(iter(kwargs.values()), None)
                    self._trace.write("seed", call=f"{prefix}.{name}", value=value)
                return result

            return seed

        wrap(owner, name, make)
