import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from agentmig.execution.processes import Finished, run_process
from tests.execution.projects import PEAK


def _run(tmp_path: Path, code: str, **options: object) -> tuple[Finished, str]:
    log = tmp_path / "log.txt"
    arguments: dict[str, object] = {
        "cwd": tmp_path,
        "env": {"PATH": "/usr/bin:/bin"},
        "log": log,
        "timeout_s": 60.0,
        **options,
    }
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


def test_of_endless_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    code = "print('first'); print('x' * 100000); print('score 0.9')"
    finished, log = _run(tmp_path, code, max_log_bytes=1000)
    assert finished.exit_code == 0
    assert len(log) < 1100
    assert log.startswith("first\n") and log.endswith("x\nscore 0.9\n")
    assert "\n[agentmig: 99017 bytes of output were dropped here]\n" in log


@pytest.mark.parametrize(
    "command",
    [
        "yes $(printf %02000d 0) | head -c 1G; echo; echo score 0.9",
        "head -c 200M /dev/zero; echo; echo score 0.9",
    ],
)
def test_a_flood_of_output_takes_little_memory_of_ours(tmp_path: Path, command: str) -> None:
    code = (
        f"{PEAK}\n"
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from agentmig.execution.processes import run_process\n"
        "lines = []\n"
        "def on_line(line):\n"
        "    lines[:] = [line]\n"
        "start = peak_mb()\n"
        "asyncio.run(run_process(['bash', '-c', sys.argv[1]], cwd=Path('.'), env={'PATH': '/usr/bin:/bin'}, "
        "log=Path(sys.argv[2]), timeout_s=300, on_line=on_line))\n"
        "print(lines[0], peak_mb() - start)"
    )
    log = tmp_path / "log.txt"
    done = subprocess.run(
        [sys.executable, "-c", code, command, str(log)], capture_output=True, text=True, check=True
    )
    score, grown = done.stdout.rsplit(maxsplit=1)
    assert score == "score 0.9"
    assert int(grown) < 32  # MiB
    assert log.stat().st_size < 65 * 2**20
    with log.open("rb") as file:
        file.seek(-10, os.SEEK_END)
        assert file.read() == b"score 0.9\n"


def test_what_is_printed_on_the_way_out_is_kept(tmp_path: Path) -> None:
    code = (
        "import signal, sys\n"
        "def leave(*_):\n"
        "    print('where it hung', flush=True)\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready', flush=True)\n"
        "signal.pause()"
    )
    finished, log = _run(tmp_path, code, timeout_s=3.0)
    assert finished.timed_out and finished.exit_code is None
    assert log == "ready\nwhere it hung\n"


def test_binary_output_and_none_at_all(tmp_path: Path) -> None:
    lines: list[str] = []
    _run(tmp_path, "import sys; sys.stdout.buffer.write(bytes(range(256)))", on_line=lines.append)
    assert (tmp_path / "log.txt").read_bytes() == bytes(range(256))
    assert len(lines) == 2 and "\ufffd" in lines[1]
    finished, log = _run(tmp_path, "pass", on_line=lines.append)
    assert (finished.exit_code, log, len(lines)) == (0, "", 2)


def test_a_program_that_closes_its_output_goes_on(tmp_path: Path) -> None:
    code = "import os, pathlib; os.close(1); os.close(2); pathlib.Path('made').write_text('x'); os._exit(5)"
    finished, log = _run(tmp_path, code)
    assert (finished.exit_code, log) == (5, "")
    assert (tmp_path / "made").exists()


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert _run(tmp_path, "import sys; print(repr(sys.stdin.read()))")[1] == "''\n"


def test_a_child_that_keeps_the_output_open_does_not_keep_the_run_open(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "os._exit(4)"
    )
    finished, log = _run(tmp_path, code)
    assert (finished.exit_code, finished.timed_out, finished.killed) == (4, False, 1)
    assert not psutil.pid_exists(int(log))


def test_a_log_that_cannot_be_written_ends_the_program(tmp_path: Path) -> None:
    code = "import signal; print('x' * 100000, flush=True); signal.pause()"
    with pytest.raises(OSError, match="No space left"):
        _run(tmp_path, code, log=Path("/dev/full"))


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
