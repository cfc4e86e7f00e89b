"""Texts marked as real were printed by torch 2.9.0 or torch_xla 2.9.0, paths shortened."""

import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.failures.classify import classify, root_exception
from agentmig.failures.taxonomy import CAUSES
from agentmig.journal.events import Outcome


def traceback(line: str, rank: int | None = None) -> str:
    text = f'Traceback (most recent call last):\n  File "train.py", line 4, in <module>\n    main()\n{line}\n'
    prefix = "" if rank is None else f"[rank{rank}]: "
    return "".join(f"{prefix}{part}\n" for part in text.splitlines())


# What torchrun adds when a rank fails (real).
TORCHRUN = """W1201 06:19:42.698000 16810 torch/distributed/elastic/multiprocessing/api.py:908] Sending process 16891 closing signal SIGTERM
E1201 06:19:42.949000 16810 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: {code}) local_rank: 1 (pid: 16892) of binary: bin/python
Traceback (most recent call last):
  File "bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "torch/distributed/launcher/api.py", line 293, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_06:19:42
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: 16892)
  error_file: <N/A>
  traceback : {how}
============================================================
"""
PEER = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:11467"
# The real last line of each traceback.
REAL = {
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver "
    "from http://www.nvidia.com/Download/index.aspx": "cuda_unavailable",
    "AssertionError: Torch not compiled with CUDA enabled": "cuda_unavailable",
    "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!": "cuda_unavailable",
    "ModuleNotFoundError: No module named 'torch_xla'": "module_missing",
    "ValueError: Default process group has not been initialized, please make sure to call init_process_group.": "process_group",
    "RuntimeError: mm(): cannot matrix-multiply tensors f32[3,4] and f32[3,4]. Expected the size of dimension 1 of the "
    "first input tensor (4) to be equal the size of dimension 0 of the second input tensor (3).": "shape_mismatch",
    "RuntimeError: Expected XLA tensor. Got: torch.FloatTensor": "device_mismatch",
    "RuntimeError: ProcessGroupGloo::allgather: invalid tensor type at index 0 (expected TensorOptions(dtype=long int, "
    "device=cpu, layout=Strided), got TensorOptions(dtype=long int, device=xla:0, layout=Strided))": "device_mismatch",
    "OSError: libtpu not found": "device_unavailable",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 281474976710656 bytes. Error code 12 (Cannot allocate memory)": "out_of_host_memory",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 4000ms for recv "
    "operation to complete": "collective_timeout",
    "RuntimeError: Error(s) in loading state_dict for Linear:\n\tsize mismatch for weight: copying a param with shape "
    "torch.Size([2, 3]) from checkpoint, the shape in current model is torch.Size([2, 2]).": "shape_mismatch",
}
WRITTEN = {
    "ImportError: cannot import name 'xla' from 'torch'": "import_error",
    "AttributeError: module 'torch_xla' has no attribute 'devices'": "unknown_name",
    "NameError: name 'xm' is not defined": "unknown_name",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.": "out_of_device_memory",
    "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.": "out_of_device_memory",
    "MemoryError": "out_of_host_memory",
    "RuntimeError: Bad StatusOr access: INVALID_ARGUMENT: Mosaic failed to compile TPU kernel": "compile_error",
    "NotImplementedError: Could not run 'aten::foo' with arguments from the 'XLA' backend.": "unsupported_operation",
    "FileNotFoundError: [Errno 2] No such file or directory: 'data.npz'": "file_missing",
    "PermissionError: [Errno 13] Permission denied: '/data/x'": "not_permitted",
    "OSError: [Errno 30] Read-only file system: '/data/x'": "not_permitted",
    "OSError: [Errno 28] No space left on device": "disk_full",
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
    "EADDRINUSE, port: 29500": "port_in_use",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool: Max retries exceeded": "no_network",
    "AssertionError": "assertion",
    "RuntimeError: expected scalar type Float but found Double": "dtype_mismatch",
    "ValueError: too many values to unpack": "wrong_value",
    "zipfile.BadZipFile: File is not a zip file": "exception",
    "agentmig_probe.backends.gloo.BridgeError: emulated XLA chips: all_reduce sum on rank 1 got no answer from all 4 ranks "
    "within 120 s.": "collective_timeout",
}


@pytest.mark.parametrize("line", [*REAL, *WRITTEN])
def test_exception_is_classified_and_quoted(line: str) -> None:
    expected = (REAL | WRITTEN)[line]
    outcome, cause, summary = classify(1, False, "epoch 1\n" + traceback(line))
    assert cause == expected
    assert outcome is (Outcome.INFRA if CAUSES[expected].fault == "infrastructure" else Outcome.LOUD)
    assert line.splitlines()[0][:200] in summary


def test_a_failing_rank_is_told_from_those_that_lost_it() -> None:
    log = traceback(PEER, 2) + traceback("ValueError: rank one does not like this", 1) + traceback(PEER, 0)
    outcome, cause, summary = classify(1, False, log + TORCHRUN.format(code=1, how="see the docs"))
    assert (outcome, cause) == (Outcome.LOUD, "wrong_value")
    assert "rank 1: ValueError: rank one does not like this" in summary


