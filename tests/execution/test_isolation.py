"""The wall is tried with real processes; where bubblewrap is missing these tests fail and say so."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from agentmig.execution.isolation import Isolation, IsolationError, choose_isolation, interpreter_folders

ENV = {"PATH": os.environ["PATH"], "GREETING": "hello"}


@pytest.fixture(scope="module")
def wall() -> Isolation:
    return choose_isolation(allow_none=False)


def shell(
    wall: Isolation,
    script: str,
    cwd: Path,
    *,
    writable: list[Path] | None = None,
    hidden: list[Path] | None = None,
    readable: list[Path] | None = None,
    network: bool = False,
) -> subprocess.CompletedProcess[str]:
    argv = wall.wrap(
        ["sh", "-c", script],
        cwd=cwd,
        env=ENV,
        writable=[cwd] if writable is None else writable,
        hidden=hidden or [],
        readable=readable or [],
        network=network,
    )
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, "TOKEN": "s3cret"}
    )


def test_only_writable_folders_can_be_written(wall: Isolation, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "seen").write_text("yes")
    done = shell(
        wall,
        f"echo 1 > made; cat {outside}/seen; echo 2 > {outside}/no; echo 3 > /etc/no",
        inside,
        readable=[outside],
    )
    assert (inside / "made").read_text() == "1\n"
    assert done.stdout == "yes"
    assert not (outside / "no").exists()
    assert done.stderr.count("Read-only file system") == 2


def test_home_and_temporary_folders_are_empty(tmp_path: Path) -> None:
    home = tmp_path / "home"
    work = tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "key").write_text("private")
    done = shell(
        Isolation("bubblewrap", home), f"ls -A {home}; ls -A /tmp /run /dev/shm; ls -A {tmp_path}", work
    )
    assert "key" not in done.stdout
    assert done.stdout.splitlines()[-1] == "work"


def test_inner_paths_win_over_the_folders_that_hold_them(wall: Isolation, tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/d/answer").write_text("42")
    (tmp_path / "a/file").write_text("42")
    done = shell(
        wall,
        "touch a/b/c/yes; touch a/b/no; ls a/d; cat a/file",
        tmp_path,
        writable=[tmp_path / "a/b/c"],
        readable=[tmp_path],
        hidden=[tmp_path / "a/d", tmp_path / "a/file"],
    )
    assert (tmp_path / "a/b/c/yes").exists()
    assert not (tmp_path / "a/b/no").exists()
    assert "answer" not in done.stdout
    assert "42" not in done.stdout


def test_nothing_of_the_outer_environment_is_seen(wall: Isolation, tmp_path: Path) -> None:
    done = shell(wall, "env; cat /proc/1/environ /proc/1/cmdline", tmp_path)
    assert "GREETING=hello" in done.stdout
    assert "s3cret" not in done.stdout


def test_a_port_of_the_machine_is_out_of_reach_unless_the_network_is_left(
    wall: Isolation, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        knock = f"socat -u OPEN:/dev/null TCP:127.0.0.1:{port}"
        assert shell(wall, knock, tmp_path).returncode != 0
        assert shell(wall, knock, tmp_path, network=True).returncode == 0


def test_loopback_works_inside(wall: Isolation, tmp_path: Path) -> None:
    script = (
        "echo hello > text; socat -u OPEN:text TCP-LISTEN:4000,bind=127.0.0.1 & "
        "until socat -u TCP:127.0.0.1:4000 - 2>/dev/null; do :; done; wait"
    )
    assert shell(wall, script, tmp_path).stdout == "hello\n"


def test_killing_the_outermost_process_ends_everything(wall: Isolation, tmp_path: Path) -> None:
    script = "(setsid setsid sleep 1000 & echo started); wait; sleep 1000"
    argv = wall.wrap(["sh", "-c", script], cwd=tmp_path, env=ENV, writable=[tmp_path])
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.kill()
        # The pipe is held by every process inside: it ends only when the last of them is gone.
        assert process.stdout.read() == ""


def test_mode_none_changes_nothing(tmp_path: Path) -> None:
    assert Isolation("none").wrap(["a", "b"], cwd=tmp_path, env={}, writable=[]) == ["a", "b"]


def test_a_path_that_is_not_there_is_named(wall: Isolation, tmp_path: Path) -> None:
    with pytest.raises(IsolationError, match="missing"):
        wall.wrap(["true"], cwd=tmp_path, env={}, writable=[tmp_path / "missing"])


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        IsolationError, match=r"bubblewrap .* socat are not installed .*apt-get install.*--no-isolation"
    ):
        choose_isolation(allow_none=False)
    assert choose_isolation(allow_none=True).mode == "none"


def test_a_refused_bubblewrap_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (("bwrap", "echo no permissions >&2; exit 1"), ("socat", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(IsolationError, match=r"refused \(no permissions\)"):
        choose_isolation(allow_none=False)


def test_an_environment_brings_the_installation_it_came_from(tmp_path: Path) -> None:
    base, venv = tmp_path / "base", tmp_path / "venv"
    for folder in (base, venv):
        (folder / "bin").mkdir(parents=True)
    (base / "bin/python3").touch()
    (venv / "bin/python").symlink_to(base / "bin/python3")
    assert interpreter_folders(venv / "bin/python") == [venv, base]
    assert interpreter_folders(Path("/usr/bin/env")) == []
