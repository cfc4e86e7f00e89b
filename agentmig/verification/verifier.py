"""The verifier: what a claim is worth, found by runs that the agent did not make, in places that it never saw.

For each target the gates run cheapest first, and the first that fails ends the verification, since no later gate can
make the claim good again. Seeds are drawn after the claim. Every run is an execution attempt in the journal.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from agentmig.execution.launch import Plan
from agentmig.execution.repository import remove
from agentmig.execution.runner import LocalRunner, Result
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimVerified,
    EventBase,
    GateFinished,
    GateResult,
    TargetRecord,
    Verdict,
)
from agentmig.verification.compiler_log import read_places
from agentmig.verification.gates import (
    GATES,
    goal,
    hardware,
    integrity,
    numerics,
    performance,
    runs,
    semantics,
)
from agentmig.verification.outcomes import attempt_fields, overall
from agentmig.verification.references import GoalReference, Kind, ReferenceFailed, References, metric_of
from agentmig.verification.retries import retried
from agentmig.verification.traces import World, read_world

E = TypeVar("E", bound=EventBase)
Judge = Callable[[Result, World], Awaitable[list[GateResult]]]
"""What gates say of a run."""


class Emit(Protocol):
    """Writes an event; the journal's `append` is one."""

    def __call__(self, kind: type[E], **fields: Any) -> E:
        """Write an event of `kind`; returns it as written."""
        ...


class _Failed(Exception):  # noqa: N818  control flow: the claim can't pass any more
    pass


@dataclass(frozen=True)
class _Pass:
    """A float64 pass, against the reference's record of a kind in so many processes."""

    kind: Kind
    processes: int


@dataclass
class _Verification:
    """What is known of one claim while it is verified."""

    claim: str
    commit: str
    number: int
    results: list[GateResult] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    processes: int = 1
    """Of the reference with which the target that is at work is compared."""

    def result(self, target: str, gate: str) -> GateResult | None:
        return next((r for r in self.results if r.target == target and r.gate == gate), None)


