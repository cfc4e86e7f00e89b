"""What the probe is asked to do in this run."""

import hashlib
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from . import SCHEMA

Mode = Literal["record", "match", "watch"]
Precision = Literal["float64", "production"]


class PlanError(Exception):
    """The plan can't be read or asks for what the probe doesn't know."""


@dataclass(frozen=True)
class Plan:
    """One run's orders, the same for each of its processes.

    Attributes:
        mode: `record` a reference, `match` a candidate to one, or only `watch`.
        out: folder that everything is written to.
        steps: end the process, with exit code 0, after so many optimizer steps; None: to the program's end.
        precision: `float64` takes parameters and data to float64 and switches autocast and loss scaling off.
        dropout: False makes dropout the identity.
        reference: in mode `match`, the `out` of a record with the same world size.
        teacher_forced: in mode `match`, parameters and buffers are set to the reference's before each step.
        replay: in mode `match`, the optimizer applies the reference's recorded gradients instead of its own.
        short: batches that a pass over a DataLoader takes from its beginning and from its end; None: all of it.
        stress: provoke what does not show by itself: clipping thresholds at half of the reference's first norm, and one
            step at ten times the learning rate.
        perturb: relative size of a seeded perturbation of the initial (or teacher-forced) parameters.
        bridge: emulate XLA chips, one a process, with collectives over gloo.
        values: False: no value of any tensor of the model is ever read (a performance pass).
        tensor_bytes: cap on the tensors that one rank records.
        rows: for so many first training batches each sample is hashed.
        sha256: of the plan's text.
    """

    mode: Mode
    out: Path
    steps: int | None = None
    precision: Precision = "production"
    dropout: bool = True
    reference: Path | None = None
    teacher_forced: bool = False
    replay: bool = False
    short: tuple[int, int] | None = None
    stress: bool = False
    perturb: float = 0.0
    bridge: bool = False
    values: bool = True
    tensor_bytes: int = 536870912
    rows: int = 20
    sha256: str = ""


def parse(text: str) -> Plan:
    """Read a plan.

    Args:
        text: JSON, an object with `"schema": 1` and the attributes of `Plan`.

    Raises:
        PlanError: not JSON, another schema, an unknown key or value, or a match without a reference.
    """
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise PlanError(f"the plan isn't JSON: {error}") from error
    if not isinstance(raw, dict) or raw.pop("schema", None) != SCHEMA:
        raise PlanError(f'the plan must be an object with "schema": {SCHEMA}')
    known = {field.name for field in fields(Plan)} - {"sha256"}
    unknown = sorted(set(raw) - known)
    if unknown:
        raise PlanError(f"the plan has keys that this probe doesn't know: {', '.join(unknown)}")
    if raw.get("mode") not in ("record", "match", "watch") or not isinstance(raw.get("out"), str):
        raise PlanError('the plan needs "mode" (record, match or watch) and "out" (a folder)')
    if raw.get("precision", "production") not in ("float64", "production"):
        raise PlanError(f'"precision" is {raw["precision"]!r}; allowed are float64 and production')
    if raw["mode"] == "match" and not raw.get("reference"):
        raise PlanError('mode match needs "reference", the folder of a record')
    reference, short = raw.get("reference"), raw.get("short")
    if short is not None and not (
        isinstance(short, list) and len(short) == 2 and all(type(n) is int and n > 0 for n in short)
    ):
        raise PlanError(f'"short" is {short!r}; it must be two numbers of batches, such as [2, 1]')
    settings = {
        **raw,
        "short": tuple(short) if short else None,
        "out": Path(raw["out"]),
        "reference": Path(reference) if reference else None,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return Plan(**settings)


def read() -> Plan:
    """Read the plan that `AGENTMIG_PROBE_PLAN` names.

    Raises:
        PlanError: the variable isn't set, the file can't be read, or `parse` refuses it.
    """
    name = os.environ.get("AGENTMIG_PROBE_PLAN")
    if not name:
        raise PlanError("AGENTMIG_PROBE_PLAN isn't set")
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(f"the plan can't be read: {error}") from error
    return parse(text)
