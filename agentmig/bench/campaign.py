"""All arms, one after the other or several at once; each is kept as soon as it is done."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from agentmig.bench import baselines, oracle, rows
from agentmig.bench.applying import Prepared
from agentmig.bench.arms import Arm, by_group
from agentmig.bench.examples import Example
from agentmig.bench.rows import Observation
from agentmig.bench.verifying import scratch_workload, verify
from agentmig.bench.yard import Yard
from agentmig.errors import AgentmigError
from agentmig.execution.isolation import Isolation
from agentmig.policy import Policy
from agentmig.spec import PriceBook
from agentmig.supervisor.inputs import Inputs

RUNS = "arms"
"""Folder of the verifications in the folder of a campaign."""


class MigrationBroken(AgentmigError):  # noqa: N818  it names what happened
    """A correct migration isn't one: its mutants would prove nothing."""


@dataclass(frozen=True)
class Progress:
    """An arm has ended.

    Attributes:
        done: how many have, with those of earlier campaigns.
        left_s: about how many seconds the others take; None where nothing can be said.
        observation: what came out, or None where it could not be run.
        problem: why not.
    """

    arm: Arm
    done: int
    total: int
    wall_s: float
    left_s: float | None
    observation: Observation | None
    problem: str | None = None


@dataclass
class Clock:
    """How long arms take, by group."""

    jobs: int = 1
    _seen: defaultdict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, group: tuple[str, str], seconds: float) -> None:
        """An arm of a group took so long."""
        self._seen[group].append(seconds)

    def left(self, together: Iterable[tuple[str, str]], alone: Iterable[tuple[str, str]]) -> float | None:
        """About how long arms of these groups take; None before the first is known.

        Args:
            together: the groups of arms that are run several at once.
            alone: of those that are run one after the other.
        """
        everything = [seconds for seen in self._seen.values() for seconds in seen]
        if not everything:
            return None

        def mean(group: tuple[str, str]) -> float:
            return fmean(self._seen.get(group) or everything)

        return sum(map(mean, together)) / self.jobs + sum(map(mean, alone))


