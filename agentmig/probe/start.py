"""Entry of the probe, executed by `loader.PTH_LINE` at the start of an interpreter; must stay cheap.

It loads this folder as the package `agentmig_probe` and waits for torch. It imports no torch and reads no plan: most
interpreters that a train command starts never train.
"""

import importlib.util
import sys
from pathlib import Path

NAME = "agentmig_probe"


def load() -> None:
    """Load the package by path and begin to wait for torch, once in an interpreter."""
    if NAME in sys.modules:
        return
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    importlib.import_module(f"{NAME}.imports").wait_for_torch()


load()
