"""What happened in a migration: typed events, one a line, on disk before anything follows from them.

`events` names what can happen, `store` writes and reads the file, `fold` computes the state from the events (a pure
function; nothing else is kept), `view` is that state as other programs read it (`docs/schema/`).
"""

from agentmig.journal.events import Event, GateResult, Outcome, Usage, Verdict
from agentmig.journal.fold import State, fold
from agentmig.journal.store import Journal, JournalError, read_journal

__all__ = [
    "Event",
    "GateResult",
    "Journal",
    "JournalError",
    "Outcome",
    "State",
    "Usage",
    "Verdict",
    "fold",
    "read_journal",
]