def test_interleaved_lines_of_two_ranks_are_put_together() -> None:
    one = traceback("KeyError: 'images'", 3).splitlines()
    two = traceback(PEER, 0).splitlines()
    mixed = [line for pair in zip(two, one, strict=True) for line in pair]
    raised = root_exception("\n".join(mixed))
    assert raised is not None and (raised.rank, raised.line) == ("3", "KeyError: 'images'")


def test_interleaved_tracebacks_of_unnamed_ranks_are_both_read() -> None:
    first, second = traceback("KeyError: 'a'").splitlines(), traceback(PEER).splitlines()
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    raised = root_exception("\n".join(mixed))
    assert raised is not None and raised.line == "KeyError: 'a'"


def test_signal_of_a_rank_under_torchrun() -> None:
    log = traceback(PEER, 0) + TORCHRUN.format(code=-11, how="Signal 11 (SIGSEGV) received by PID 17041")
    outcome, cause, summary = classify(1, False, log)
    assert (outcome, cause) == (Outcome.LOUD, "rank_died") and "SIGSEGV" in summary


def test_a_rank_that_left_early_leaves_the_others_waiting() -> None:
    log = traceback(PEER, 2) + traceback(PEER, 3) + TORCHRUN.format(code=1, how="see the docs")
    assert classify(1, False, log)[:2] == (Outcome.LOUD, "collective_timeout")


def test_a_pipe_between_ranks_that_broke_is_no_infrastructure() -> None:
    line = "RuntimeError: [gloo/transport/tcp/pair.cc:598] writev [127.0.0.1]:4711: Broken pipe"
    assert classify(1, False, traceback(line, 2))[:2] == (Outcome.LOUD, "collective_timeout")


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (-signal.SIGKILL, "out_of_host_memory"),
        (137, "out_of_host_memory"),
        (-11, "rank_died"),
        (134, "rank_died"),
    ],
)
def test_signals(code: int, cause: str) -> None:
    assert classify(code, False, "epoch 1\n").cause == cause


@pytest.mark.parametrize(
    ("code", "log", "outcome", "cause"),
    [
        (
            2,
            "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --x\n",
            Outcome.LOUD,
            "wrong_usage",
        ),
        (127, "bash: line 1: tpurun: command not found\n", Outcome.LOUD, "file_missing"),
        (255, "client_loop: send disconnect: Broken pipe\n", Outcome.INFRA, "connection_lost"),
        (None, "epoch 3\n", Outcome.INFRA, "connection_lost"),
        (143, "the instance was preempted\n", Outcome.INFRA, "preempted"),
        (1, "something is wrong\n", Outcome.LOUD, "nonzero_exit"),
        (1, "", Outcome.LOUD, "nonzero_exit"),
        (1, "ValueError: only printed, no traceback\n", Outcome.LOUD, "nonzero_exit"),
    ],
)
def test_without_a_traceback(code: int | None, log: str, outcome: Outcome, cause: str) -> None:
    assert classify(code, False, log)[:2] == (outcome, cause)


def test_ended_well_whatever_it_printed() -> None:
    assert classify(0, False, traceback("ValueError: caught and shown")) == (
        Outcome.OK,
        None,
        "ended with exit code 0",
    )


def test_time_out_and_what_came_before_it() -> None:
    assert classify(-9, True, "epoch 1\n")[:2] == (Outcome.LOUD, "timed_out")
    outcome, cause, summary = classify(-9, True, traceback("KeyError: 'images'", 1))
    assert (outcome, cause) == (Outcome.LOUD, "wrong_value") and "rank 1: KeyError" in summary


def test_the_last_of_a_chain_counts() -> None:
    chain = (
        traceback("KeyError: 1") + "\nDuring handling of the above exception, another exception occurred:\n\n"
    )
    assert classify(1, False, chain + traceback("FileNotFoundError: [Errno 2] x")).cause == "file_missing"


def test_a_tail_may_begin_inside_a_traceback() -> None:
    tail = traceback("KeyError: 'x'").partition("\n")[2]
    assert classify(1, False, tail).cause == "wrong_value"


@pytest.mark.parametrize(
    ("program", "cause"),
    [
        ("def f(:\n  pass", "syntax_error"),
        ("import no_such_module_at_all", "module_missing"),
        ("assert 1 == 2, 'numbers'", "assertion"),
        ("open('/no/such/file')", "file_missing"),
        ("class Odd(Exception): pass\nraise Odd('strange')", "exception"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "rank_died"),
    ],
)
def test_programs_that_really_fail(program: str, cause: str) -> None:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert classify(run.returncode, False, run.stdout + run.stderr).cause == cause


@given(st.one_of(st.none(), st.integers(-64, 255)), st.booleans(), st.text())
def test_any_text_has_an_outcome_and_a_known_cause(code: int | None, timed_out: bool, log: str) -> None:
    outcome, cause, summary = classify(code, timed_out, log)
    assert (cause is None) == (outcome is Outcome.OK) == (code == 0 and not timed_out)
    assert cause is None or cause in CAUSES
    assert summary and "\n" not in summary.strip()
