import tarfile
from pathlib import Path

import pytest

from agentmig.verification.reference_archive import (
    HEADER,
    ArchiveError,
    Header,
    export_reference,
    without_partner,
)
from agentmig.verification.reference_cache import BusyError, Entry
from tests.verification.untouched import manifest, measured


def test_an_archive_holds_the_parts_and_says_what_it_holds(tmp_path: Path) -> None:
    entry = measured(tmp_path / "cache", manifest())
    file = tmp_path / "reference.tar.gz"
    done = export_reference(entry, manifest(), file)
    assert done.parts == entry.parts() and not done.left_out
    assert done.bytes == file.stat().st_size
    with tarfile.open(file) as archive:
        members = archive.getmembers()
        first = archive.extractfile(members[0])
        assert first is not None
        header = Header.model_validate_json(first.read())
    assert members[0].name == HEADER
    assert {member.name: member.size for member in members[1:]} == {
        name: fact.bytes for name, fact in header.files.items()
    }
    assert {(member.uid, member.uname, member.isreg()) for member in members} == {(0, "", True)}
    assert {name.split("/")[0] for name in header.files} == {
        "goal.json",
        "watch",
        "calibration-2",
        "record-2-float64",
        "record-2-production",
    }
    assert header.manifest == manifest()


def test_a_half_without_its_other_half_is_left_out(tmp_path: Path) -> None:
    assert without_partner(["goal", "record-2-float64", "record-2-production", "calibration-4"]) == {
        "record-2-production": "calibration-2",
        "calibration-4": "record-4-production",
    }
    entry = measured(tmp_path / "cache", manifest())
    (entry.folder / "calibration-2").rename(tmp_path / "elsewhere")
    done = export_reference(entry, manifest(), tmp_path / "file")
    assert done.parts == ["goal", "record-2-float64"]
    assert done.left_out == ["record-2-production: its other half is not there (calibration-2)"]


def test_what_can_not_be_exported_leaves_no_file(tmp_path: Path) -> None:
    entry = measured(tmp_path / "cache", manifest())
    file = tmp_path / "reference.tar.gz"
    with pytest.raises(ArchiveError, match="no goal metric yet"):
        export_reference(Entry(tmp_path / "cache", "0" * 16), manifest(), file)
    with entry.locked_now(), pytest.raises(BusyError):
        export_reference(entry, manifest(), file)
    with pytest.raises(ArchiveError, match="nowhere"):
        export_reference(entry, manifest(), tmp_path / "nowhere" / "file")
    assert not list(tmp_path.glob("reference*"))
    file.write_text("mine")
    with pytest.raises(ArchiveError, match="exists already"):
        export_reference(entry, manifest(), file)
    assert file.read_text() == "mine"
