import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.verification.reference_archive import HEADER, ArchiveError, export_reference
from agentmig.verification.reference_cache import BusyError, Entry
from agentmig.verification.reference_import import import_reference
from agentmig.verification.reference_inspection import part_of
from agentmig.verification.reference_key import Manifest, read_document, write_document
from agentmig.verification.references import GoalReference
from agentmig.verification.traces import read_world
from tests.verification.untouched import manifest, measured

Files = dict[str, bytes]
HERE = manifest(cores=2, machine="aarch64", environment="f" * 16)


class Boxes:
    """Two machines: one that measured, and one that imports."""

    def __init__(self, folder: Path, kind: str = "NVIDIA A100-SXM4-40GB"):
        self.there = measured(folder / "there", manifest(), kind)
        self.here = Entry(folder / "here", HERE.key)
        self.file = folder / "reference.tar.gz"
        self.folder = folder
        export_reference(self.there, manifest(), self.file)

    def take(self, file: Path | None = None, here: Manifest = HERE, force: bool = False) -> Manifest:
        """Import it."""
        return import_reference(file or self.file, Entry(self.folder / "here", here.key), here, 3, force)

    def files(self) -> Files:
        """What the archive holds."""
        with tarfile.open(self.file) as archive:
            return {m.name: _read(archive, m) for m in archive.getmembers()}

    def forged(
        self,
        change: Callable[[Files, dict[str, Any]], object],
        special: Callable[[tarfile.TarFile], None] | None = None,
    ) -> Path:
        """An archive that was changed after its export; `special` adds members of any kind."""
        files = self.files()
        header = json.loads(files.pop(HEADER))
        change(files, header)
        path = self.folder / "forged.tar.gz"
        with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
            for name, data in {HEADER: json.dumps(header).encode(), **files}.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
            if special:
                special(archive)
        return path

    def is_untouched(self) -> bool:
        """Whether the importing machine's cache holds nothing, half-made things included."""
        root = self.folder / "here"
        return not [path for path in root.glob("*") if path.suffix != ".lock"]


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = archive.extractfile(member)
    assert source is not None
    return source.read()


@pytest.fixture
def boxes(tmp_path: Path) -> Boxes:
    return Boxes(tmp_path)


def test_imported_results_are_the_same_and_say_where_they_are_from(boxes: Boxes) -> None:
    stored = boxes.take()
    assert boxes.here.parts() == boxes.there.parts()
    assert boxes.here.manifest() == stored
    assert stored.origin is not None
    assert (stored.origin.cores, stored.origin.machine, stored.origin.environment) == (8, "x86_64", "e" * 16)
    goal = read_document(GoalReference, boxes.here.goal_file)
    assert goal is not None
    assert (goal.values, goal.run_s, goal.imported_from) == ([0.9, 0.91, 0.92], 10.0, stored.origin.host)
    assert goal.hardware == (
        f"imported from {stored.origin.host}: NVIDIA A100-SXM4-40GB, 2 processes, the declared a100"
    )
    assert goal.as_declared is True
    for name in boxes.there.parts():
        if name != "goal":
            part = part_of(boxes.here.folder / name)
            assert (part.imported_from, part.hardware) == (
                stored.origin.host,
                "NVIDIA A100-SXM4-40GB, 2 processes",
            )
            there = boxes.there.folder / name / "state-0.pt"
            assert (boxes.here.folder / name / "state-0.pt").read_bytes() == there.read_bytes()
    assert read_world(boxes.here.folder / "watch").count == 3


@pytest.mark.parametrize(("kind", "said"), [("NVIDIA H100 PCIe", ", NOT the declared a100"), ("unknown", "")])
def test_other_hardware_than_declared_is_said(tmp_path: Path, kind: str, said: str) -> None:
    boxes = Boxes(tmp_path, kind)
    boxes.take()
    goal = read_document(GoalReference, boxes.here.goal_file)
    assert goal is not None and goal.hardware.endswith(f"{kind}, 2 processes{said}")


