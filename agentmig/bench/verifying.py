"""An arm put through the real verifier, as `agentmig verify` does it; what it came to is read from its journal."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from agentmig.bench.arms import Arm
from agentmig.bench.examples import Example
from agentmig.bench.plain import Part
from agentmig.bench.scratch import Scratch
from agentmig.execution.isolation import Isolation
from agentmig.journal import Event, Journal
from agentmig.journal.events import (
    AttemptFinished,
    ClaimMade,
    ClaimVerified,
    GateFinished,
    ReferenceMeasured,
    Verdict,
)
from agentmig.spec import Workload
from agentmig.spec.workload import Project
from agentmig.supervisor.closing import closing
from agentmig.supervisor.inputs import Inputs
from agentmig.supervisor.limits import Limits
from agentmig.supervisor.migrate import verify_candidate
from agentmig.supervisor.setup import Voice, set_up
from agentmig.verification.reference_key import read_document
from agentmig.verification.references import MADE, Made
from agentmig.verification.traces import read_world


class Verified(Part):
    """What a verification came to, and what it took."""

    verdict: Verdict
    gate: str | None
    """The first gate that failed; where none did, the first that could not be judged."""
    cause: str | None
    summary: str
    wall_s: float
    """From the claim to the verdict, without measurements of the reference that were made meanwhile."""
    runs_s: float
    """Of the candidate's own runs alone."""
    steps: int
    """Optimizer steps of the candidate's own runs."""
    runs: int
    reference_run_s: float
    """Mean seconds of one full training of the untouched code."""
    reference_seeds: int
    calibration_s: float
    """Seconds that the reference's records and calibrations for this number of chips took when they were made."""


def scratch_workload(example: Example, scratch: Scratch) -> Workload:
    """A project's workload, with its scratch repository in the place of the project."""
    project = Project(path=str(scratch.folder.resolve()), base_commit=scratch.base)
    return example.workload.model_copy(update={"project": project})


async def verify(
    arm: Arm,
    inputs: Inputs,
    folder: Path,
    isolation: Isolation,
    on_note: Callable[[str], None],
) -> Verified:
    """Verify an arm in a run folder of its own, whose journal stays.

    Args:
        arm: what to verify.
        inputs: the project's, with the scratch repository.
        folder: of the run; what an interrupted campaign left there is removed.
        isolation: for all that is run.
        on_note: gets a line for people about what is done.

    Raises:
        AgentmigError: the verification could not be made, which says nothing about the arm.
    """
    targets = {arm.target: inputs.workload.targets[arm.target]}
    inputs = inputs.model_copy(update={"workload": inputs.workload.model_copy(update={"targets": targets})})
    shutil.rmtree(folder, ignore_errors=True)
    with Journal(folder) as journal, closing(journal):
        bench = await set_up(
            inputs,
            folder,
            journal,
            isolation,
            Voice("none: a candidate made by hand", "none"),
            "verify",
            candidate=arm.commit,
            may_continue=Limits(journal, inputs.policy).exceeded,
            on_note=on_note,
            on_line=lambda _: None,
        )
        assert bench.candidate is not None
        await verify_candidate(bench, bench.candidate)
        events = list(journal.events)
    made = reference_parts(bench.references.folder)
    return verified(events, made, inputs.workload.targets[arm.target].chips)


def reference_parts(folder: Path) -> dict[str, Made]:
    """How the parts of a reference came about, by name."""
    found = {file.parent.name: read_document(Made, file) for file in sorted(folder.glob(f"*/{MADE}"))}
    return {name: made for name, made in found.items() if made}


def verified(events: Sequence[Event], parts: dict[str, Made], chips: int) -> Verified:
    """What a finished verification came to.

    Args:
        events: of its journal.
        parts: the reference's parts by name; a number in a name is one of chips.
        chips: the target's.
    """
    claim = next(event for event in events if isinstance(event, ClaimMade))
    end = next(event for event in events if isinstance(event, ClaimVerified))
    reference = next(event for event in events if isinstance(event, ReferenceMeasured))
    attempts = [event for event in events if isinstance(event, AttemptFinished)]
    gates = [event.result for event in events if isinstance(event, GateFinished)]
    decisive = next(
        (g for wanted in (Verdict.FAIL, Verdict.INCONCLUSIVE) for g in gates if g.verdict is wanted), None
    )
    meanwhile = sum(
        made.wall_s or 0.0
        for made in parts.values()
        if made.measured and claim.time <= made.measured <= end.time
    )
    runs_s = sum(attempt.wall_s for attempt in attempts)
    used = [made for name, made in parts.items() if _chips_of(name) in (None, chips)]
    return Verified(
        verdict=end.verdict,
        gate=decisive.gate if decisive else None,
        cause=end.cause,
        summary=end.summary,
        wall_s=max((end.time - claim.time).total_seconds() - meanwhile, runs_s),
        runs_s=runs_s,
        steps=sum(read_world(Path(attempt.log).parent / "probe").count for attempt in attempts),
        runs=len(attempts),
        reference_run_s=float(reference.detail["run_s"]),
        reference_seeds=len(reference.values),
        calibration_s=sum(made.wall_s or 0.0 for made in used),
    )


def _chips_of(part: str) -> int | None:
    return next((int(word) for word in part.split("-") if word.isdigit()), None)
