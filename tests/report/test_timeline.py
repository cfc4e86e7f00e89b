from hypothesis import given

from agentmig.journal import Event, Outcome
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    DecisionMade,
    Intervention,
    MigrationResumed,
    MigrationStarted,
    ReferenceMeasured,
)
from agentmig.report.timeline import timeline
from tests.journal.builders import put
from tests.report.demo import Clock
from tests.report.journals import Memory, journals


class Watch(Memory):
    """A journal whose clock goes on by hand."""

    def after(self, seconds: float) -> "Watch":
        clock = Clock()
        clock.time = self.time
        clock.on(seconds)
        self.time = clock.time
        return self


@given(journals())
def test_times_are_in_order_whatever_happened(events: list[Event]) -> None:
    for entry in timeline(events):
        assert entry.begin_s >= 0
        assert entry.end_s is None or entry.end_s >= entry.begin_s


def test_what_takes_time_has_a_begin_and_an_end() -> None:
    journal = Watch()
    put(journal, MigrationStarted)
    fields = {
        "key": "k",
        "cached": False,
        "hardware": "CPU",
        "chips": 4,
        "metric": "m",
        "values": [],
        "seeds": [],
    }
    put(journal.after(60), ReferenceMeasured, **fields, wall_s=50.0, samples_per_s=None)
    put(journal.after(1), AttemptStarted)
    put(
        journal.after(10), AttemptFinished, outcome=Outcome.LOUD, cause="import_error", summary="no such name"
    )
    put(journal, ClaimMade)
    put(journal, DecisionMade, action="verify", rule="claim", reason="r")
    put(journal.after(30), ClaimVerified)
    put(journal.after(600), MigrationResumed, after="interrupted", budget={}, isolation="bubblewrap")
    put(journal.after(130), Intervention, reason="hint", text="look", minutes=2.0, waited_s=1.0)
    entries = {entry.kind: entry for entry in timeline(journal.events)}
    spans = {kind: (e.begin_s, e.end_s) for kind, e in entries.items() if e.end_s is not None}
    assert spans == {
        "reference": (10, 60),
        "attempt": (61, 71),
        "verification": (71, 101),
        "away": (101, 701),
        "intervention": (711, 831),
    }
    assert (entries["attempt"].outcome, entries["verification"].outcome) == ("loud", "fail")
    assert "import_error; no such name" in entries["attempt"].detail


def test_what_is_open_lasts_until_now() -> None:
    journal = Watch()
    put(journal, MigrationStarted)
    put(journal.after(5), AttemptStarted)
    put(journal.after(5), ClaimMade)
    attempt = next(entry for entry in timeline(journal.events) if entry.kind == "attempt")
    assert (attempt.end_s, attempt.outcome) == (10, "running")
    assert timeline([]) == []
