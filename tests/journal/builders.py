"""Events for tests, with everything filled in that a test doesn't care about."""

from typing import Any, TypeVar

from agentmig.journal import Journal
from agentmig.journal.events import (
    AttemptFinished,
    AttemptStarted,
    ClaimMade,
    ClaimVerified,
    EventBase,
    MigrationStarted,
    Outcome,
    SessionEnded,
    SessionStarted,
    TargetRecord,
    Turn,
    Usage,
    Verdict,
)

E = TypeVar("E", bound=EventBase)

TARGET = TargetRecord(
    name="xla",
    backend="xla",
    accelerator="v5e",
    chips=4,
    emulated=True,
    description="EMULATED xla",
    usd_per_hour=3.6,
    price_source="cpu: a test",
)

_DEFAULTS: dict[type[EventBase], dict[str, Any]] = {
    MigrationStarted: {
        "run_id": "run",
        "mode": "migrate",
        "workload": "tiny",
        "workload_file": "/tiny/workload.toml",
        "base_commit": "0" * 40,
        "targets": [TARGET],
        "reference_target": TARGET.model_copy(update={"name": "reference", "emulated": False}),
        "policy": "default",
        "budget": {"agent_usd": 1.0, "turns": 10, "tokens": None},
        "isolation": "bubblewrap",
        "words": "live",
        "model": "claude-sonnet-4-5",
        "versions": {},
    },
    SessionStarted: {
        "session": "s1",
        "resumed": None,
        "cwd": "/w",
        "config_dir": "/c",
        "cli_version": "2",
        "prompt": "task",
    },
    SessionEnded: {"session": "s1", "reason": "turn_ended", "cli_usd": 0.01, "processes_killed": 0},
    Turn: {
        "session": "s1",
        "message_id": "m1",
        "model": "claude-sonnet-4-5",
        "text": "",
        "tools": [],
        "usage": Usage(input=10, output=5),
        "usd": 0.25,
    },
    AttemptStarted: {
        "attempt": "attempt-1",
        "by": "agent",
        "target": "xla",
        "chips": 4,
        "commit": "1" * 40,
        "command": "train",
        "purpose": "run_on_target",
    },
    AttemptFinished: {
        "attempt": "attempt-1",
        "outcome": Outcome.OK,
        "cause": None,
        "summary": "fine",
        "exit_code": 0,
        "timed_out": False,
        "wall_s": 10.0,
        "peak_memory_mb": 1.0,
        "usd": 0.01,
        "log": "log.txt",
    },
    ClaimMade: {"claim": "claim-1", "commit": "1" * 40, "summary": "done"},
    ClaimVerified: {
        "claim": "claim-1",
        "verdict": Verdict.FAIL,
        "cause": "clip_before_reduction",
        "summary": "no",
    },
}


def put(journal: Journal, kind: type[E], **fields: Any) -> E:
    """Append an event with defaults for what isn't given."""
    return journal.append(kind, **{**_DEFAULTS.get(kind, {}), **fields})