def test_results_keep_their_first_origin_when_they_travel_on(boxes: Boxes) -> None:
    boxes.take()
    before = read_document(GoalReference, boxes.here.goal_file)
    onward = boxes.folder / "onward.tar.gz"
    export_reference(boxes.here, HERE, onward)
    third = manifest(cores=77)
    boxes.take(onward, third)
    assert read_document(GoalReference, Entry(boxes.folder / "here", third.key).goal_file) == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"tree": "0" * 40}, "base commit"),
        ({"train": {"command": "python other.py", "env": {}}}, r"train\.command: python train\.py there"),
        ({"evaluate": {"command": "x"}}, r"evaluate\.command"),
        ({"goal": {"metric": "accuracy", "margin": 0.5}}, r"goal\.margin: 0\.02 there, 0\.5 here"),
        ({"reference": {"accelerator": "h100", "seeds": 3}}, r"reference\.accelerator"),
        ({"semantics_steps": 99}, r"acceptance\.semantics\.steps: 12 there, 99 here"),
        ({"perturbation": 0.5}, r"acceptance\.numerics\.perturbation"),
        ({"probe": "0" * 64}, "use the same version"),
        ({"data": {"set": {"paths": {}, "fingerprint": "sha256:2"}}}, r"data\.set\.fingerprint"),
    ],
)
def test_what_was_measured_of_something_else_is_refused_by_name(
    boxes: Boxes, change: dict[str, Any], named: str
) -> None:
    with pytest.raises(ArchiveError, match=named):
        boxes.take(here=manifest(**change))
    assert boxes.is_untouched()


def test_results_that_are_there_are_replaced_only_if_asked(boxes: Boxes) -> None:
    boxes.take()
    marker = boxes.here.folder / "watch" / "mine"
    marker.touch()
    with pytest.raises(ArchiveError, match="--force replaces"):
        boxes.take()
    assert marker.exists()
    with boxes.here.locked_now(), pytest.raises(BusyError):
        boxes.take(force=True)
    boxes.take(force=True)
    assert not marker.exists()
    assert sorted(path.suffix for path in (boxes.folder / "here").iterdir()) == ["", ".lock"]


def _rename(files: Files, header: dict[str, Any], old: str, new: str) -> None:
    files[new] = files.pop(old)
    header["files"][new] = header["files"].pop(old)


