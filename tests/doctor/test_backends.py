import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.doctor.backends import Backend, Hardware, judge, read, start
from agentmig.doctor.child import Ended
from agentmig.doctor.results import Finding
from agentmig.doctor.tiny_run import MARK

FACTS: dict[str, Any] = {
    "python": "3.11.7",
    "executable": "/e/bin/python",
    "cores": 2,
    "free_gb": 50.0,
    "nodes": [],
    "unreadable": [],
    "version": "2.9.0",
}
STEP = {"kind": "CPU", "devices": 1, "words": "2 threads", "torch": "2.9.0+cu128", "difference": 6e-8}
ENV = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


def _ended(*documents: object, code: int | None = 0, noise: str = "") -> Ended:
    lines = [f"{MARK}{json.dumps(document)}" for document in documents]
    return Ended(code, "\n".join([*lines, noise]), 2.0)


def _judged(ended: Ended, backend: Backend = "torch", hardware: Hardware | None = "CPU") -> Finding:
    return judge(read(ended), backend, hardware, "get it", "repair it")


def test_a_right_step_is_ok() -> None:
    found = _judged(_ended(FACTS, STEP, noise="a warning of torch"))
    assert found.state == "ok" and "2.9.0+cu128" in found.seen and "6e-08" in found.seen


def test_what_is_not_installed_is_missing_only_where_it_is_needed() -> None:
    bare = _ended({**FACTS, "version": None})
    assert (_judged(bare).state, _judged(bare).fix) == ("missing", "get it")
    assert _judged(bare, hardware=None).state == "not needed"


def test_no_device_is_missing_only_where_it_is_needed() -> None:
    none = _ended(FACTS, {**STEP, "devices": 0, "words": "driver too old"})
    found = _judged(none, "cuda", "GPU")
    assert found.state == "missing" and "driver too old" in found.seen
    assert _judged(none, "cuda", None).state == "not needed"


@pytest.mark.parametrize("difference", [None, 0.1, 2e-4])
def test_a_wrong_step_is_broken(difference: float | None) -> None:
    assert _judged(_ended(FACTS, {**STEP, "difference": difference})).state == "broken"


def test_a_tpu_multiplies_less_exactly() -> None:
    step = {**STEP, "kind": "TPU", "difference": 1e-2}
    assert _judged(_ended(FACTS, step), "torch_xla", "TPU").state == "ok"
    assert _judged(_ended(FACTS, {**step, "difference": 0.2}), "torch_xla", "TPU").state == "broken"


def test_torch_xla_that_fell_back_to_the_cpu_is_no_tpu() -> None:
    found = _judged(_ended(FACTS, STEP), "torch_xla", "TPU")
    assert found.state == "broken" and "runs on CPU, not on TPU" in found.seen
    assert _judged(_ended(FACTS, STEP), "torch_xla", "CPU").state == "ok"


def test_what_torch_raised_is_said() -> None:
    found = _judged(_ended(FACTS, {"error": "ImportError: no libfoo\n  in a\n  tower"}))
    assert (found.state, found.fix) == ("broken", "repair it")
    assert found.seen == "torch 2.9.0: ImportError: no libfoo in a tower"


def test_a_crash_is_said_with_the_last_line_that_is_not_ours() -> None:
    found = _judged(Ended(-11, f"Fatal: libbad\n{MARK}{json.dumps(FACTS)}\n", 2.0))
    assert found.state == "broken" and "killed by signal 11: Fatal: libbad" in found.seen


def test_a_hang_is_broken() -> None:
    found = _judged(_ended(FACTS, code=None))
    assert found.state == "broken" and "no answer within 2 s" in found.seen


def test_an_interpreter_that_does_not_run_is_broken() -> None:
    found = _judged(Ended(127, "sh: 1: python: not found", 0.1), hardware=None)
    assert found.state == "broken" and "not found" in found.seen


@given(
    st.lists(st.text(alphabet=st.characters(codec="utf-8"))),
    st.sampled_from([None, 0, 1, -11]),
    st.sampled_from([f"{MARK}", ""]),
)
def test_no_output_makes_the_reading_fail_or_proves_a_backend(
    lines: list[str], code: int | None, mark: str
) -> None:
    ended = Ended(code, "\n".join(f"{mark}{line}" for line in lines), 1.0)
    assert _judged(ended).state == "broken"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_document_of_another_shape_makes_the_reading_fail(document: object) -> None:
    assert _judged(_ended(FACTS, document)).state == "broken"


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        ("raise ImportError('libfoo.so: cannot open')", "ImportError: libfoo.so: cannot open"),
        ("import os; print('bad', flush=True); os.kill(os.getpid(), 11)", "killed by signal 11: bad"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import torch.nothing", "ModuleNotFoundError"),
        ("def", "SyntaxError"),
    ],
)
def test_a_torch_that_breaks_is_told_in_a_line(
    python_with: Callable[[str], Path], torch: str, said: str
) -> None:
    trial = asyncio.run(start([str(python_with(torch))], ["-", "torch"], ENV))
    found = judge(trial, "torch", "CPU", "get", "repair")
    assert found.state == "broken" and said in found.seen and "Traceback" not in found.seen


def test_a_torch_that_hangs_is_ended(python_with: Callable[[str], Path]) -> None:
    python = python_with("import signal; print('stuck', flush=True); signal.pause()")
    trial = asyncio.run(start([str(python)], ["-", "torch"], ENV, timeout_s=2.0))
    assert judge(trial, "torch", "CPU", "get", "repair").state == "broken"


def test_a_python_without_torch_imports_nothing(python_with: Callable[[str], Path]) -> None:
    trial = asyncio.run(
        start([str(python_with("raise SystemExit"))], ["-", "torch_xla", "/nowhere", "/tmp"], ENV)
    )
    assert trial.facts is not None and trial.facts.version is None and trial.ended.ok
    assert trial.facts.unreadable == ["/nowhere"]