class Verifier:
    """Verifies commits of one workload.

    Args:
        runner: runs commits on targets.
        references: results of the untouched code.
        emit: gets every event.
        targets: the targets as they were declared, with prices.
        next_attempt: gives the name of the next attempt.
        may_continue: asked before anything is run; a reason ends the verification undecided.
    """

    def __init__(
        self,
        runner: LocalRunner,
        references: References,
        emit: Emit,
        targets: list[TargetRecord],
        next_attempt: Callable[[], str],
        may_continue: Callable[[], str | None],
    ):
        self._runner = runner
        self._references = references
        self._emit = emit
        self._targets = {target.name: target for target in targets}
        self._next_attempt = next_attempt
        self._may_continue = may_continue
        self._workload = runner.workload

    async def verify(self, claim: str, commit: str, number: int) -> ClaimVerified:
        """Put a claimed commit through the gates on every target.

        Args:
            claim: the claim's name.
            commit: full id of the claimed commit.
            number: which claim this is, from 1, of those that reached the goal: alpha is spread over them.
        """
        verification = _Verification(claim, commit, number)
        try:
            for target in self._targets:
                await self._on_target(verification, target)
        except _Failed:
            pass
        self._fill(verification)
        verdict, decisive = overall(verification.results)
        return self._emit(
            ClaimVerified,
            claim=claim,
            verdict=verdict,
            cause=decisive.cause if decisive else None,
            summary=decisive.summary if decisive else self._accepted(),
            alpha_spent=goal.alpha_for_claim(self._workload.acceptance.goal, number)
            if any(r.gate == "goal" and r.verdict is not Verdict.NOT_REACHED for r in verification.results)
            else 0.0,
            seeds=verification.seeds,
        )

    async def cheap_gates(
        self, attempt: str, target: str, chips: int, commit: str, run: Result
    ) -> list[GateResult]:
        """The gates that an attempt of the agent gets: hardware, performance, and a short semantics pass.

        Args:
            attempt: its name.
            target: where it ran.
            chips: how many it used, which may be fewer than the target has.
            commit: the snapshot that ran.
            run: the attempt's own run, which ended without an error.
        """
        spec = self._workload.targets[target].model_copy(update={"chips": chips})
        world = read_world(run.probe)
        results = [hardware.judge(target, spec, chips, world), self._performance(target, run, world, chips)]
        if any(result.verdict is Verdict.FAIL for result in results) or not world.ranks:
            return results
        judged: GateResult | _Pass = _Pass("float64", chips)
        while isinstance(judged, _Pass):
            record = await self._references.record(judged.processes, judged.kind)
            plan, seed = self._match(record, judged.kind), self._references.seed_of(record)
            label = f"{attempt}-semantics-{judged.kind}-{judged.processes}"
            short = await self._train(label, commit, target, plan, seed, chips)
            seen = read_world(short.probe)
            if short.ok:
                judged = await self._judged(target, judged, record, seen, chips)
            else:
                judged = self._runs(target, short, seen, chips, short=True)
        return [*results, judged]

    async def _on_target(self, v: _Verification, target: str) -> None:
        self._record(v, self._integrity(v, target))
        await self._semantics(v, target)
        await self._numerics(v, target)
        await self._full_runs(v, target)

    def _integrity(self, v: _Verification, target: str) -> GateResult:
        repository = self._runner.repository
        base = repository.checkout(repository.base, self._runner.folder / f"{v.claim}-{target}-base")
        candidate = repository.checkout(v.commit, self._runner.folder / f"{v.claim}-{target}-candidate")
        try:
            return integrity.check(target, base, candidate, self._workload.protected)
        finally:
            remove(base)
            remove(candidate)

    async def _semantics(self, v: _Verification, target: str) -> None:
        """The float64 pass, as often as it takes until it can be compared."""
        following: _Pass | None = _Pass("float64", self._targets[target].chips)
        while following is not None:
            v.processes = following.processes
            following = await self._float64(v, target, following)

    async def _float64(self, v: _Verification, target: str, now: _Pass) -> _Pass | None:
        """One float64 pass; gives the one that has to be made instead, if this one can't be compared."""
        self._check_budget(v, target)
        record = await self._references.record(now.processes, now.kind)
        spec, chips = self._workload.targets[target], self._targets[target].chips
        following: _Pass | None = None

        async def judge(_: Result, world: World) -> list[GateResult]:
            nonlocal following
            where = hardware.judge(target, spec, chips, world)
            if where.verdict is Verdict.FAIL and where.cause in hardware.CERTAIN:
                return [where]
            judged = await self._judged(target, now, record, world, chips)
            if isinstance(judged, GateResult):
                return [judged]
            following = judged
            return []

        purpose = "semantics" + (" without provocation" if now.kind == "plain" else "")
        seed = self._references.seed_of(record)
        await self._attempt(v, target, purpose, self._match(record, now.kind), judge, seed)
        return following

    async def _judged(
        self, target: str, now: _Pass, record: Path, world: World, chips: int
    ) -> GateResult | _Pass:
        """What a float64 pass shows, or the pass that has to be made instead because this one can't be compared."""
        reference = read_world(record)
        tolerance = self._workload.acceptance.semantics
        if hardware.is_spmd(world, chips) and reference.size > 1:
            return _Pass(
                now.kind, 1
            )  # one process drives all chips: it must compute what one process computes
        result = semantics.judge(target, reference, world, tolerance)
        if result.verdict is not Verdict.PASS and semantics.escapes_stress(reference, world):
            return _Pass("plain", now.processes)
        if semantics.may_be_noise(result):
            second = read_world(await self._references.again(now.processes, now.kind))
            return semantics.not_reproducible(target, reference, second, tolerance) or result
        return result

    async def _numerics(self, v: _Verification, target: str) -> None:
        self._check_budget(v, target)
        record = await self._references.record(v.processes, "production")
        calibration = read_world(await self._references.calibration(v.processes))
        tolerance = self._workload.acceptance.numerics
        limits = self._workload.acceptance.performance

        async def judge(run: Result, world: World) -> list[GateResult]:
            steady = performance.certain(target, world, limits, read_places(run.probe))
            if steady is not None:
                return [steady]
            return [numerics.judge(target, read_world(record), calibration, world, tolerance)]

        plan = self._match(record, "production")
        await self._attempt(v, target, "numerics", plan, judge, self._references.seed_of(record))

    async def _full_runs(self, v: _Verification, target: str) -> None:
        """Whole trainings with fresh seeds: the first answers runs, hardware and performance, all of them the goal."""
        reference, _ = await self._references.goal()
        looks = self._workload.acceptance.goal.looks
        values: list[float] = []
        worlds: dict[int, World] = {}
        for look in looks:
            while len(values) < look:
                self._check_budget(v, target)
                seed = _fresh_seed()
                v.seeds.append(seed)
                purpose = f"training {len(values) + 1} (seed {seed})"
                run = await self._attempt(
                    v, target, purpose, Plan(mode="watch", values=False), self._full_judge(target), seed
                )
                worlds[seed] = read_world(run.probe)
                values.append(await self._metric(v, target, run, len(values)))
            followed = integrity.seeds_followed(target, worlds, dict(zip(worlds, values, strict=True)))
            if followed and followed.verdict is Verdict.FAIL:
                self._record(v, followed)
            result = self._goal(v, target, reference, values)
            if result.verdict is not Verdict.INCONCLUSIVE or look == looks[-1]:
                self._record(v, result)
                return

    def _full_judge(self, target: str) -> Judge:
        """Judges a whole training."""
        spec, record = self._workload.targets[target], self._targets[target]

        async def judge(run: Result, world: World) -> list[GateResult]:
            return [
                self._runs(target, run, world, record.chips),
                hardware.judge(target, spec, record.chips, world),
                self._performance(target, run, world, record.chips),
            ]

        return judge

    def _runs(self, target: str, run: Result, world: World, chips: int, short: bool = False) -> GateResult:
        reference = self._references.watch
        expected = None
        if not short and reference.exists():
            expected = min((t.end.steps for t in read_world(reference).ranks.values() if t.end), default=None)
        return runs.judge(
            target,
            exit_code=run.finished.exit_code,
            timed_out=run.finished.timed_out,
            log_tail=run.tail(),
            world=world,
            expected_ranks=chips,
            expected_steps=expected,
            checkpoint=run.checkpoint if run.checkpoint.exists() else None,
            needs_checkpoint=not short,
        )

    def _performance(self, target: str, run: Result, world: World, chips: int) -> GateResult:
        reference = read_world(self._references.watch) if self._references.watch.exists() else None
        spec = self._workload.targets[target].model_copy(update={"chips": chips})
        limits = self._workload.acceptance.performance
        price = self._targets[target].usd_per_hour
        return performance.judge(target, spec, world, reference, limits, price, run.finished.wall_s)

    async def _metric(self, v: _Verification, target: str, run: Result, index: int) -> float:
        try:
            return await metric_of(self._runner, f"{v.claim}-{target}-evaluate-{index + 1}", run.checkpoint)
        except ReferenceFailed as error:
            self._record(v, goal.unreadable(target, str(error)))
            raise AssertionError("a failed gate ends the verification") from error

    def _goal(
        self, v: _Verification, target: str, reference: GoalReference, values: list[float]
    ) -> GateResult:
        acceptance = self._workload.acceptance.goal
        alpha = goal.alpha_for_claim(acceptance, v.number)
        return goal.judge(target, self._workload.goal, reference.values, values, acceptance, v.number, alpha)

    async def _attempt(
        self,
        v: _Verification,
        target: str,
        purpose: str,
        plan: Plan,
        judge: Judge,
        seed: int | None = None,
    ) -> Result:
        """Run the candidate once, judge the run, write both down.

        Raises:
            _Failed: a gate failed or could not be judged, so the claim can't pass any more.
        """
        record = self._targets[target]
        fixed = seed if seed is not None else _fresh_seed()
        names: list[str] = []
        made: list[Result] = []

        async def make(number: int) -> Result:
            if names:  # the try before failed through no fault of the code; it is an attempt of its own
                self._emit(AttemptFinished, **attempt_fields(names[-1], made[-1], [], record.usd_per_hour))
            names.append(self._next_attempt())
            self._emit(
                AttemptStarted,
                attempt=names[-1],
                by="verifier",
                target=target,
                chips=record.chips,
                commit=v.commit,
                command=self._workload.train_command(self._workload.targets[target]),
                purpose=f"{v.claim}: {purpose}" + (f", try {number}" if number > 1 else ""),
            )
            made.append(await self._train(names[-1], v.commit, target, plan, fixed, record.chips))
            return made[-1]

        run = await retried(make)
        world = read_world(run.probe)
        usable = run.ok and not world.missing
        results = (
            await judge(run, world)
            if usable
            else [self._runs(target, run, world, record.chips, plan.steps is not None)]
        )
        self._emit(AttemptFinished, **attempt_fields(names[-1], run, results, record.usd_per_hour))
        for result in results:
            # A gate that passed in an earlier run is news only if it fails now.
            if v.result(target, result.gate) is None or result.verdict is not Verdict.PASS:
                self._record(v, result)
        if not usable:
            raise _Failed  # also where the verdict is inconclusive: there is nothing to go on with
        return run

    def _check_budget(self, v: _Verification, target: str) -> None:
        """Asked before anything is run, the reference's records included.

        Raises:
            _Failed: nothing more may be spent; the first gate without a verdict says so.
        """
        if reason := self._may_continue():
            gate = next(name for name in GATES if v.result(target, name) is None)
            summary = f"Not decided: {reason}."
            undecided = Verdict.INCONCLUSIVE
            self._record(
                v,
                GateResult(
                    gate=gate, target=target, verdict=undecided, cause="budget_spent", summary=summary
                ),
            )
            raise _Failed

    async def _train(self, label: str, commit: str, target: str, plan: Plan, seed: int, chips: int) -> Result:
        return await self._runner.train(label, commit, target=target, seed=seed, plan=plan, chips=chips)

    def _match(self, record: Path, kind: Kind) -> Plan:
        forced = kind == "production"
        return Plan(
            mode="match",
            dropout=False,
            reference=record,
            teacher_forced=forced,
            replay=forced,
            **self._references.pass_of(kind),
        )

    def _record(self, v: _Verification, result: GateResult) -> None:
        v.results = [r for r in v.results if (r.target, r.gate) != (result.target, result.gate)]
        v.results.append(result)
        self._emit(GateFinished, claim=v.claim, result=result)
        if result.verdict is Verdict.FAIL:
            raise _Failed

    def _fill(self, v: _Verification) -> None:
        """Write down the gates that were not reached, so that nobody reads silence as a pass."""
        for target in self._targets:
            for gate in GATES:
                if v.result(target, gate) is None:
                    summary = "an earlier gate had not passed"
                    result = GateResult(
                        gate=gate, target=target, verdict=Verdict.NOT_REACHED, summary=summary
                    )
                    v.results.append(result)
                    self._emit(GateFinished, claim=v.claim, result=result)

    def _accepted(self) -> str:
        emulated = [t.name for t in self._targets.values() if t.emulated]
        note = (
            f" EMULATED: {', '.join(emulated)} (nothing here ran on the real accelerator)."
            if emulated
            else ""
        )
        return f"Every gate passed on {', '.join(self._targets)}.{note}"


def _fresh_seed() -> int:
    """A seed that nobody knew when the claim was made."""
    return secrets.randbelow(2**31 - 1)