@dataclass
class Campaign:
    """Runs arms.

    Attributes:
        folder: rows, trainings and verifications are kept here.
        jobs: how many arms of single-process targets are run at once.
        on_note: gets a line for people about what is being done.
        on_progress: gets each arm that has ended.
    """

    prepared: Prepared
    examples: Mapping[str, Example]
    policy: Policy
    prices: PriceBook
    folder: Path
    isolation: Isolation
    jobs: int
    on_note: Callable[[str], None]
    on_progress: Callable[[Progress], None]
    problems: dict[str, str] = field(default_factory=dict)
    """Why arms could not be run, by their names."""

    def __post_init__(self) -> None:
        self._found = rows.read(self.folder)
        self._todo = [arm for arm in self.prepared.arms if arm.key not in self._found]
        self._clock = Clock(self.jobs)
        self._said: set[str] = set()
        self._inputs: dict[str, Inputs] = {}
        self._yards: dict[str, Yard] = {}
        for name in sorted({arm.workload for arm in self._todo}):
            workload = scratch_workload(self.examples[name], self.prepared.scratch[name])
            self._inputs[name] = Inputs(workload=workload, policy=self.policy, prices=self.prices)
            self._yards[name] = Yard(
                self.folder / "plain",
                self.examples[name],
                workload,
                self.prepared.scratch[name],
                self.isolation,
                lambda text, name=name: self._note(f"{name}: {text}"),  # type: ignore[misc]
            )

    @property
    def done(self) -> int:
        """How many arms have a row, or could not be run."""
        return len(self.prepared.arms) - len(self._todo)

    @property
    def found(self) -> Mapping[str, Observation]:
        """What is known of arms, by their keys."""
        return self._found

    async def run(self) -> None:
        """Run all arms that have no row yet.

        The first arm of each project and target is run alone, since it measures the reference for the others.
        """
        try:
            for arms in by_group(self._todo).values():
                await self._one(arms[0])
            await self._together([arm for arm in self._todo if self._may_share(arm)])
            for arm in list(self._todo):
                await self._one(arm)
        finally:
            for yard in self._yards.values():
                yard.close()

    def _may_share(self, arm: Arm) -> bool:
        """Whether other arms may be run beside it: one process, and time isn't what is looked at."""
        chips = self.examples[arm.workload].workload.targets[arm.target].chips
        return self.jobs > 1 and chips == 1 and arm.oracle != "performance"

    async def _together(self, arms: Sequence[Arm]) -> None:
        slots = asyncio.Semaphore(self.jobs)

        async def one(arm: Arm) -> None:
            async with slots:
                await self._one(arm)

        try:
            async with asyncio.TaskGroup() as group:
                for arm in arms:
                    group.create_task(one(arm))
        except* AgentmigError as errors:
            raise errors.exceptions[0] from None

    async def _one(self, arm: Arm) -> None:
        begin = time.monotonic()
        row, problem = await self._attempted(self._observed(arm))
        if row:
            rows.append(self.folder, row)
            self._found[row.key] = row
        else:
            self.problems[arm.id] = problem
        self._todo.remove(arm)
        wall_s = time.monotonic() - begin
        self._clock.add(arm.group, wall_s)
        together = [each.group for each in self._todo if self._may_share(each)]
        alone = [each.group for each in self._todo if not self._may_share(each)]
        left_s = self._clock.left(together, alone)
        total = len(self.prepared.arms)
        self.on_progress(Progress(arm, self.done, total, wall_s, left_s, row, problem or None))

    async def _attempted(self, work: Awaitable[Observation]) -> tuple[Observation | None, str]:
        try:
            return await work, ""
        except rows.RowsError:
            raise
        except AgentmigError as error:
            return None, str(error)

    async def _observed(self, arm: Arm) -> Observation:
        """What comes out for an arm.

        Raises:
            AgentmigError: it could not be run, which says nothing about it.
        """
        example, yard = self.examples[arm.workload], self._yards[arm.workload]
        reference = await yard.untouched()
        clean, again = await yard.clean(arm.target, arm.clean)
        for plain, words in ((reference, "the untouched code"), (clean, "the correct migration")):
            if not plain.ok:
                raise MigrationBroken(
                    f"{words} of {arm.workload} ({arm.target}) is no basis: its training {plain.ended}"
                )
        plain = await yard.of(arm)
        decision = None
        if arm.oracle is not None:
            protected = example.workload.protected
            decision = oracle.decide(arm.oracle, clean, again, plain, arm.changes, protected)
        verified = None
        if decision is None or decision.outcome != "equivalent":
            inputs, folder = self._inputs[arm.workload], self.folder / RUNS / arm.id
            verified = await verify(arm, inputs, folder, self.isolation, self._noted(arm))
        if verified:
            verified = verified.model_copy(update={"summary": self._without_place(verified.summary)})
        return Observation(
            key=arm.key,
            arm=arm.id,
            outcome=decision.outcome if decision else None,
            reason=self._without_place(decision.reason) if decision else "",
            distance=plain.distance.relative if plain.distance else None,
            metric=plain.metric,
            baselines=baselines.judge(reference, plain, example.workload.goal),
            verified=verified,
            run=arm.id if verified else None,
        )

    def _without_place(self, text: str) -> str:
        """A text without the campaign's own folder: it is read elsewhere too."""
        return text.replace(f"{self.folder.resolve()}/", "")

    def _noted(self, arm: Arm) -> Callable[[str], None]:
        return lambda text: self._note(f"{arm.workload}: {text}")

    def _note(self, text: str) -> None:
        """Say something once: arms of a project share what is noted."""
        if text not in self._said:
            self._said.add(text)
            self.on_note(text)
