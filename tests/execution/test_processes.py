import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from agentmig.execution.processes import Finished, run_process


def _run(tmp_path: Path, code: str, **options: object) -> tuple[Finished, str]:
    log = tmp_path / "log.txt"
    arguments = {"cwd": tmp_path, "env": {"PATH": "/usr/bin:/bin"}, "log": log, "timeout_s": 60.0, **options}
    finished = asyncio.run(run_process([sys.executable, "-c", code], **arguments))  # type: ignore[arg-type]
    return finished, log.read_text(errors="replace")


def test_both_streams_and_the_exit_code(tmp_path: Path) -> None:
    finished, log = _run(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert finished.exit_code == 3
    assert sorted(log.split()) == ["err", "out"]
    assert not finished.timed_out


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    assert _run(tmp_path, "import os; os.kill(os.getpid(), 9)")[0].exit_code == -9


def test_a_time_out_ends_the_whole_tree(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import subprocess, sys, os, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "signal.pause()"
    )
    finished, _ = _run(tmp_path, code, timeout_s=3.0)
    assert finished.timed_out and finished.exit_code is None
    assert finished.killed == 2
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_children_that_outlive_their_parent_are_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))"
    )
    finished, _ = _run(tmp_path, code)
    assert finished.exit_code == 0
    assert finished.killed == 1
    assert not psutil.pid_exists(int(pid.read_text()))


def test_endless_output_does_not_fill_the_disk(tmp_path: Path) -> None:
    finished, log = _run(tmp_path, "print('x' * 100000)", max_log_bytes=1000)
    assert finished.exit_code == 0
    assert len(log) < 1100
    assert "was dropped" in log


def test_lines_arrive_whole_and_the_last_one_too(tmp_path: Path) -> None:
    lines: list[str] = []
    _run(tmp_path, "import sys; sys.stdout.write('one\\ntwo\\nthree')", on_line=lines.append)
    assert lines == ["one", "two", "three"]


def test_cancelling_ends_the_tree(tmp_path: Path) -> None:
    async def scenario() -> int:
        ready = asyncio.Event()
        seen: list[str] = []

        def on_line(line: str) -> None:
            seen.append(line)
            ready.set()

        code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
        task = asyncio.create_task(
            run_process(
                [sys.executable, "-c", code],
                cwd=tmp_path,
                env={},
                log=tmp_path / "l",
                timeout_s=60,
                on_line=on_line,
            )
        )
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(seen[0])

    assert not psutil.pid_exists(asyncio.run(scenario()))


def test_a_program_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(run_process(["/no/such/program"], cwd=tmp_path, env={}, log=tmp_path / "l", timeout_s=1))


def test_a_daemon_that_left_parent_and_session_is_ended_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = (
        f"import os, signal; open({str(tmp_path / 'part')!r}, 'w').write(str(os.getpid())); "
        f"os.rename({str(tmp_path / 'part')!r}, {str(pid)!r}); signal.pause()"
    )
    code = (
        "import os, pathlib, subprocess, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    subprocess.Popen([sys.executable, '-c', {daemon!r}], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        f"while not pathlib.Path({str(pid)!r}).exists(): pass\n"
    )
    finished, _ = _run(tmp_path, code)
    assert finished.exit_code == 0
    assert not psutil.pid_exists(int(pid.read_text()))
