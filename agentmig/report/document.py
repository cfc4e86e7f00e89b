"""From events to the report's data; pure, like the fold that it stands on."""

from collections import Counter
from collections.abc import Sequence

from agentmig.failures.taxonomy import CAUSES
from agentmig.journal import Event, State, Verdict, fold
from agentmig.journal.events import EnvironmentReady, GateResult, TargetRecord
from agentmig.journal.fold import Claim
from agentmig.journal.view import RunView, view
from agentmig.report import evidence
from agentmig.report.model import ClaimReport, GateReport, ReportView, RunReport, TargetReport
from agentmig.report.speed import speeds
from agentmig.report.spending import spending
from agentmig.report.text import moment, number, one_line, plural, seconds
from agentmig.report.timeline import timeline
from agentmig.verification.gates import GATES
from agentmig.verification.outcomes import overall

QUESTIONS = {
    "integrity": "Is it still the same experiment?",
    "semantics": "Is each step the same computation?",
    "numerics": "Is it the same on the device, in production precision?",
    "runs": "Does it run to its end?",
    "hardware": "Did the work happen there?",
    "performance": "Is it worth it?",
    "goal": "Is the result as good?",
}
"""What each gate asks."""
_LIVE, _NOBODY = "live", "none"


def report(runs: Sequence[Sequence[Event]]) -> ReportView:
    """The report on runs, each given by its events.

    Raises:
        JournalError: a journal holds no first event yet.
    """
    made = [build(events) for events in runs]
    return ReportView(headline=made[0].headline if len(made) == 1 else _several(made), runs=made)


def build(events: Sequence[Event]) -> RunReport:
    """The report on one run.

    Raises:
        JournalError: the journal holds no first event yet.
    """
    state = fold(events)
    run = view(state)
    assert state.started is not None and state.last_time is not None
    return RunReport(
        headline=headline(run),
        cautions=cautions(run),
        run=run,
        claims=[_claim(claim, state.started.targets, _unjudged(run)) for claim in state.claims],
        timeline=timeline(events),
        spending=spending(events, state, run.cost),
        speed=speeds(state),
        facts=_facts(events, state, run),
        last=state.last_time,
    )


def played(run: RunView) -> bool:
    """Whether the words of the model were played from a file."""
    return run.words != _LIVE and not run.words.startswith(_NOBODY)


def voice(run: RunView) -> str:
    """Who spoke for the model, in one or two words."""
    if not played(run):
        return "live" if run.words == _LIVE else "no agent"
    return "AUTHORED" if "authored" in run.words else "PLAYED"


def standing(run: RunView) -> str:
    """What the verdict is worth, in a few words: on what it ran, and who spoke."""
    emulated = [target.name for target in run.targets if target.emulated]
    parts = []
    if emulated:
        parts.append(
            "on EMULATED targets" if len(emulated) == len(run.targets) else f"EMULATED: {', '.join(emulated)}"
        )
    if played(run):
        parts.append(
            "with AUTHORED words of the model"
            if "authored" in run.words
            else "with PLAYED words of the model"
        )
    if run.isolation == "none":
        parts.append("WITHOUT isolation")
    return ", ".join(parts)


def reason(run: RunView) -> str:
    """Why the run ended as it did, or where it stands."""
    if run.reason:
        return one_line(run.reason)
    if run.verdict != "running":
        return "the journal gives no reason"
    if run.question:
        return f"waiting for a person: {one_line(run.question)}"
    pending = [claim.id for claim in run.claims if claim.verdict == "pending"]
    where = f"{', '.join(pending)} not verified yet" if pending else "no verdict yet"
    return f"{where}; the journal's newest event is {seconds(run.wall_s)} after its first"


def headline(run: RunView) -> str:
    """The report's first line: the verdict in words, what it is worth, and why."""
    worth = standing(run)
    return f"{run.verdict.upper()}{f' ({worth})' if worth else ''}: {reason(run)}"


def cautions(run: RunView) -> list[str]:
    """What nobody may overlook, a sentence each."""
    found = []
    emulated = [target for target in run.targets if target.emulated]
    if emulated:
        names = ", ".join(target.name for target in emulated)
        found.append(
            f"EMULATED: nothing of {names} ran on the real accelerator; processes on a CPU stood in for its chips."
        )
    if played(run):
        who = "AUTHORED WORDS" if "authored" in run.words else "PLAYED WORDS"
        found.append(f"{who}: what the model says here was {one_line(run.words)}.")
    if run.isolation == "none":
        found.append(
            "NO ISOLATION: whatever the agent started had the rights, files and network of the person who ran it."
        )
    if run.verdict == "running":
        found.append("NOT FINISHED: the run is going on, or ended without writing its end down.")
    return found


