"""What is run: correct migrations, legitimate rewrites of them, and mutants; each is a commit."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentmig.bench.manifests import OracleKind
from agentmig.bench.scratch import Change
from agentmig.verification.reference_key import hash_of_folder

ArmKind = Literal["clean", "rewrite", "fault", "cheat"]
VERSION = 1
"""Part of every key; raised when rows of an earlier version no longer say the same."""

_PACKAGE = Path(__file__).resolve().parent.parent
_ORACLE = ("oracle.py", "plain.py", "printed.py", "tensors.py")


@dataclass(frozen=True)
class Arm:
    """One commit that is verified.

    Attributes:
        id: names it everywhere: operator, workload and target, and a number where an operator has several there.
        base: the base commit in the project's scratch repository.
        clean: the commit of the correct migration.
        commit: its own.
        tree: what that holds, whatever its history.
        oracle: how it is decided that it differs; None for what is to be accepted.
        changes: the files in which it differs from the correct migration.
        emulated: whether the target's chips are stood in for.
        key: hash of all that its row depends on.
    """

    id: str
    kind: ArmKind
    operator: str
    workload: str
    target: str
    base: str
    clean: str
    commit: str
    tree: str
    oracle: OracleKind | None
    changes: tuple[Change, ...]
    emulated: bool
    key: str

    @property
    def group(self) -> tuple[str, str]:
        """Arms of one project and target share their reference and their correct migration."""
        return self.workload, self.target

    @property
    def is_mutant(self) -> bool:
        """Whether it is to be rejected, if it differs at all."""
        return self.kind in ("fault", "cheat")


def arm_id(operator: str, workload: str, target: str, number: int, of: int) -> str:
    """The name of an operator's change to a project's migration to a target, the `number`th `of` so many."""
    return f"{operator}.{workload}.{target}" + (f".{number}" if of > 1 else "")


def sources() -> str:
    """Hash of agentmig's own code that rows depend on: the probe, the verification, and the oracle."""
    parts = [hash_of_folder(_PACKAGE / name) for name in ("probe", "verification")]
    parts += [(_PACKAGE / "bench" / name).read_text(encoding="utf-8") for name in _ORACLE]
    return hashed(parts)


def hashed(parts: object) -> str:
    """A short hash of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def in_order(arms: Iterable[Arm]) -> list[Arm]:
    """Group by group, what is to be accepted first: a correct migration that fails makes its mutants worthless."""
    ranks = {"clean": 0, "rewrite": 1, "fault": 2, "cheat": 2}
    return sorted(arms, key=lambda arm: (arm.group, ranks[arm.kind], arm.id))


def by_group(arms: Sequence[Arm]) -> dict[tuple[str, str], list[Arm]]:
    """Arms by project and target, in their order."""
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault(arm.group, []).append(arm)
    return groups
