"""What the results of the reference depend on: the parts of their key, and the manifest that keeps them readable.

The key alone, a hash, can't say why a result no longer applies; the parts, written beside the results, can.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from agentmig import __version__
from agentmig.errors import AgentmigError
from agentmig.execution.launch import PROBE
from agentmig.spec.workload import Workload

Table = dict[str, Any]

_NAMES = {
    "tree": "the project at its base commit (tree)",
    "environment": "the reference's environment (key)",
    "semantics_steps": "acceptance.semantics.steps",
    "epoch_batches": "acceptance.semantics.epoch_batches",
    "stress": "acceptance.semantics.stress",
    "numerics_steps": "acceptance.numerics.steps",
    "perturbation": "acceptance.numerics.perturbation",
    "machine": "the machine's architecture",
    "cores": "the machine's cores",
    "probe": "the probe, which comes with agentmig",
}


class DocumentError(AgentmigError):
    """A file beside the results can't be read."""


class KeyParts(BaseModel):
    """Everything that the reference's results depend on."""

    model_config = ConfigDict(frozen=True)

    tree: str
    """Of the project at its base commit."""
    environment: str
    """Key of the reference's environment."""
    train: Table
    evaluate: Table
    goal: Table
    reference: Table
    data: dict[str, Table]
    semantics_steps: int
    epoch_batches: list[int]
    stress: bool
    numerics_steps: int
    perturbation: float
    machine: str
    cores: int | None
    probe: str
    """Hash of the probe's sources, which also decides the format of what it records."""

    @property
    def key(self) -> str:
        """The hash of all of them, which names the folder of the results."""
        parts = [
            self.tree,
            self.environment,
            self.train,
            self.evaluate,
            self.goal,
            self.reference,
            self.data,
            [self.semantics_steps, self.epoch_batches, self.stress],
            [self.numerics_steps, self.perturbation],
            [self.machine, self.cores],
            self.probe,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def key_parts(workload: Workload, tree: str, environment: str) -> KeyParts:
    """The parts of a workload's key on this machine.

    Args:
        workload: whose untouched code is meant.
        tree: id of the project's tree at the base commit.
        environment: key of the reference's environment.
    """
    acceptance = workload.acceptance
    return KeyParts(
        tree=tree,
        environment=environment,
        train=workload.train.model_dump(mode="json"),
        evaluate=workload.evaluate.model_dump(mode="json"),
        goal=workload.goal.model_dump(mode="json"),
        reference=workload.reference.model_dump(mode="json"),
        data={name: data.model_dump(mode="json") for name, data in workload.data.items()},
        semantics_steps=acceptance.semantics.steps,
        epoch_batches=acceptance.semantics.epoch_batches,
        stress=acceptance.semantics.stress,
        numerics_steps=acceptance.numerics.steps,
        perturbation=acceptance.numerics.perturbation,
        machine=platform.machine(),
        cores=os.cpu_count(),
        probe=hash_of_folder(PROBE),
    )


@dataclass(frozen=True)
class Difference:
    """A part of two keys that isn't the same."""

    part: str
    """Dotted, such as `train.command`."""
    there: str
    here: str

    def __str__(self) -> str:
        return f"{_NAMES.get(self.part, self.part)}: {self.there} there, {self.here} here"

    @property
    def is_of_the_place(self) -> bool:
        """Whether it is about where the results were measured, and not about what was measured."""
        words = self.part.split(".")
        return words[0] in ("environment", "machine", "cores") or (
            words[0] == "data" and words[2:3] == ["paths"]
        )


def differences(there: KeyParts, here: KeyParts) -> list[Difference]:
    """What keeps results of one key from being results of another, in the order of the parts."""
    old, new = dict(_flat("", there.model_dump())), dict(_flat("", here.model_dump()))
    return [
        Difference(name, _shown(old.get(name)), _shown(new.get(name)))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    else:
        yield prefix, value


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value)
    if len(text) >= 32 and text.isalnum():
        return text[:12]
    return text if len(text) <= 80 else text[:79] + "…"


class Origin(BaseModel):
    """Where imported results were measured, as their archive says."""

    host: str
    machine: str
    cores: int | None
    environment: str
    """Key of the environment there."""
    exported: datetime
    imported: datetime


class Manifest(BaseModel):
    """What lies beside the results of one key."""

    schema_version: Literal[1] = 1
    workload: str
    commit: str
    """The project's base commit, in its own repository."""
    agentmig: str = __version__
    parts: KeyParts
    origin: Origin | None = None

    @property
    def key(self) -> str:
        """Names the folder."""
        return self.parts.key


D = TypeVar("D", bound=BaseModel)


def read_document(model: type[D], file: Path) -> D | None:
    """Read one of the JSON documents that lie beside results; None where there is none.

    Raises:
        DocumentError: it can't be read as what it should be.
    """
    try:
        return model.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DocumentError(
            f"{file}: damaged or from another version of agentmig ({where}: {first['msg']}); remove the folder "
            f"{file.parent} (`agentmig reference expire` does)"
        ) from error
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror}") from error


def write_document(file: Path, document: BaseModel) -> None:
    """Write a JSON document in one go: a reader sees all of it or nothing."""
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    partial.write_text(document.model_dump_json(indent=1))
    partial.replace(file)


def hash_of_folder(folder: Path) -> str:
    """Hash of the sources in a folder, by path and content."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
