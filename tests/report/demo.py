"""An authored journal: a migration of two claims on two emulated targets, as README's demo tells it.

Times, words, tokens and metrics are made up; what the gates say of the first claim's fault and of the second claim is
what the real gates say of a small model of data-parallel training (`tests/verification/parallel.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from agentmig.journal import GateResult, Journal, Outcome, Usage, Verdict
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    EnvironmentReady,
    FeedbackSent,
    GateFinished,
    MigrationFinished,
    MigrationStarted,
    ReferenceMeasured,
    SessionEnded,
    SessionStarted,
    ToolDenied,
    Turn,
)
from agentmig.spec import load_prices
from agentmig.spec.workload import Goal, GoalTest, Numerics, Performance, Semantics, Target
from agentmig.supervisor.targets import target_record
from agentmig.verification.gates import GATES, goal, hardware, numerics, performance, runs, semantics
from agentmig.verification.records import Counters
from agentmig.verification.traces import World
from tests.journal.builders import put
from tests.verification.parallel import Program, train, with_changes

MODEL = "claude-sonnet-4-5"
WORDS = f"played from digits-clipping (authored, 11 turns, {MODEL}); no model was asked"
REFERENCE = [0.9657, 0.9616, 0.9699, 0.9657]
CANDIDATES = {"xla": [0.9630, 0.9712, 0.9671, 0.9644, 0.9688], "torch-tpu": [0.9671, 0.9644, 0.9657]}
REFERENCE_S = [21.4, 20.6, 22.3, 21.0]
TRAININGS_S = {"xla": [47.2, 44.9, 45.6, 46.3, 45.1], "torch-tpu": [23.4, 22.1, 22.8]}
BASE, FIRST, SECOND = "0fdac7c15f02" + "a" * 28, "06642ea171bb" + "b" * 28, "cd24001acf03" + "c" * 28
GOAL = Goal(metric="test accuracy", pattern="accuracy: ([0-9.]+)", direction="maximize", margin=0.015)
PRICES = load_prices()


def spec(backend: str, environment: str) -> Target:
    return Target.model_validate(
        {"backend": backend, "environment": environment, "accelerator": "v5e", "chips": 4, "emulated": True}
    )


SPECS = {"xla": spec("xla", "xla"), "torch-tpu": spec("torch_tpu", "base")}
TARGETS = [target_record(name, target, PRICES) for name, target in SPECS.items()]
CPU = target_record(
    "reference", Target(backend="cpu", environment="base", accelerator="cpu", chips=1), PRICES
).model_copy(update={"chips": 4, "description": "cpu on 4 chips of cpu"})


class Clock:
    """The time that the journal's events carry."""

    def __init__(self) -> None:
        self.time = datetime(2026, 12, 1, 8, 49, 35, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def on(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@contextmanager
def recording(folder: Path) -> Iterator[tuple[Journal, Clock]]:
    """A journal whose events carry the clock's time."""
    clock = Clock()
    with patch("agentmig.journal.store.now", clock), Journal(folder) as journal:
        yield journal, clock


def turn(journal: Journal, number: int, text: str, tools: tuple[str, ...] = (), **usage: int) -> None:
    """A response with its price."""
    price, used = PRICES.models[MODEL], Usage(**usage)
    usd = {name: getattr(used, name) * getattr(price, name) / 1e6 for name in Usage.model_fields}
    message = f"msg_{number:02d}"
    total = sum(usd.values())
    put(
        journal,
        Turn,
        message_id=message,
        text=text,
        tools=list(tools),
        usage=used,
        usd=total,
        usd_by_class=usd,
    )


def deciding(clipping: bool) -> GateResult:
    """The float64 pass of the first claim (clipping comes before the average) or of the second."""
    plain = Program(steps=12, batch=16, max_norm=0.25)
    reference = train(plain)
    path = ("clip", "mean") if clipping else ("mean", "clip")
    candidate = train(with_changes(steps=12, batch=16, max_norm=0.25, path=path, rounding=3e-16), reference)
    return semantics.judge("xla", reference, candidate, Semantics())


def forced() -> GateResult:
    """The teacher-forced pass of the second claim."""

    def program(rounding: float, seed: int) -> Program:
        return with_changes(steps=12, batch=16, max_norm=0.25, dtype="float32", rounding=rounding, seed=seed)

    reference = train(program(0.0, 0))
    own, candidate = train(program(2e-6, 1), reference), train(program(8e-6, 2), reference)
    return numerics.judge("xla", reference, own, candidate, Numerics())


def watched(target: str, wall_s: float) -> World:
    """A whole training as the probe watches it."""
    world = train(with_changes(steps=60))
    for trace in world.ranks.values():
        assert trace.end is not None
        for number, step in enumerate(trace.steps):
            counters = Counters(compiles=5 + (number >= 10), transfers_to_host=0) if target == "xla" else None
            values: dict[str, Any] = {"time": number * wall_s / 80, "counters": counters, "loss": None}
            trace.steps[number] = step.model_copy(update=values)
        where = {"device": "xla:0", "runtime_devices": 1} if target == "xla" else {"device": "cpu"}
        hardware_seen = trace.end.hardware.model_copy(
            update={**where, "device_kind": "CPU", "emulated": True}
        )
        counters = Counters(compiles=7) if target == "xla" else None
        trace.end = trace.end.model_copy(update={"hardware": hardware_seen, "counters": counters})
    return world


def training_gates(target: str, wall_s: float, checkpoint: Path) -> list[GateResult]:
    world, reference = watched(target, wall_s), watched("reference", 21.4)
    ended = runs.judge(
        target,
        exit_code=0,
        timed_out=False,
        log_tail="",
        world=world,
        expected_ranks=4,
        expected_steps=60,
        checkpoint=checkpoint,
        needs_checkpoint=True,
    )
    usd = next(record.usd_per_hour for record in TARGETS if record.name == target)
    return [
        ended,
        hardware.judge(target, SPECS[target], 4, world),
        performance.judge(target, SPECS[target], world, reference, Performance(), usd, wall_s),
    ]


class Story:
    """Writes the parts of the migration."""

    def __init__(self, journal: Journal, clock: Clock, folder: Path):
        self.journal, self.clock = journal, clock
        self.attempts = 0
        # A file that isn't empty; the gates look for a checkpoint of a finished training.
        self.checkpoint = folder / "journal.jsonl"

    def attempt(self, by: str, target: str, wall_s: float, purpose: str, chips: int = 4, **end: Any) -> None:
        self.attempts += 1
        name = f"attempt-{self.attempts}"
        commit = FIRST if self.attempts <= 3 else SECOND
        put(
            self.journal,
            AttemptStarted,
            attempt=name,
            by=by,
            target=target,
            chips=chips,
            commit=commit,
            purpose=purpose,
        )
        self.clock.on(wall_s)
        usd = 0.067 * wall_s / 3600
        put(
            self.journal,
            AttemptFinished,
            **{"attempt": name, "wall_s": wall_s, "usd": usd, "peak_memory_mb": 1843.0, **end},
        )

    def gate(self, claim: str, result: GateResult) -> None:
        put(self.journal, GateFinished, claim=claim, result=result)

    def opening(self) -> None:
        put(
            self.journal,
            MigrationStarted,
            run_id="20261201-084935-digits-7316",
            workload="digits",
            workload_file="workloads/digits/workload.toml",
            base_commit=BASE,
            targets=TARGETS,
            reference_target=CPU,
            policy="default",
            budget={
                "agent_usd": 5.0,
                "compute_usd": 2.0,
                "turns": 60,
                "tokens": 2_000_000,
                "wall_hours": 2.0,
                "human_minutes": 30.0,
            },
            words=WORDS,
            model=MODEL,
            versions={
                "agentmig": "0.1.0",
                "claude-agent-sdk": "0.2.189",
                "python": "3.11.7",
                "platform": "linux x86_64, 2 cores",
            },
        )
        for name, key in (("base", "3f0c2d9e11aa"), ("xla", "9b71c04412de")):
            put(self.journal, EnvironmentReady, name=name, key=key, cached=True, wall_s=0.0)
        self.clock.on(94)
        put(
            self.journal,
            ReferenceMeasured,
            key="5d3a8c9917f0b2e4",
            cached=False,
            hardware="CPU, 4 processes",
            chips=4,
            metric="test accuracy",
            values=REFERENCE,
            seeds=[1001, 1002, 1003, 1004],
            wall_s=93.6,
            samples_per_s=119.6,
            detail={"steps": 230, "run_s": sum(REFERENCE_S) / 4, "runs_s": REFERENCE_S},
        )
        put(
            self.journal,
            DecisionMade,
            action="start",
            rule="begin",
            reason="the reference is measured; the agent begins",
        )

    def first_claim(self) -> None:
        journal, clock = self.journal, self.clock
        put(
            journal,
            SessionStarted,
            session="s1",
            cwd=".agentmig/runs/20261201-084935-digits-7316/worktree",
            cli_version="2.1.332",
        )
        clock.on(0.5)
        turn(
            journal,
            1,
            "I'll look at the project first.",
            ("Bash", "Read"),
            input=12,
            output=63,
            cache_write_5m=14200,
        )
        clock.on(0.3)
        text = "The program puts the model on a GPU, averages gradients with DistributedDataParallel and clips their norm."
        turn(journal, 2, text, ("Edit", "Edit"), input=8, output=385, cache_read=14200, cache_write_5m=4700)
        reason = "evaluate.py is protected: the base commit's is used in every verification"
        put(journal, ToolDenied, tool="Edit", reason=reason, input="evaluate.py")
        turn(journal, 3, "", ("run_on_target",), input=8, output=71, cache_read=18900, cache_write_5m=2300)
        cause, summary = (
            "device_mismatch",
            "… RuntimeError: ProcessGroupGloo::allgather: invalid tensor type at index 0 …",
        )
        loud: dict[str, Any] = {"outcome": Outcome.LOUD, "cause": cause, "summary": summary, "exit_code": 1}
        self.attempt("agent", "xla", 13.1, "run_on_target", 1, **loud)
        turn(
            journal,
            4,
            "DDP wants torch_xla's process group.",
            ("Edit",),
            output=240,
            cache_read=21200,
            cache_write_5m=2900,
        )
        clock.on(22)
        turn(journal, 5, "", ("run_on_target",), output=52, cache_read=24100, cache_write_5m=1800)
        self.attempt("agent", "xla", 14.2, "run_on_target", 1)
        turn(journal, 6, "", ("claim_success",), input=9, output=128, cache_read=25900, cache_write_5m=1900)
        words = "Moved to torch_xla: model and data on the XLA device, torch_xla's process group, and xm.optimizer_step."
        put(journal, ClaimMade, claim="claim-1", commit=FIRST, summary=words)
        put(journal, SessionEnded, cli_usd=0.1141, processes_killed=3)
        reason = f"claim-1 claims success at {FIRST[:12]}"
        put(journal, DecisionMade, action="verify", rule="claim", reason=reason)
        self.gate("claim-1", intact("xla", 2))
        result = deciding(clipping=True)
        silent: dict[str, Any] = {
            "outcome": Outcome.SILENT,
            "cause": result.cause,
            "summary": result.summary,
            "gates": [result],
        }
        self.attempt("verifier", "xla", 37.4, "claim-1: semantics", **silent)
        self.gate("claim-1", result)
        for target in SPECS:
            for gate in GATES[2:] if target == "xla" else GATES:
                unreached = "an earlier gate had not passed"
                self.gate(
                    "claim-1",
                    GateResult(gate=gate, target=target, verdict=Verdict.NOT_REACHED, summary=unreached),
                )
        put(journal, ClaimVerified, claim="claim-1", cause=result.cause, summary=result.summary)

    def second_claim(self) -> None:
        journal, clock = self.journal, self.clock
        reason = "claim-1 was rejected: clip_before_reduction"
        put(journal, DecisionMade, action="feedback", rule="rejected", reason=reason)
        put(journal, FeedbackSent, text="claim-1 was rejected: clip_before_reduction …", about="claim-1")
        put(journal, SessionStarted, session="s1", resumed="s1", cli_version="2.1.332")
        text = (
            "The verifier is right: clip_grad_norm_ saw each chip's own gradient, before xm.optimizer_step averaged it. "
            "I'll average first, then clip."
        )
        turn(journal, 7, text, ("Read",), input=21, output=204, cache_read=27800, cache_write_5m=4100)
        turn(journal, 8, "", ("Edit",), input=8, output=180, cache_read=31900, cache_write_5m=2600)
        clock.on(2)
        turn(journal, 9, "", ("Bash",), input=8, output=46, cache_read=34500, cache_write_5m=1700)
        turn(journal, 10, "", ("claim_success",), input=9, output=111, cache_read=30100, cache_write_5m=1100)
        words = (
            "On XLA the gradients are now averaged over the chips first (xm.reduce_gradients), then clipped."
        )
        put(journal, ClaimMade, claim="claim-2", commit=SECOND, summary=words)
        turn(journal, 11, "Claimed.", input=9, output=45, cache_read=31200, cache_write_5m=400)
        put(journal, SessionEnded, cli_usd=0.1239, processes_killed=1)
        reason = f"claim-2 claims success at {SECOND[:12]}"
        put(journal, DecisionMade, action="verify", rule="claim", reason=reason)
        for target in SPECS:
            self.verified(target)
        names = ", ".join(SPECS)
        summary = (
            f"Every gate passed on {names}. EMULATED: {names} (nothing here ran on the real accelerator)."
        )
        put(
            journal,
            ClaimVerified,
            claim="claim-2",
            verdict=Verdict.PASS,
            cause=None,
            summary=summary,
            alpha_spent=0.025,
            seeds=[1804289383 + 7919 * n for n in range(8)],
        )
        put(journal, DecisionMade, action="accept", rule="verified", reason=summary)
        put(journal, MigrationFinished, verdict="accepted", reason=summary)

    def verified(self, target: str) -> None:
        """The second claim on one target: every gate passes."""
        self.gate("claim-2", intact(target, 1))
        for purpose, result in (("semantics", deciding(clipping=False)), ("numerics", forced())):
            on_target = result.model_copy(update={"target": target})
            wall_s = 27.9 if target == "xla" else 9.2
            self.attempt(
                "verifier", target, wall_s, f"claim-2: {purpose}", summary=result.summary, gates=[on_target]
            )
            self.gate("claim-2", on_target)
        for number, wall_s in enumerate(TRAININGS_S[target], start=1):
            gates = training_gates(target, wall_s, self.checkpoint)
            purpose = f"claim-2: training {number} (seed {1804289383 + 7919 * number})"
            self.attempt(
                "verifier", target, wall_s, purpose, summary="; ".join(g.summary for g in gates), gates=gates
            )
            if number == 1:
                for gate in gates:
                    self.gate("claim-2", gate)
            self.clock.on(2)
        self.gate("claim-2", goal.judge(target, GOAL, REFERENCE, CANDIDATES[target], GoalTest(), 1, 0.025))


def intact(target: str, files: int) -> GateResult:
    summary = (
        f"{files} files changed, none of them protected; nothing planted, no code addresses the instruments."
    )
    evidence = {
        "changed": ["train.py", "model.py"][:files],
        "protected": ["data.py", "evaluate.py", "requirements.txt", "workload.toml"],
        "protected_changed": [],
        "planted": [],
        "instruments": {},
    }
    return GateResult(
        gate="integrity", target=target, verdict=Verdict.PASS, summary=summary, evidence=evidence
    )


def demo(folder: Path) -> Path:
    """Write the journal into a folder of that run; returns the folder."""
    run = folder / "20261201-084935-digits-7316"
    with recording(run) as (journal, clock):
        story = Story(journal, clock, run)
        story.opening()
        story.first_claim()
        story.second_claim()
    return run
