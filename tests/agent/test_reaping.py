import os
import subprocess
import uuid
from pathlib import Path

import psutil

from agentmig.agent.reaping import Stretch, agents_own
from agentmig.execution.processes import MARK

ESCAPE = "(setsid setsid sh -c 'echo escaped; exec sleep 1000' &); exec sleep 1000"
"""A grandchild that has left its parent, its group and its session."""


def test_what_left_its_parent_and_session_is_found_and_ended(tmp_path: Path) -> None:
    stretch = Stretch(uuid.uuid4().hex, tmp_path / "pid")
    env = {**os.environ, MARK: stretch.mark}
    with subprocess.Popen(["sh", "-c", ESCAPE], stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        process.stdout.readline()
        stretch.pid_file.write_text(f"{process.pid}\n")
        members = stretch.members()
        stretch.reap()
        assert process.pid in {member.pid for member in members}
        assert len(members) == 2
        assert not any(member.is_running() for member in members)
        assert stretch.members() == []


def test_other_processes_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"], env={**os.environ, MARK: "another"}) as other:
        Stretch(uuid.uuid4().hex, tmp_path / "pid").reap()
        assert other.poll() is None
        other.kill()


def test_the_cli_and_its_scaffold_are_not_the_agents_own(tmp_path: Path) -> None:
    me = psutil.Process()
    assert agents_own([me]) == [me]
    with subprocess.Popen(["socat", "-u", "OPEN:/dev/null", "PIPE:" + str(tmp_path / "p")]) as scaffold:
        process = psutil.Process(scaffold.pid)
        assert agents_own([process]) == []
        scaffold.kill()
    assert agents_own([process]) == []
