import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentmig.bench import campaign as module
from agentmig.bench import rows
from agentmig.bench.applying import prepare
from agentmig.bench.arms import Arm
from agentmig.bench.campaign import Campaign, Clock, Progress
from agentmig.bench.manifests import CLEAN
from agentmig.bench.plain import Distance, Plain
from agentmig.bench.verifying import Verified
from agentmig.errors import AgentmigError
from agentmig.execution.isolation import Isolation
from agentmig.policy import load_policy
from agentmig.spec import load_prices
from tests.bench.builders import MUTANT, example, operators, plain, verified, write_operators

HELPER = 'schema_version = 1\nname = "helper"\nkind = "clean"\ntitle = "A helper"\n' + MUTANT.replace(
    "lr=0.5", "DEVICE = 'cpu'"
).replace("lr=0.7", "DEVICE = str('cpu')")
TEXTS = {
    "helper": HELPER,
    "lr": MUTANT + MUTANT.replace("0.7", "0.9"),
    "speed": MUTANT.replace("0.7", "0.6"),
}


class World:
    """A campaign whose trainings and verifications are made up.

    Attributes:
        trained: what was trained, in order.
        busy: how many verifications go on at once, at each begin.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: int = 1):
        self.folder = folder
        self.jobs = jobs
        self.plains: dict[str, Plain] = {}
        self.verdicts: dict[str, Verified | BaseException] = {}
        self.verified: list[str] = []
        self.busy: list[int] = []
        self.progress: list[Progress] = []
        self.notes: list[str] = []
        self._now = 0
        world = self

        class Yard:
            def __init__(self, *arguments: Any):
                pass

            async def untouched(self) -> Plain:
                return world.plain("untouched")

            async def clean(self, target: str, commit: str) -> tuple[Plain, Plain]:
                return world.plain("clean"), plain(distance=Distance(relative=0.0))

            async def of(self, arm: Arm) -> Plain:
                return world.plain(arm.id)

            def close(self) -> None:
                world.notes.append("closed")

        async def verify(arm: Arm, *arguments: Any) -> Verified:
            world.verified.append(arm.id)
            world._now += 1
            world.busy.append(world._now)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            world._now -= 1
            came_out = world.verdicts.get(arm.id) or verified("fail" if arm.is_mutant else "pass")
            if isinstance(came_out, BaseException):
                raise came_out
            return came_out

        monkeypatch.setattr(module, "Yard", Yard)
        monkeypatch.setattr(module, "verify", verify)

    def plain(self, name: str) -> Plain:
        return self.plains.get(name, plain(distance=Distance(relative=0.3)))

    def campaign(self, texts: dict[str, str] | None = None) -> Campaign:
        examples = example(self.folder / "examples")
        found = operators(write_operators(self.folder / "operators", {}), texts or TEXTS)
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        return Campaign(
            prepared=prepare(examples, found, work / "projects", clean=True),
            examples=examples,
            policy=load_policy(),
            prices=load_prices(),
            folder=work,
            isolation=Isolation("none"),
            jobs=self.jobs,
            on_note=self.notes.append,
            on_progress=self.progress.append,
        )

    def run(self, texts: dict[str, str] | None = None) -> Campaign:
        made = self.campaign(texts)
        asyncio.run(made.run())
        return made


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_every_arm_gets_a_row_what_is_correct_first(world: World) -> None:
    made = world.run()
    assert world.verified == [
        f"{CLEAN}.tiny.cpu",
        "helper.tiny.cpu",
        "lr.tiny.cpu.1",
        "lr.tiny.cpu.2",
        "speed.tiny.cpu",
    ]
    assert set(made.found) == {arm.key for arm in made.prepared.arms}
    assert rows.read(world.folder / "work") == made.found
    assert [(p.done, p.total) for p in world.progress] == [(n, 5) for n in range(1, 6)]
    assert world.progress[0].left_s is not None
    assert world.progress[-1].left_s == 0
    assert world.notes[-1] == "closed"


def test_arms_with_a_row_are_not_run_again_unless_they_changed(world: World) -> None:
    world.run()
    again = world.campaign()
    assert again.done == 5
    world.verified.clear()
    made = world.run(TEXTS | {"speed": MUTANT.replace("0.7", "0.3")})
    assert world.verified == ["speed.tiny.cpu"]
    assert (world.progress[-1].done, made.done) == (5, 5)


def test_a_mutant_that_changes_nothing_is_not_verified(world: World) -> None:
    world.plains["lr.tiny.cpu.1"] = plain(distance=Distance(relative=0.0))
    made = world.run()
    assert "lr.tiny.cpu.1" not in world.verified
    (row,) = [row for row in made.found.values() if row.arm == "lr.tiny.cpu.1"]
    assert (row.outcome, row.verified, row.run) == ("equivalent", None, None)


def test_rows_say_nothing_of_the_place_that_they_were_made_in(world: World) -> None:
    place = world.folder.resolve() / "work" / "arms" / "log.txt"
    world.verdicts["lr.tiny.cpu.1"] = verified("fail", summary=f"Read {place}.")
    made = world.run()
    (row,) = [row for row in made.found.values() if row.arm == "lr.tiny.cpu.1"]
    assert row.verified is not None
    assert row.verified.summary == "Read arms/log.txt."


def test_a_loud_mutant_is_verified_all_the_same(world: World) -> None:
    world.plains["lr.tiny.cpu.1"] = plain(ok=False, ended="ended with exit code 1")
    made = world.run()
    (row,) = [row for row in made.found.values() if row.arm == "lr.tiny.cpu.1"]
    assert row.outcome == "broken"
    assert row.verified is not None
    assert set(row.baselines.values()) == {False}


def test_an_arm_that_cannot_be_run_has_no_row_and_does_not_end_the_others(world: World) -> None:
    world.verdicts["helper.tiny.cpu"] = AgentmigError("no room on the disk")
    made = world.run()
    assert made.problems == {"helper.tiny.cpu": "no room on the disk"}
    assert len(made.found) == 4
    assert world.progress[1].problem == "no room on the disk"
    world.verdicts.clear()
    world.verified.clear()
    assert world.run().problems == {}
    assert world.verified == ["helper.tiny.cpu"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("clean", "the correct migration of tiny"), ("untouched", "the untouched code of tiny")],
)
def test_a_migration_that_does_not_run_is_no_basis_for_mutants(world: World, name: str, words: str) -> None:
    world.plains[name] = plain(ok=False, ended="ended with exit code 3")
    made = world.run()
    assert world.verified == []
    assert len(made.problems) == 5
    for problem in made.problems.values():
        assert words in problem
        assert "ended with exit code 3" in problem


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interruption_keeps_what_is_done(world: World, error: BaseException) -> None:
    world.verdicts["lr.tiny.cpu.1"] = error
    made = world.campaign()
    with pytest.raises(type(error)):
        asyncio.run(made.run())
    assert [row.arm for row in rows.read(world.folder / "work").values()] == [
        f"{CLEAN}.tiny.cpu",
        "helper.tiny.cpu",
    ]
    assert made.done == 2
    assert world.notes[-1] == "closed"


def test_several_at_once_but_the_first_of_a_group_and_what_is_timed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, jobs=2)
    timed = 'schema_version = 1\nname = "speed"\nkind = "fault"\ntitle = "Slow"\nexpected = ["host_sync"]\noracle = "performance"\n'
    slow = plain(distance=Distance(relative=0.0), transfers=100)
    world.plains["speed.tiny.cpu"] = slow
    world.run(TEXTS | {"speed": timed + MUTANT.replace("0.7", "0.6")})
    assert len(world.verified) == 5
    assert world.verified[0] == f"{CLEAN}.tiny.cpu"
    assert world.verified[-1] == "speed.tiny.cpu"
    assert world.busy[0] == world.busy[-1] == 1
    assert max(world.busy) == 2


def test_rows_that_cannot_be_written_end_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.jobs = 2

    def refuse(folder: Path, row: rows.Observation) -> None:
        if row.arm.startswith("lr"):
            raise rows.RowsError("the disk is full")

    monkeypatch.setattr(rows, "append", refuse)
    with pytest.raises(rows.RowsError, match="the disk is full"):
        world.run()


def test_time_left_is_what_such_arms_took() -> None:
    clock = Clock(jobs=2)
    assert clock.left([("a", "x")], []) is None
    for group, seconds in ((("a", "x"), 10.0), (("a", "x"), 20.0), (("b", "x"), 60.0)):
        clock.add(group, seconds)
    assert clock.left([("a", "x"), ("a", "x")], [("b", "x")]) == 15.0 + 60.0
    assert clock.left([], [("c", "x")]) == 30.0
    assert clock.left([], []) == 0.0
