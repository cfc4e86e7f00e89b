"""What the probe left on disk, as typed values.

A run's folder holds `handshake-<rank>.json` and `trace-<rank>.jsonl` of each rank. A process may be killed while it
writes, so a last line that is cut off is no damage; a line that can't be read anywhere else is damage, kept by name for
the gates. Kinds of lines that this version doesn't know are counted and otherwise left alone.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from agentmig.verification.records import (
    Checkpoint,
    End,
    Handshake,
    Initial,
    Line,
    Note,
    OptimizerInfo,
    Pass,
    ProbeError,
    Seed,
    Step,
)


@dataclass
class RankTrace:
    """All that one rank wrote, in order.

    Attributes:
        unknown: how many lines there were of each kind that this version doesn't know.
        cut_off: the last line was not written to its end.
        damage: lines that can't be read, each with file, line number and reason.
    """

    rank: int
    steps: list[Step] = field(default_factory=list)
    optimizers: list[OptimizerInfo] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    initial: list[Initial] = field(default_factory=list)
    errors: list[ProbeError] = field(default_factory=list)
    end: End | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    cut_off: bool = False
    damage: list[str] = field(default_factory=list)

    _LISTS: ClassVar[dict[str, tuple[str, type[Line]]]] = {
        "step": ("steps", Step),
        "optimizer": ("optimizers", OptimizerInfo),
        "note": ("notes", Note),
        "checkpoint": ("checkpoints", Checkpoint),
        "seed": ("seeds", Seed),
        "pass": ("passes", Pass),
        "initial": ("initial", Initial),
        "probe_error": ("errors", ProbeError),
    }

    def add(self, raw: dict[str, Any]) -> None:
        """Take in one line.

        Raises:
            ValueError: a known kind with fields of a wrong type (pydantic's error).
        """
        kind = str(raw.get("kind"))
        if kind == "end":
            self.end = End.model_validate(raw)
        elif kind in self._LISTS:
            name, model = self._LISTS[kind]
            getattr(self, name).append(model.model_validate(raw))
        else:
            self.unknown[kind] += 1


@dataclass
class World:
    """All ranks of one run.

    Attributes:
        folder: where it was read from.
        handshakes: by rank.
        ranks: traces by rank.
        damage: files and lines that can't be read, by name.
    """

    folder: Path
    handshakes: dict[int, Handshake] = field(default_factory=dict)
    ranks: dict[int, RankTrace] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)

    @cached_property
    def size(self) -> int:
        """Declared number of ranks; 1 where no rank said anything."""
        return max((handshake.world_size for handshake in self.handshakes.values()), default=1)

    @property
    def missing(self) -> list[int]:
        """Declared ranks without a handshake or a trace."""
        return [rank for rank in range(self.size) if rank not in self.handshakes or rank not in self.ranks]

    @property
    def count(self) -> int:
        """Optimizer steps that every rank made."""
        return min((len(trace.steps) for trace in self.ranks.values()), default=0)

    @property
    def first(self) -> RankTrace:
        """The lowest rank's trace; an empty one where there is none."""
        return self.ranks[min(self.ranks)] if self.ranks else RankTrace(0)

    @property
    def notes(self) -> list[Note]:
        """Notes of all ranks, each text once."""
        return list({(n.code, n.message): n for trace in self.ranks.values() for n in trace.notes}.values())

    @property
    def errors(self) -> list[str]:
        """The probe's own failures, with their rank."""
        return [f"rank {t.rank}: {e.where}: {e.message}" for t in self.ranks.values() for e in t.errors]

    def noted(self, code: str) -> str | None:
        """The message of the first note with this code."""
        return next((note.message for note in self.notes if note.code == code), None)

    def at(self, step: int) -> dict[int, Step]:
        """The ranks' fingerprints of one step, by rank."""
        return {
            rank: trace.steps[step] for rank, trace in sorted(self.ranks.items()) if step < len(trace.steps)
        }

    def loss(self, step: int) -> float | None:
        """Loss of a step: the mean over the ranks; None if a rank has none."""
        return _mean([fingerprint.loss for fingerprint in self.at(step).values()])

    @property
    def losses(self) -> list[float | None]:
        """Loss of each step that every rank made."""
        return [self.loss(step) for step in range(self.count)]

    def samples(self, step: int) -> int | None:
        """Training samples of a step over all ranks; None if a rank doesn't tell."""
        counts = [fingerprint.samples for fingerprint in self.at(step).values()]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def read_world(folder: Path) -> World:
    """Read what the ranks of one run wrote. A folder without anything gives a world in which rank 0 is missing."""
    world = World(folder)
    for path in sorted(folder.glob("handshake-*.json")):
        rank = _rank_of(path)
        if rank is None:
            continue
        try:
            world.handshakes[rank] = Handshake.model_validate_json(path.read_bytes())
        except ValidationError as error:
            world.damage.append(f"{path.name}: {_reason(error)}")
    for path in sorted(folder.glob("trace-*.jsonl")):
        rank = _rank_of(path)
        if rank is not None:
            world.ranks[rank] = read_trace(path, rank)
            world.damage += world.ranks[rank].damage
    return world


def read_trace(path: Path, rank: int) -> RankTrace:
    """Read one rank's trace; see the module's text for what counts as damage."""
    trace = RankTrace(rank)
    text = path.read_bytes().decode("utf-8", errors="replace")
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            # Only the last line may lack its end, and then no newline follows it.
            if number == len(lines):
                trace.cut_off = True
            else:
                trace.damage.append(f"{path.name} line {number}: {error}")
            continue
        if not isinstance(raw, dict):
            trace.damage.append(
                f"{path.name} line {number}: {type(raw).__name__} where an object is expected"
            )
            continue
        try:
            trace.add(raw)
        except ValidationError as error:
            trace.damage.append(f"{path.name} line {number}: {_reason(error)}")
    return trace


def _rank_of(path: Path) -> int | None:
    found = re.fullmatch(r"(?:handshake|trace)-(\d{1,6})", path.stem)
    return int(found[1]) if found else None


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the line"
    return f"{where}: {first['msg']}"
