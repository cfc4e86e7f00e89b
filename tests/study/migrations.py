"""Migrations for tests: as facts, as journals, and at random."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from agentmig.journal import Journal, Outcome, Usage, Verdict
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    FeedbackSent,
    GateFinished,
    GateResult,
    Intervention,
    MigrationFinished,
    MigrationStarted,
    ReferenceMeasured,
    TargetRecord,
    Turn,
)
from agentmig.study.facts import LEVELS, VOICES, Execution, Migration, Trainings, Verification
from agentmig.verification.gates import GATES
from tests.journal.builders import TARGET, put

EMULATED = TARGET
REAL = TARGET.model_copy(update={"name": "tpu", "emulated": False, "description": "a real one"})


def execution(
    outcome: Outcome | None, cause: str | None = None, by: Any = "agent", emulated: bool = False
) -> Execution:
    return Execution(by, emulated, outcome, cause)


def migration(run: str = "run", **fields: Any) -> Migration:
    defaults: dict[str, Any] = {
        "run": run,
        "project": run,
        "voice": "live model",
        "verdict": "accepted",
        "level": len(LEVELS) - 1,
        "goal_met": True,
        "targets": (REAL,),
        "executions": (),
        "claims": (Verification(Verdict.PASS, None),),
        "interventions": (),
        "feedback": 0,
        "agent_usd": 1.0,
        "compute_usd": 2.0,
        "usage": Usage(input=10, output=5),
        "turns": 3,
        "wall_s": 3600.0,
        "trainings": (),
    }
    return Migration(**{**defaults, **fields})


def trainings(
    reference_s: Sequence[float], target_s: Sequence[float], target: TargetRecord = REAL, **fields: Any
) -> Trainings:
    defaults: dict[str, Any] = {
        "target": target,
        "emulated": target.emulated,
        "hardware": "A100",
        "reference_s": tuple(reference_s),
        "target_s": tuple(target_s),
        "reference_rate": 100.0,
        "target_rates": (200.0,),
        "usd_per_hour": target.usd_per_hour,
        "reference_usd_per_hour": 1.8,
    }
    return Trainings(**{**defaults, **fields})


def gate(name: str, verdict: Verdict = Verdict.PASS, target: str = "xla", **evidence: Any) -> GateResult:
    return GateResult(gate=name, target=target, verdict=verdict, summary="", evidence=evidence)


def attempt(
    journal: Journal, number: int, outcome: Outcome | None, cause: str | None = None, **fields: Any
) -> None:
    """An attempt from its start to its end; `fields` are of either event."""
    name = f"attempt-{number}"
    of_start = {key: value for key, value in fields.items() if key in AttemptStarted.model_fields}
    of_end = {key: value for key, value in fields.items() if key in AttemptFinished.model_fields}
    put(journal, AttemptStarted, attempt=name, **of_start)
    if outcome is not None:
        put(journal, AttemptFinished, attempt=name, outcome=outcome, cause=cause, **of_end)


def claim(
    journal: Journal, verdict: Verdict | None, gates: Sequence[GateResult] = (), cause: str | None = None
) -> None:
    """Claim-1 with its gates; not verified yet where `verdict` is None."""
    put(journal, ClaimMade)
    for result in gates:
        put(journal, GateFinished, claim="claim-1", result=result)
    if verdict is not None:
        put(journal, ClaimVerified, verdict=verdict, cause=cause)


def run(
    folder: Path,
    outcomes: Sequence[tuple[Outcome, str | None]] = (),
    verdict: str | None = "accepted",
    interventions: int = 0,
    **started: Any,
) -> Path:
    """A run's folder: attempts, interventions and, where it was accepted, a claim that passed every gate."""
    with Journal(folder) as journal:
        put(journal, MigrationStarted, **{"run_id": folder.name, "workload": folder.name, **started})
        put(
            journal,
            ReferenceMeasured,
            key="k",
            cached=False,
            hardware="A100",
            chips=4,
            metric="accuracy",
            values=[0.9],
            seeds=[1],
            wall_s=36.0,
            samples_per_s=100.0,
            detail={"runs_s": [20.0, 20.0]},
        )
        put(journal, Turn)
        for number, (outcome, cause) in enumerate(outcomes, start=1):
            attempt(journal, number, outcome, cause)
        for _ in range(interventions):
            put(journal, Intervention, reason="hint", text="try this", minutes=2.0, waited_s=1.0)
        put(journal, FeedbackSent, text="no", about="claim-1")
        if verdict == "accepted":
            claim(journal, Verdict.PASS, [gate(name) for name in GATES])
        if verdict is not None:
            put(journal, MigrationFinished, verdict=verdict, reason="done")
    return folder


CAUSES = ["recompilation", "host_sync", "device_mismatch", "an old name", None]


@st.composite
def executions(draw: st.DrawFn) -> Execution:
    outcome = draw(st.sampled_from([*Outcome, None]))
    cause = draw(st.sampled_from(CAUSES)) if outcome in (Outcome.LOUD, Outcome.SILENT) else None
    return execution(outcome, cause, draw(st.sampled_from(["agent", "verifier"])), draw(st.booleans()))


_money = st.one_of(st.none(), st.floats(0, 1e4))
_seconds = st.lists(st.floats(0.1, 1e5), max_size=3).map(tuple)


@st.composite
def pairs(draw: st.DrawFn) -> Trainings:
    target = draw(st.sampled_from([REAL, EMULATED]))
    return trainings(
        draw(_seconds),
        draw(_seconds),
        target,
        reference_rate=draw(st.one_of(st.none(), st.floats(0.1, 1e5))),
        target_rates=draw(_seconds),
        reference_usd_per_hour=draw(st.one_of(st.none(), st.floats(1e-8, 1e5))),
    )


FEWER = settings(max_examples=30)
"""For tests over whole studies, which take long to draw."""


@st.composite
def studies(draw: st.DrawFn) -> list[Migration]:
    """Some migrations of a few projects, with ids of their own."""
    size = draw(st.integers(1, 9))
    return [
        migration(
            f"run-{index}",
            project=draw(st.sampled_from(["a|b", "b_c", "c&d", "d", "e", "f%"])),
            voice=draw(st.sampled_from(VOICES)),
            verdict=draw(
                st.sampled_from(["accepted", "rejected", "stopped", "inconclusive", "waiting", "running"])
            ),
            level=draw(st.integers(0, len(LEVELS) - 1)),
            goal_met=draw(st.booleans()),
            targets=tuple(draw(st.lists(st.sampled_from([REAL, EMULATED]), max_size=2))),
            executions=tuple(draw(st.lists(executions(), max_size=6))),
            claims=tuple(
                draw(
                    st.lists(
                        st.builds(Verification, st.sampled_from([*Verdict, None]), st.sampled_from(CAUSES)),
                        max_size=3,
                    )
                )
            ),
            interventions=tuple(
                draw(st.lists(st.tuples(st.sampled_from(["hint", "decision"]), st.floats(0, 60)), max_size=3))
            ),
            feedback=draw(st.integers(0, 3)),
            agent_usd=draw(_money),
            compute_usd=draw(_money),
            turns=draw(st.integers(0, 50)),
            wall_s=draw(st.floats(0, 1e5)),
            trainings=tuple(draw(st.lists(pairs(), max_size=2))),
        )
        for index in range(size)
    ]
