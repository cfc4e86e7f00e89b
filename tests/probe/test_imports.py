import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentmig.probe import imports


def test_the_callback_comes_once_after_the_module_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_module.py").write_text("import json\nvalue = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    seen: list[int] = []
    imports.after_import(
        {"late_module": lambda module: seen.append(module.value), "never_there": lambda _: None}
    )
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("never_there")
    module = importlib.import_module("late_module")
    importlib.import_module("late_module")
    assert seen == [1]
    assert "value = 1" in inspect.getsource(module)  # its own loader is still in place
    monkeypatch.delitem(sys.modules, "late_module")


def test_a_module_that_is_there_already() -> None:
    seen: list[ModuleType] = []
    imports.after_import({"json": seen.append})
    assert seen == [sys.modules["json"]]
