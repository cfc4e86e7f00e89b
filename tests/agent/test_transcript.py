from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmig.agent.transcript import TranscriptCopy


def record(config: Path, name: str = "s.jsonl") -> Path:
    path = config / "projects/-w" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_whole_lines_are_copied_and_a_cut_off_one_at_the_end(tmp_path: Path) -> None:
    source = record(tmp_path / "c")
    copy = TranscriptCopy(tmp_path / "c", tmp_path / "t")
    source.write_bytes(b'{"a":1}\n{"b"')
    copy.sweep()
    assert (tmp_path / "t/s.jsonl").read_bytes() == b'{"a":1}\n'
    source.write_bytes(b'{"a":1}\n{"b":2}\n{"c"')
    copy.sweep(final=True)
    assert (tmp_path / "t/s.jsonl").read_bytes() == source.read_bytes()


def test_subagents_are_copied(tmp_path: Path) -> None:
    record(tmp_path / "c", "s/subagents/agent-1.jsonl").write_text("{}\n")
    TranscriptCopy(tmp_path / "c", tmp_path / "t").sweep()
    assert (tmp_path / "t/s/subagents/agent-1.jsonl").read_text() == "{}\n"


def test_a_later_copy_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    source = record(tmp_path / "c")
    source.write_text("1\n")
    TranscriptCopy(tmp_path / "c", tmp_path / "t").sweep()
    source.write_text("1\n2\n")
    TranscriptCopy(tmp_path / "c", tmp_path / "t").sweep()
    assert (tmp_path / "t/s.jsonl").read_text() == "1\n2\n"


def test_lines_that_the_cli_takes_back_stay_in_the_copy(tmp_path: Path) -> None:
    source = record(tmp_path / "c")
    copy = TranscriptCopy(tmp_path / "c", tmp_path / "t")
    source.write_text("1\n2\n")
    copy.sweep()
    source.write_text("1\n")
    copy.sweep()
    source.write_text("1\n3\n")
    copy.sweep()
    assert (tmp_path / "t/s.jsonl").read_text() == "1\n2\n3\n"


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_however_it_grows_the_copy_is_word_for_word(tmp_path_factory: object, chunks: list[bytes]) -> None:
    folder: Path = tmp_path_factory.mktemp("t")  # type: ignore[attr-defined]
    source = record(folder / "c")
    copy = TranscriptCopy(folder / "c", folder / "t")
    for chunk in chunks:
        with source.open("ab") as stream:
            stream.write(chunk)
        copy.sweep()
    copy.sweep(final=True)
    copied = folder / "t/s.jsonl"
    assert (copied.read_bytes() if copied.exists() else b"") == b"".join(chunks)
