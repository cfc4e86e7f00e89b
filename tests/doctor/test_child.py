import asyncio
from pathlib import Path

import pytest

from agentmig.doctor.child import Ended, run, shortened


def test_a_program_gets_a_script_and_both_its_streams_are_kept(tmp_path: Path) -> None:
    script = tmp_path / "a script"
    script.write_text("echo out; echo err >&2; pwd; ls -A; exit 3\n")
    done = asyncio.run(run(["/bin/sh", "-s"], timeout_s=60, script=script))
    assert done.exit_code == 3 and not done.ok
    assert done.output.splitlines()[:2] == ["out", "err"]
    assert "agentmig-doctor-" in done.how and done.how.startswith("exit code 3: ")


def test_a_program_that_hangs_is_ended_with_what_it_started() -> None:
    done = asyncio.run(run(["/bin/sh", "-c", "echo began; sleep 1000 & sleep 1000"], timeout_s=0.3))
    assert done.exit_code is None
    assert done.how.startswith("no answer within") and done.how.endswith(": began")


def test_a_program_that_is_not_there_raises() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(run(["/nowhere/program"], timeout_s=60))


@pytest.mark.parametrize(
    ("code", "said"),
    [(-11, "killed by signal 11"), (139, "killed by signal 11"), (255, "exit code 255"), (1, "exit code 1")],
)
def test_an_end_in_words(code: int, said: str) -> None:
    assert Ended(code, "", 1.0).how == said


def test_foreign_text_is_one_short_line() -> None:
    assert shortened("a\n  b\tc") == "a b c"
    assert len(shortened("x" * 5000)) == 300
    assert Ended(0, "a\n\n  \nlast\n\n", 1.0).last_line == "last"