def _several(runs: list[RunReport]) -> str:
    verdicts = Counter(item.run.verdict for item in runs)
    words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    emulated = sum(item.run.emulated for item in runs)
    voices = sum(played(item.run) for item in runs)
    worth = [f"{emulated} with EMULATED targets"] if emulated else []
    worth += [f"{voices} with words of the model that were PLAYED"] if voices else []
    known = f" ({'; '.join(worth)})" if worth else ""
    return f"{plural(len(runs), 'run')}: {words}{known}"


def _unjudged(run: RunView) -> str:
    """What stands where a verdict is missing: it may still come, or the run ended without it."""
    return "pending" if run.verdict == "running" else "no verdict"


def _claim(claim: Claim, targets: Sequence[TargetRecord], unjudged: str) -> ClaimReport:
    verified = claim.verified
    cause = verified.cause if verified else None
    records = {target.name: target for target in targets}
    names = dict.fromkeys([*records, *(gate.target for gate in claim.gates)])
    return ClaimReport(
        id=claim.made.claim,
        commit=claim.made.commit,
        time=claim.made.time,
        words=claim.made.summary,
        verdict=verified.verdict.value if verified else unjudged,
        cause=cause,
        meaning=_meaning(cause),
        advice=_advice(cause),
        summary=verified.summary if verified else "",
        targets=[
            _target(
                name,
                records.get(name),
                [gate for gate in claim.gates if gate.target == name],
                None if verified else unjudged,
            )
            for name in names
        ],
    )


def _target(
    name: str, record: TargetRecord | None, gates: list[GateResult], unjudged: str | None
) -> TargetReport:
    by_name = {gate.gate: gate for gate in gates}
    order = sorted(gates, key=lambda gate: GATES.index(gate.gate) if gate.gate in GATES else len(GATES))
    return TargetReport(
        target=name,
        emulated=record.emulated if record else False,
        description=record.description if record else name,
        verdict=_on_target(gates, unjudged),
        gates=[_gate(gate) for gate in order],
        semantics=evidence.semantics(by_name.get("semantics")),
        numerics=evidence.numerics(by_name.get("numerics")),
        goal=evidence.goal(by_name.get("goal")),
    )


def _on_target(gates: list[GateResult], unjudged: str | None) -> str:
    """The verdict of a target's gates; `unjudged` where the claim's verification did not come to its end."""
    verdict, _ = overall(gates)
    if verdict is Verdict.FAIL:
        return verdict.value
    if not gates or unjudged:
        return unjudged or "no verdict"
    if all(gate.verdict is Verdict.NOT_REACHED for gate in gates):
        return Verdict.NOT_REACHED.value
    return verdict.value


def _gate(result: GateResult) -> GateReport:
    return GateReport(
        gate=result.gate,
        question=QUESTIONS.get(result.gate, ""),
        verdict=result.verdict.value,
        cause=result.cause,
        meaning=_meaning(result.cause),
        advice=_advice(result.cause),
        summary=result.summary,
        numbers=evidence.flat(result.evidence),
    )


def _meaning(cause: str | None) -> str | None:
    return CAUSES[cause].meaning if cause in CAUSES else None


def _advice(cause: str | None) -> str | None:
    return CAUSES[cause].advice if cause in CAUSES else None


def _facts(events: Sequence[Event], state: State, run: RunView) -> list[tuple[str, str]]:
    started = state.started
    assert started is not None
    facts = [
        ("run", run.run),
        ("mode", run.mode),
        ("workload", f"{run.workload} ({started.workload_file})"),
        ("base commit", run.base_commit),
        *([("candidate", started.candidate)] if started.candidate else []),
        ("started", moment(run.started)),
        ("newest event", moment(state.last_time or run.started)),
        (
            "wall time",
            seconds(run.wall_s)
            + (f", {seconds(state.idle_s)} without a supervisor left out" if state.idle_s else ""),
        ),
        ("words of the model", run.words),
        ("model", run.model),
        ("isolation", run.isolation),
        ("policy", started.policy),
    ]
    if measured := state.reference:
        values = ", ".join(number(value, 5) for value in measured.values) or "none"
        how = "from the cache" if measured.cached else f"measured in {seconds(measured.wall_s)}"
        facts.append(
            (
                "reference",
                f"{measured.hardware}; {how}; key {measured.key}",
            )
        )
        facts.append(("reference values", f"{measured.metric}: {values}"))
    facts += [(f"target {target.name}", f"{target.description}; {_price(target)}") for target in run.targets]
    ready = [event for event in events if isinstance(event, EnvironmentReady)]
    facts += [
        (f"environment {e.name}", f"{e.key}, {'cached' if e.cached else f'built in {seconds(e.wall_s)}'}")
        for e in ready
    ]
    sessions = dict.fromkeys(session.cli_version for session in state.sessions)
    facts += [("Claude Code", ", ".join(sessions))] if sessions else []
    facts += [(f"version of {name}", version) for name, version in started.versions.items()]
    return facts


def _price(target: TargetRecord) -> str:
    price = "no price" if target.usd_per_hour is None else f"${target.usd_per_hour:g} an hour"
    return f"{price} ({target.price_source})"
