import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.probe import handshake


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["python", "train.py", "-m", "x"], ("script", "train.py")),
        (["python", "-u", "-W", "error", "train.py"], ("script", "train.py")),
        (["python", "-m", "torch.distributed.run", "t.py"], ("module", "torch.distributed.run")),
        (["python", "-um", "pkg.train"], ("module", "pkg.train")),
        (["python", "-mpkg"], ("module", "pkg")),
        (["python", "-Xdev", "-c", "pass"], ("command", "")),
        (["python"], ("none", "")),
    ],
)
def test_program(argv: list[str], expected: tuple[str, str]) -> None:
    assert handshake.program(argv) == expected


def test_launchers() -> None:
    assert handshake.is_launcher(["python", "-m", "torch.distributed.run", "train.py"])
    assert handshake.is_launcher(["python", "/env/bin/torchrun", "train.py"])
    assert not handshake.is_launcher(["python", "-u", "train.py", "torchrun", "-m", "torch.distributed.run"])


@given(st.lists(st.text(max_size=8), max_size=6), st.sampled_from(["-u", "-E", "-s", "-I", "-B", "-Werror"]))
def test_arguments_of_the_program_never_count(arguments: list[str], option: str) -> None:
    assert handshake.program(["python", option, "train.py", *arguments]) == ("script", "train.py")


def test_identity() -> None:
    assert handshake.identity({}) == handshake.Identity(0, 0, 1, 1)
    environ = {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
    assert handshake.identity(environ) == handshake.Identity(5, 1, 8, 4)


def test_write_replaces(tmp_path: Path) -> None:
    content = handshake.record(handshake.Identity(2, 2, 4, 4), "2.9.0", None, "ab")
    handshake.write(tmp_path / "out", {**content, "pid": 1})
    handshake.write(tmp_path / "out", content)
    assert json.loads((tmp_path / "out" / "handshake-2.json").read_text()) == content
    assert len(list((tmp_path / "out").iterdir())) == 1
