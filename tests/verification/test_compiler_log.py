from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmig.execution.runner import COMPILER_LOG
from agentmig.verification.compiler_log import Place, most, places, read_places

BLOCK = """
{kind} Analysis: ================================================================================
{kind} Analysis: {kind} Cause
{kind} Analysis:   {cause}
{kind} Analysis: Graph Info:
{kind} Analysis:   Graph Hash: edceed11afd0510a2df021ad47695731
{kind} Analysis:   Number of Graph Inputs: 3
{kind} Analysis:   Number of Graph Outputs: 1
{kind} Analysis: Python Frame Triggered Execution:
{frames}{kind} Analysis: --------------------------------------------------------------------------------
{kind} Analysis: ================================================================================
"""
READ = "most likely user code trying to access tensor value before torch_xla.sync"
SYNC = "user torch_xla.sync"
LIBRARY = "sync (/env/lib/python3.11/site-packages/torch_xla/torch_xla.py:87)"


def block(kind: str, cause: str, *frames: str) -> str:
    """A block as torch_xla 2.9.0 writes it (laid out after its real output)."""
    lines = "".join(f"{kind} Analysis:   {frame}\n" for frame in frames)
    return BLOCK.format(kind=kind, cause=cause, frames=lines)


def test_the_program_s_line_is_named() -> None:
    text = block(
        "Compilation", READ, "main (/runs/a/code/src/train.py:8)", "<module> (/runs/a/code/src/train.py:90)"
    )
    text += block("Execution", SYNC, LIBRARY, "<module> (/runs/a/code/train.py:9)") * 2
    found = places(text)
    assert found == {
        Place("compilation", READ, "src/train.py:8"): 1,
        Place("execution", SYNC, "train.py:9"): 2,
    }
    assert [place.line for place, _ in most(found, "compilation")] == ["src/train.py:8"]
    assert most(found, "execution", access=True) == []
    assert "src/train.py:8 (most likely user code" in most(found, "compilation", access=True)[0][0].words


def test_the_probe_s_own_doing_is_nobody_s_line() -> None:
    text = block("Execution", SYNC, "to_host (/x/agentmig/probe/backends/xla.py:60)", LIBRARY)
    assert places(text) == {Place("execution", SYNC, ""): 1}
    assert most(places(text), "execution") == []


def test_without_a_log_there_are_no_places(tmp_path: Path) -> None:
    assert not read_places(tmp_path)
    (tmp_path / COMPILER_LOG).write_text(block("Compilation", SYNC, "<module> (/c/code/a.py:1)"))
    assert sum(read_places(tmp_path).values()) == 1


@given(st.text(), st.integers(0, 700))
def test_whatever_stands_in_the_log_is_read(noise: str, cut: int) -> None:
    text = block("Compilation", READ, "<module> (/c/code/a.py:1)") + block("Execution", SYNC, LIBRARY)
    assert all(count >= 1 for count in places(noise + text[:cut] + noise).values())
