import shutil
from pathlib import Path

from agentmig.journal import Journal
from agentmig.journal.events import GateFinished, MigrationStarted
from agentmig.study.reading import read
from tests.journal.builders import put
from tests.study.migrations import gate, run


def test_runs_are_read_in_the_order_of_their_projects(tmp_path: Path) -> None:
    folders = [
        run(tmp_path / name, workload=workload) for name, workload in (("1", "b"), ("2", "a"), ("3", "a"))
    ]
    found = read(folders)
    assert [(m.project, m.run) for m in found.migrations] == [("a", "2"), ("a", "3"), ("b", "1")]
    assert read(reversed(folders)) == found


def test_a_copy_of_a_run_counts_once_and_is_named(tmp_path: Path) -> None:
    original = run(tmp_path / "original")
    copy = tmp_path / "an earlier copy"
    shutil.copytree(original, copy)
    lines = (copy / "journal.jsonl").read_text().splitlines(keepends=True)
    (copy / "journal.jsonl").write_text("".join(lines[:-1]))
    found = read([copy, original, original])
    assert [m.verdict for m in found.migrations] == ["accepted"]
    assert [(d.run, d.folder, d.counted) for d in found.duplicates] == [
        ("original", str(copy), str(original))
    ]


def test_what_cant_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = run(tmp_path / "good")
    damaged = run(tmp_path / "damaged")
    file = damaged / "journal.jsonl"
    file.write_text(file.read_text().replace('"turn"', '"term"'))
    newer = run(tmp_path / "newer")
    file = newer / "journal.jsonl"
    file.write_text(file.read_text().replace('"schema_version":1', '"schema_version":2'))
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "journal.jsonl").touch()
    loose = tmp_path / "loose"
    with Journal(loose) as journal:
        put(journal, MigrationStarted)
        put(journal, GateFinished, claim="claim-9", result=gate("goal"))
    missing = tmp_path / "missing"
    found = read([good, damaged, newer, empty, loose, missing])
    assert [m.run for m in found.migrations] == ["good"]
    told = dict(zip(["damaged", "empty", "loose", "missing", "newer"], found.unreadable, strict=True))
    assert f"{damaged / 'journal.jsonl'}:3: damaged" in told["damaged"]
    assert f"{empty / 'journal.jsonl'}: the journal is empty" in told["empty"]
    assert f"{loose / 'journal.jsonl'}: an event speaks of" in told["loose"]
    assert str(missing) in told["missing"]
    assert f"{newer / 'journal.jsonl'}:1: written by a newer version" in told["newer"]
