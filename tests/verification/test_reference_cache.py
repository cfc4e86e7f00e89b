import asyncio
import fcntl
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.verification import reference_cache
from agentmig.verification.reference_cache import (
    BusyError,
    CacheError,
    Entry,
    Stored,
    entries,
    expired,
    needed_parts,
    stored,
)
from tests.verification.untouched import Untouched, manifest, measured

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_what_is_needed_are_the_parts_of_each_world_size_once(tmp_path: Path) -> None:
    project = Untouched(tmp_path)
    assert needed_parts(project.workload) == [
        "goal",
        "record-2-float64",
        "record-2-production",
        "calibration-2",
        "record-4-float64",
        "record-4-production",
        "calibration-4",
    ]
    project.change("chips = 4", "chips = 2")
    assert len(needed_parts(project.workload)) == 4
    assert needed_parts(project.workload, goal_only=True) == ["goal"]


def test_only_complete_parts_count(tmp_path: Path) -> None:
    entry = measured(tmp_path, manifest())
    (entry.folder / "record-4-float64.partial").mkdir()
    (entry.folder / "record-2-float32").mkdir()
    assert entry.parts() == ["goal", "calibration-2", "record-2-float64", "record-2-production"]
    assert entry.size() > 3 * 256 * 40
    assert entry.size("record-2-float64") < entry.size()
    assert entry.size("goal") > entry.goal_file.stat().st_size


def test_the_manifest_of_results_stays_the_one_that_was_written_first(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "references", manifest().key)
    assert entry.manifest() is None
    entry.describe(manifest())
    entry.describe(manifest().model_copy(update={"commit": "d" * 40}))
    assert entry.manifest() == manifest()


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "references").write_text("a file")
    entry = Entry(tmp_path / "references", manifest().key)
    with pytest.raises(CacheError, match="AGENTMIG_CACHE"):
        entry.describe(manifest())
    with pytest.raises(CacheError, match="AGENTMIG_CACHE"), entry.locked_now():
        pass


def test_the_second_waits_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_cache, "_LOOK_S", 0.001)
    entry = Entry(tmp_path, manifest().key)
    order: list[str] = []

    async def both() -> None:
        said = asyncio.Event()

        def on_wait(text: str) -> None:
            order.append(text)
            said.set()

        async def second() -> None:
            async with Entry(tmp_path, entry.key).locked(on_wait):
                order.append("second")

        with entry.locked_now():
            waiting = asyncio.create_task(second())
            await said.wait()
            order.append("first ends")
        await waiting

    asyncio.run(both())
    assert order[0].startswith(f"reference: waiting for another agentmig (process {os.getpid()})")
    assert order[1:] == ["first ends", "second"]


def test_waiting_can_be_interrupted(tmp_path: Path) -> None:
    entry = Entry(tmp_path, manifest().key)

    async def interrupted() -> bool:
        waits = asyncio.Event()

        async def second() -> None:
            async with entry.locked(lambda text: waits.set()):
                pytest.fail("the lock is held")

        with entry.locked_now():
            waiting = asyncio.create_task(second())
            await waits.wait()
            waiting.cancel()
            await asyncio.wait([waiting])
            return waiting.cancelled()

    assert asyncio.run(interrupted())


def test_results_in_work_are_not_removed_and_others_leave_nothing(tmp_path: Path) -> None:
    entry = measured(tmp_path, manifest())
    with entry.locked_now(), pytest.raises(BusyError, match="works on it"), entry.locked_now():
        pass
    (tmp_path / f"{entry.key}.import-x").mkdir()
    with entry.locked_now():
        entry.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_meanwhile_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry(tmp_path, manifest().key)
    lock = tmp_path / f"{entry.key}.lock"
    real = fcntl.flock
    removed: list[Path] = []

    def flock(*arguments: int) -> None:
        real(*arguments)
        if not removed:  # the first holder removes results and lock just before we get it
            lock.unlink()
            removed.append(lock)

    monkeypatch.setattr("fcntl.flock", flock)
    with entry.locked_now():
        assert lock.exists()
        with pytest.raises(BusyError), entry.locked_now():
            pass


def test_entries_are_folders_with_a_key_the_newest_first(tmp_path: Path) -> None:
    old, new = measured(tmp_path, manifest()), measured(tmp_path, manifest(cores=9))
    for part in [old.goal_file, *(old.folder / name for name in old.parts() if name != "goal")]:
        os.utime(part, (1.0, 1.0))
    (tmp_path / "not-a-key").mkdir()
    (tmp_path / f"{old.key}.lock").touch()
    assert [entry.key for entry in entries(tmp_path)] == [new.key, old.key]
    assert old.newest() == datetime.fromtimestamp(1, UTC)
    assert entries(tmp_path / "nowhere") == []


def test_a_folder_of_an_earlier_version_belongs_to_nobody_that_is_known(tmp_path: Path) -> None:
    entry = measured(tmp_path, manifest())
    assert stored(entry).workload == "tiny"
    (entry.folder / "manifest.json").write_text("{}")
    assert stored(entry).workload is None
    (entry.folder / "manifest.json").unlink()
    assert stored(entry).workload is None
    shutil.rmtree(entry.folder / "watch")
    assert stored(entry).size == entry.size()


FOUND = st.lists(
    st.builds(
        Stored,
        key=st.sampled_from("abcd"),
        workload=st.sampled_from(["one", "two", None]),
        newest=st.integers(0, 400).map(lambda days: NOW - timedelta(days=days)),
        size=st.integers(0, 9),
    )
)


@given(FOUND, st.one_of(st.none(), st.floats(0, 400)))
def test_expiry_takes_what_is_named_and_old(found: list[Stored], days: float | None) -> None:
    def old(each: Stored) -> bool:
        return days is None or (NOW - each.newest) > timedelta(days=days)

    everything = expired(found, older_than_days=days, now=NOW)
    assert everything == [each for each in found if old(each)]
    named = expired(found, workload="one", older_than_days=days, now=NOW)
    assert named == [each for each in found if each.workload == "one" and old(each)]
    key = expired(found, keys=["a"], older_than_days=days, now=NOW)
    assert key == [each for each in found if each.key == "a" and old(each)]
    assert expired(found, keys=[], older_than_days=days, now=NOW) == []
