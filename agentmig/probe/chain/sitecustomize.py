"""Starts the probe in an interpreter whose environment isn't ours, then runs the sitecustomize that it shadows."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _start() -> None:
    probe = os.environ.get("AGENTMIG_PROBE")
    if probe:
        start = Path(probe) / "start.py"
        exec(
            compile(start.read_bytes(), str(start), "exec"),
            {"__name__": "_agentmig_start", "__file__": str(start)},
        )


def _run_shadowed() -> None:
    others = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start()
_run_shadowed()
