"""Processes with their whole trees: output streamed to disk, time-outs that kill everything, nothing left behind."""

import asyncio
import os
import signal
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from agentmig.execution.output import read_output

MARK = "AGENTMIG_PROCESS"
"""An environment variable with a value of its own for each start of a program; whatever it starts inherits it."""

_GRACE_S = 3.0
_SAMPLE_S = 0.25
_LOOKS = 25
_PAUSE_S = 0.002


@dataclass(frozen=True)
class Finished:
    """How a process ended.

    Attributes:
        exit_code: None if it was killed for its time-out; negative for a signal, as in subprocess.
        wall_s: seconds from start to end.
        peak_memory_mb: largest sum of the tree's resident sets, sampled four times a second.
        killed: processes of the tree that were still there at its end.
    """

    exit_code: int | None
    timed_out: bool
    wall_s: float
    peak_memory_mb: float
    killed: int


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    timeout_s: float,
    on_line: Callable[[str], None] | None = None,
    max_log_bytes: int = 64 * 1024 * 1024,
) -> Finished:
    """Run a command to its end, or to its time-out, with both output streams in `log`.

    The command ends when its first process does: what that one leaves behind is ended then. Of more output than
    `max_log_bytes` the log keeps the beginning and the end. Cancelling this coroutine ends the tree too.

    Raises:
        OSError: the program can't be started, or the log can't be written.
    """
    begin = time.monotonic()
    mark = uuid.uuid4().hex
    log.parent.mkdir(parents=True, exist_ok=True)
    # A pipe of our own: asyncio's would keep `wait` from returning while a child that was left holds it open.
    output, inlet = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env={**env, MARK: mark},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=inlet,
            stderr=inlet,
            start_new_session=True,
        )
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(inlet)
    peak = 0.0
    timed_out = False

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, _resident_mb(process.pid))
            await asyncio.sleep(_SAMPLE_S)

    async def end() -> None:
        """The program's end; or the reader's, which comes first only where the log can't be written."""
        waiting = asyncio.ensure_future(process.wait())
        await asyncio.wait([waiting, reader], return_when=asyncio.FIRST_COMPLETED)
        if reader.done():
            reader.result()
        await waiting

    watcher = asyncio.create_task(watch())
    reader = asyncio.create_task(read_output(output, log, on_line, max_log_bytes))
    killed = 0
    try:
        await asyncio.wait_for(end(), timeout_s)
    except TimeoutError:
        timed_out = True
    finally:
        watcher.cancel()
        killed = await asyncio.to_thread(_end_all, process.pid, mark)
        await process.wait()
        # The pipe is closed now, unless a process has it that was never found.
        await asyncio.wait([reader], timeout=_GRACE_S)
        reader.cancel()
        await asyncio.wait([reader])
    if not reader.cancelled():
        reader.result()
    return Finished(
        exit_code=None if timed_out else process.returncode,
        timed_out=timed_out,
        wall_s=time.monotonic() - begin,
        peak_memory_mb=peak,
        killed=killed,
    )


def marked(mark: str | None) -> list[psutil.Process]:
    """Processes that inherited a value of `MARK` (any, for None), also those that left their parents and sessions.

    Behind bubblewrap the environment is another; there the PID namespace ends whatever was started.
    """
    return [
        p for p in psutil.process_iter() if p.pid != os.getpid() and _is_marked(p.pid, mark) and _alive(p)
    ]


def tree(pid: int) -> list[psutil.Process]:
    """The process, its session and all their descendants that are alive now."""
    members: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            if process.pid == pid or os.getsid(process.pid) == pid:
                members[process.pid] = process
                members |= {child.pid: child for child in process.children(recursive=True)}
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue
    return [p for p in members.values() if _alive(p)]


def end_tree(pid: int, grace_s: float = _GRACE_S) -> int:
    """End a process, its session and all their descendants: TERM, then KILL; returns how many there were.

    The list is taken before the first signal, since a dead parent's children can no longer be found through it, and
    again after it, for what was started meanwhile.
    """
    members = tree(pid)
    for process in members:
        _signal(process, signal.SIGTERM)
    _, alive = psutil.wait_procs(members, timeout=grace_s) if members else ([], [])
    late = [process for process in tree(pid) if process not in members]
    for process in [*alive, *late]:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs([*alive, *late], timeout=grace_s)
    return len(members) + len(late)


def _end_all(pid: int, mark: str) -> int:
    killed = end_tree(pid)
    while escaped := marked(mark):
        killed += sum(end_tree(process.pid) for process in escaped)
    return killed


def _is_marked(pid: int, mark: str | None) -> bool:
    wanted = f"{MARK}=" if mark is None else f"{MARK}={mark}\0"
    place = Path(f"/proc/{pid}")
    for _ in range(_LOOKS):
        try:
            environ = (place / "environ").read_bytes()
            (place / "exe").readlink()
        except OSError:
            return False  # gone meanwhile, another user's, or the kernel's
        if environ:
            return wanted.encode() in environ
        time.sleep(_PAUSE_S)  # empty while it is being replaced by another program: look again
    return False


def _alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return  # it ended by itself between listing and signal


def _resident_mb(pid: int) -> float:
    total = 0
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total / 2**20
