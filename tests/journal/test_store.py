import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal import Journal, JournalError, read_journal
from agentmig.journal.events import ClaimMade, MigrationStarted
from agentmig.journal.store import FILE, parse_journal
from tests.journal.builders import put


def _written(run: Path, claims: int) -> bytes:
    with Journal(run) as journal:
        put(journal, MigrationStarted)
        for number in range(claims):
            put(journal, ClaimMade, claim=f"claim-{number + 1}")
    return (run / FILE).read_bytes()


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    _written(tmp_path, 2)
    events = read_journal(tmp_path)
    assert [event.kind for event in events] == ["migration_started", "claim_made", "claim_made"]
    assert [event.seq for event in events] == [1, 2, 3]


def test_an_event_is_on_disk_before_its_consequence(tmp_path: Path) -> None:
    seen: list[int] = []
    with Journal(tmp_path, on_event=lambda event: seen.append(len(read_journal(tmp_path)))) as journal:
        put(journal, MigrationStarted)
        put(journal, ClaimMade)
    assert seen == [1, 2]


def test_a_journal_goes_on_where_it_stopped(tmp_path: Path) -> None:
    _written(tmp_path, 1)
    with Journal(tmp_path) as journal:
        assert put(journal, ClaimMade, claim="claim-2").seq == 3
    assert len(read_journal(tmp_path)) == 3


@given(cut=st.integers(min_value=1))
def test_a_cut_at_any_byte_loses_at_most_the_last_event(tmp_path: Path, cut: int) -> None:
    (tmp_path / FILE).unlink(missing_ok=True)
    data = _written(tmp_path, 3)
    kept = data[: len(data) - cut % len(data)]
    (tmp_path / FILE).write_bytes(kept)
    complete = kept.count(b"\n")
    assert len(read_journal(tmp_path)) == complete
    with Journal(tmp_path) as journal:
        assert len(journal.events) == complete
        put(journal, ClaimMade, claim="next") if complete else put(journal, MigrationStarted)
    assert len(read_journal(tmp_path)) == complete + 1


@given(place=st.integers(min_value=0), byte=st.integers(0, 255))
def test_damage_in_a_complete_line_is_named_or_harmless_but_never_skipped(
    tmp_path: Path, place: int, byte: int
) -> None:
    (tmp_path / FILE).unlink(missing_ok=True)
    data = bytearray(_written(tmp_path, 2))
    data[place % (len(data) - 1)] = byte
    try:
        events, complete = parse_journal(bytes(data), "j")
    except JournalError as error:
        assert str(error).startswith("j:")
    else:
        assert len(events) == bytes(data[:complete]).count(b"\n")


def test_a_removed_line_is_named(tmp_path: Path) -> None:
    lines = _written(tmp_path, 3).splitlines(keepends=True)
    with pytest.raises(JournalError, match=r"j:3: event 4 stands where event 3 belongs"):
        parse_journal(b"".join([*lines[:2], lines[3]]), "j")


def test_a_newer_version_is_told_apart_from_damage(tmp_path: Path) -> None:
    data = _written(tmp_path, 1).replace(b'"schema_version":1', b'"schema_version":2')
    with pytest.raises(JournalError, match="newer version"):
        parse_journal(data, "j")


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(JournalError, match="another agentmig process"):
        Journal(tmp_path)


def test_a_full_disk_leaves_the_earlier_events_and_no_half_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path) as journal:
        put(journal, MigrationStarted)

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(JournalError, match="No space left on device"):
                put(journal, ClaimMade)
        assert [event.kind for event in journal.events] == ["migration_started"]
        put(journal, ClaimMade)
    assert len(read_journal(tmp_path)) == 2


def test_a_folder_without_journal_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        read_journal(tmp_path)
