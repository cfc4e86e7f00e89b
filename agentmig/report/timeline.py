"""What happened when: the journal's events as entries with a begin and, for what takes time, an end."""

from collections.abc import Iterable
from datetime import datetime

from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    Event,
    FeedbackSent,
    GateFinished,
    Intervention,
    MigrationFinished,
    MigrationResumed,
    MigrationStarted,
    QuestionAsked,
    ReferenceMeasured,
    SessionEnded,
    SessionStarted,
    ToolDenied,
    Turn,
)
from agentmig.report.model import Entry, Kind
from agentmig.report.text import number, plural, seconds


class _Line:
    """Collects entries; what is open at the end lasts until the newest event."""

    def __init__(self, zero: datetime) -> None:
        self._zero = zero
        self.entries: list[Entry] = []
        self._open: dict[str, int] = {}

    def at(self, time: datetime) -> float:
        # A clock that was set back gives no negative times.
        return max(0.0, (time - self._zero).total_seconds())

    def put(
        self,
        kind: Kind,
        event: Event,
        label: str,
        detail: str = "",
        outcome: str | None = None,
        back_s: float = 0.0,
    ) -> None:
        end = self.at(event.time)
        begin = max(0.0, end - max(0.0, back_s))
        entry = Entry(
            kind=kind,
            begin_s=begin,
            end_s=end if back_s > 0 else None,
            label=label,
            detail=detail,
            outcome=outcome,
        )
        self.entries.append(entry)

    def open(self, key: str, entry: Entry) -> None:
        self._open[key] = len(self.entries)
        self.entries.append(entry)

    def is_open(self, key: str) -> bool:
        return key in self._open

    def close(self, key: str, event: Event, detail: str, outcome: str | None = None, cause: str = "") -> None:
        index = self._open.pop(key, None)
        if index is None:
            return
        entry = self.entries[index]
        whole = "; ".join(part for part in (entry.detail, cause, detail) if part)
        values = {"end_s": max(entry.begin_s, self.at(event.time)), "outcome": outcome, "detail": whole}
        self.entries[index] = entry.model_copy(update=values)

    def close_all(self, event: Event) -> None:
        for index in self._open.values():
            entry = self.entries[index]
            values = {"end_s": max(entry.begin_s, self.at(event.time)), "outcome": entry.outcome or "running"}
            self.entries[index] = entry.model_copy(update=values)


def timeline(events: Iterable[Event]) -> list[Entry]:
    """All entries in the order in which they began to be told."""
    line: _Line | None = None
    before: Event | None = None
    for event in events:
        if line is None:
            line = _Line(event.time)
        if isinstance(event, MigrationResumed) and before is not None:
            away = (event.time - before.time).total_seconds()
            line.put("away", event, "no supervisor", f"resumed after: {event.after}", back_s=away)
        _tell(line, event)
        before = event
    if line is None or before is None:
        return []
    line.close_all(before)
    return line.entries


def _tell(line: _Line, event: Event) -> None:
    match event:
        case ReferenceMeasured():
            detail = f"{event.metric} over {plural(len(event.seeds), 'seed')}; {event.hardware}"
            if event.cached:
                line.put("reference", event, "reference", f"{detail}; from the cache")
            else:
                line.put("reference", event, "reference", detail, back_s=event.wall_s)
        case SessionStarted():
            begin = line.at(event.time)
            what = f"Claude Code {event.cli_version}{', resumed' if event.resumed else ''}"
            line.open(
                f"session {event.session}", Entry(kind="session", begin_s=begin, label="session", detail=what)
            )
        case SessionEnded():
            line.close(f"session {event.session}", event, event.detail, event.reason)
        case Turn():
            tools = f" (tools: {', '.join(event.tools)})" if event.tools else ""
            line.put("turn", event, "turn", f"{event.text}{tools}".strip())
        case AttemptStarted():
            detail = f"{event.purpose} on {event.target}, {plural(event.chips, 'chip')}"
            entry = Entry(
                kind="attempt", begin_s=line.at(event.time), label=event.attempt, detail=detail, by=event.by
            )
            line.open(f"attempt {event.attempt}", entry)
        case AttemptFinished():
            summary = "" if event.outcome.value == "ok" else event.summary
            line.close(f"attempt {event.attempt}", event, summary, event.outcome.value, event.cause or "")
        case ClaimMade():
            line.put("claim", event, event.claim, event.summary)
        case GateFinished() | ClaimVerified():
            _verification(line, event)
        case DecisionMade():
            line.put("decision", event, event.action, f"{event.rule}: {event.reason}")
            if event.action == "verify":
                entry = Entry(kind="verification", begin_s=line.at(event.time), label="verification")
                line.open("verification", entry)
        case FeedbackSent():
            line.put("feedback", event, "feedback", f"about {event.about}")
        case Intervention():
            detail = f"{event.reason}, {number(event.minutes, 2)} min of work, waited {seconds(event.waited_s)}: {event.text}"
            line.put("intervention", event, "a person", detail, back_s=event.minutes * 60)
        case ToolDenied():
            line.put("denied", event, event.tool, f"denied: {event.reason}")
        case QuestionAsked():
            line.put("question", event, f"question by the {event.by}", event.question)
        case MigrationFinished():
            line.put("end", event, event.verdict, event.reason)
        case MigrationStarted():
            line.put("decision", event, "begin", f"{event.mode} of {event.workload}")
        case _:
            pass


def _verification(line: _Line, event: GateFinished | ClaimVerified) -> None:
    """A verification without a decision before it begins with its first gate."""
    if not line.is_open("verification"):
        entry = Entry(
            kind="verification", begin_s=line.at(event.time), label=f"verification of {event.claim}"
        )
        line.open("verification", entry)
    if isinstance(event, ClaimVerified):
        line.close(
            "verification", event, f"{event.claim}: {event.summary}", event.verdict.value, event.cause or ""
        )
