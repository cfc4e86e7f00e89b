"""Waits for the program to import a module, then runs a callback once that module is complete."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Callback = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """A finder that finds nothing itself: it asks the others, and listens to the execution of the modules named.

    The module's own loader stays in place (`inspect.getsource` and resources go on working): only the `exec_module`
    of that loader instance is wrapped.
    """

    def __init__(self, callbacks: dict[str, Callback]) -> None:
        self._callbacks = dict(callbacks)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module as the other finders would; see `importlib.abc.MetaPathFinder.find_spec`."""
        callback = self._callbacks.pop(fullname, None)
        if callback is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _listen(spec.loader, callback)
                return spec
        self._callbacks[fullname] = callback  # not installed (yet): an optional import of the program
        return None


def _listen(loader: object, callback: Callback) -> None:
    execute: Callback = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        execute(module)
        callback(module)

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def after_import(callbacks: dict[str, Callback]) -> None:
    """Run each callback once its module is imported; at once where it already is."""
    waiting: dict[str, Callback] = {}
    for name, callback in callbacks.items():
        module = sys.modules.get(name)
        if module is None:
            waiting[name] = callback
        else:
            callback(module)
    if waiting:
        sys.meta_path.insert(0, AfterImport(waiting))


class _Order:
    """torch may import torch_xla while it is itself incomplete: what belongs to torch_xla then waits for torch."""

    def __init__(self) -> None:
        self.torch_ready = False
        self.late: list[tuple[str, ModuleType]] = []

    def torch(self, module: ModuleType) -> None:
        from . import session

        self.torch_ready = True
        session.torch_imported()
        for name, late in self.late:
            session.backend_imported(name, late)

    def backend(self, module: ModuleType) -> None:
        from . import session

        if self.torch_ready:
            session.backend_imported(module.__name__, module)
        else:
            self.late.append((module.__name__, module))


BACKEND_MODULES = ("torch_xla", "torch_xla.distributed.parallel_loader", "torch_tpu")


def wait_for_torch() -> None:
    """Arrange that the probe starts as soon as torch is imported, from wherever that happens."""
    order = _Order()
    after_import({"torch": order.torch, **dict.fromkeys(BACKEND_MODULES, order.backend)})