STATE = "record-2-float64/state-0.pt"
FORGERIES: dict[str, tuple[Callable[[Files, dict[str, Any]], object], str]] = {
    "a path out": (lambda f, h: _rename(f, h, STATE, "../../outside"), "which no reference has"),
    "an absolute path": (lambda f, h: _rename(f, h, STATE, "/tmp/outside"), "which no reference has"),
    "a hidden path out": (lambda f, h: _rename(f, h, STATE, "watch/../../x"), "which no reference has"),
    "a folder of no name": (
        lambda f, h: _rename(f, h, STATE, "record-0-float64/x"),
        "which no reference has",
    ),
    "a file not announced": (lambda f, h: h["files"].pop(STATE), "without saying so"),
    "a file that is missing": (lambda f, h: f.pop(STATE), "state-0.pt is missing"),
    "another content": (lambda f, h: f.update({STATE: bytes(len(f[STATE]))}), "not the hash"),
    "another size": (lambda f, h: f.update({STATE: b"x"}), "not the size"),
    "another format": (lambda f, h: h.update(schema_version=2), "another version of agentmig"),
    "another kind": (lambda f, h: h.update(kind="backup"), "another version of agentmig"),
    "a host that is markup": (lambda f, h: h.update(host="[bold]"), "host"),
    "too much": (lambda f, h: h["files"][STATE].update(bytes=2**60), "more than 64 GiB"),
    "a negative size": (lambda f, h: h["files"][STATE].update(bytes=-1), "can't be used"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_archive_changes_nothing(boxes: Boxes, name: str) -> None:
    change, said = FORGERIES[name]
    file = boxes.forged(change)
    with pytest.raises(ArchiveError, match=said):
        boxes.take(file)
    assert boxes.is_untouched()


def _special(kind: bytes, link: str = "") -> Callable[[tarfile.TarFile], None]:
    def add(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo("watch/plan.json")
        member.type, member.linkname = kind, link
        archive.addfile(member)

    return add


@pytest.mark.parametrize(
    "special",
    [
        _special(tarfile.SYMTYPE, "/etc/passwd"),
        _special(tarfile.LNKTYPE, "goal.json"),
        _special(tarfile.CHRTYPE),
        _special(tarfile.FIFOTYPE),
        _special(tarfile.DIRTYPE),
        lambda archive: archive.addfile(tarfile.TarInfo("watch/" + "x" * 200)),
    ],
    ids=["symlink", "hard link", "device", "fifo", "folder", "long name"],
)
def test_nothing_but_plain_files_is_read(boxes: Boxes, special: Callable[[tarfile.TarFile], None]) -> None:
    file = boxes.forged(lambda files, header: None, special)
    with pytest.raises(ArchiveError, match="no plain file"):
        boxes.take(file)
    assert boxes.is_untouched()


def test_a_file_twice_is_refused(boxes: Boxes) -> None:
    data = boxes.files()["goal.json"]

    def again(archive: tarfile.TarFile) -> None:
        member = tarfile.TarInfo("goal.json")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))

    with pytest.raises(ArchiveError, match="twice"):
        boxes.take(boxes.forged(lambda files, header: None, again))
    assert boxes.is_untouched()


def test_results_that_can_not_be_used_are_refused(boxes: Boxes) -> None:
    goal = read_document(GoalReference, boxes.there.goal_file)
    assert goal is not None
    shaken = boxes.there.folder / "watch" / "handshake-1.json"
    kept = shaken.read_text()

    def refused(said: str) -> None:
        file = boxes.folder / "other.tar.gz"
        file.unlink(missing_ok=True)
        export_reference(boxes.there, manifest(), file)
        with pytest.raises(ArchiveError, match=said):
            boxes.take(file)
        assert boxes.is_untouched()

    write_document(boxes.there.goal_file, goal.model_copy(update={"seeds": [1], "values": [0.9]}))
    refused("no goal metric over 3 seeds")
    write_document(boxes.there.goal_file, goal.model_copy(update={"hardware": "[red]ignore all"}))
    refused("no name of hardware")
    boxes.there.goal_file.write_text("{}")
    refused(r"goal\.json: damaged")
    write_document(boxes.there.goal_file, goal)
    shaken.unlink()
    refused(r"watch can't be used \(ranks missing: \[1\]")
    shaken.write_text(kept)
    (boxes.there.folder / "calibration-2" / "trace-0.jsonl").write_text("no JSON\n\n")
    refused("calibration-2 can't be used")


def test_a_calibration_without_its_record_is_refused(boxes: Boxes) -> None:
    def change(files: Files, header: dict[str, Any]) -> None:
        for name in [name for name in files if name.startswith("record-2-production")]:
            del files[name], header["files"][name]

    with pytest.raises(ArchiveError, match="calibration-2 without record-2-production"):
        boxes.take(boxes.forged(change))


def test_there_must_be_room(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda place: Full)
    with pytest.raises(ArchiveError, match="less room"):
        boxes.take()
    assert boxes.is_untouched()


def test_a_file_that_is_no_archive_is_said(boxes: Boxes) -> None:
    no_archive = boxes.folder / "notes.txt"
    with pytest.raises(ArchiveError, match=r"notes\.txt: No such file"):
        boxes.take(no_archive)
    for data in (b"", b"text", gzip.compress(b"text"), gzip.compress(bytes(4096))):
        no_archive.write_bytes(data)
        with pytest.raises(ArchiveError, match="no archive of a reference"):
            boxes.take(no_archive)
    with pytest.raises(ArchiveError, match="directory"):
        boxes.take(boxes.folder)
    assert boxes.is_untouched()


@given(st.floats(0, 0.999), st.integers(1, 255), st.booleans())
def test_damage_anywhere_is_an_error_or_changes_no_result(
    tmp_path_factory: pytest.TempPathFactory, share: float, bits: int, cut_off: bool
) -> None:
    boxes = Boxes(tmp_path_factory.mktemp("boxes"))
    raw = bytearray(boxes.file.read_bytes())
    place = int(share * len(raw))
    raw[place] ^= bits
    boxes.file.write_bytes(bytes(raw[:place] if cut_off else raw))
    try:
        boxes.take()
    except ArchiveError:
        assert boxes.is_untouched()
    else:
        for name in boxes.there.parts():
            if name != "goal":
                mine, theirs = boxes.here.folder / name, boxes.there.folder / name
                assert (mine / "state-0.pt").read_bytes() == (theirs / "state-0.pt").read_bytes()
