"""Each backend of PyTorch, tried in the interpreters that train: import, devices, one training step.

Every trial is a process of its own with a time-out: torch may raise, crash or hang, and the doctor goes on.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from agentmig.doctor.child import Ended, run, shortened
from agentmig.doctor.results import Finding, broken, missing, not_needed, ok
from agentmig.doctor.tiny_run import MARK

Backend = Literal["torch", "cuda", "torch_xla", "torch_tpu"]
Hardware = Literal["CPU", "GPU", "TPU"]
_Model = TypeVar("_Model", bound=BaseModel)

LABELS: dict[Backend, str] = {
    "torch": "torch",
    "cuda": "CUDA",
    "torch_xla": "torch_xla",
    "torch_tpu": "TorchTPU",
}
SCRIPT = Path(__file__).with_name("tiny_run.py")
TIMEOUT_S = 120.0
"""For one trial; torch's import alone can take half a minute from a cold disk."""

_TOLERANCE: dict[Hardware, float] = {"CPU": 1e-4, "GPU": 1e-4, "TPU": 5e-2}
"""Largest difference from float64 on the CPU, relative to the largest value; a TPU multiplies float32 in one pass of
bfloat16, which has 8 bits of precision."""


class Facts(BaseModel):
    """What the script knows without importing torch."""

    python: str
    executable: str
    cores: int
    free_gb: float
    nodes: list[str]
    unreadable: list[str]
    version: str | None


class Step(BaseModel):
    """How the training step went."""

    kind: str
    devices: int
    words: str
    torch: str
    difference: float | None = None


@dataclass(frozen=True)
class Trial:
    """What came of starting the script.

    Attributes:
        facts: None where the interpreter didn't run it.
        step: None where torch raised, crashed or hung.
        error: what it raised.
        ended: how the process ended; the output without the script's own lines.
    """

    facts: Facts | None
    step: Step | None
    error: str
    ended: Ended


async def start(
    command: Sequence[str], words: Sequence[str], env: Mapping[str, str] | None, timeout_s: float = TIMEOUT_S
) -> Trial:
    """Give the script to an interpreter.

    Args:
        command: the interpreter's command line, which reads a script from standard input.
        words: the script's arguments.
        env: the whole environment; default this process's.
        timeout_s: after which all is killed.

    Raises:
        OSError: nothing can be started.
    """
    return read(await run([*command, *words], timeout_s=timeout_s, env=env, script=SCRIPT))


def read(ended: Ended) -> Trial:
    """Tell the script's lines from whatever else was printed."""
    lines = ended.output.splitlines()
    ours: list[object] = []
    for line in lines:
        try:
            ours += [json.loads(line.removeprefix(MARK))] if line.startswith(MARK) else []
        except ValueError:
            continue  # cut off, or not ours
    rest = replace(ended, output="\n".join(line for line in lines if not line.startswith(MARK)))
    last = ours[-1] if len(ours) > 1 else {}
    error = str(last["error"]) if isinstance(last, dict) and "error" in last else ""
    return Trial(_valid(Facts, ours[0]) if ours else None, None if error else _valid(Step, last), error, rest)


def _valid(model: type[_Model], value: object) -> _Model | None:
    try:
        return model.model_validate(value)
    except ValidationError:
        return None


def judge(trial: Trial, backend: Backend, hardware: Hardware | None, get: str, repair: str) -> Finding:
    """What a trial means.

    Args:
        trial: what came of it.
        backend: what was tried.
        hardware: what a run needs it on; None where nothing needs it, so that it may be absent but not broken.
        get: the step that gets the backend.
        repair: the step that repairs it.
    """
    facts, step = trial.facts, trial.step
    lacks = missing if hardware else (lambda seen, fix: not_needed(seen))
    if facts is None:
        return broken(f"the interpreter does not run: {trial.ended.how}", repair)
    if facts.version is None:
        return lacks("not installed", get)
    name = f"{LABELS[backend]} {facts.version}" if facts.version != "?" else LABELS[backend]
    if trial.error:
        return broken(f"{name}: {shortened(trial.error)}", repair)
    if step is None:
        return broken(f"{name} does not survive its trial: {trial.ended.how}", repair)
    torch = f"torch {step.torch}" if backend in ("torch", "cuda") else f"{facts.version}, torch {step.torch}"
    if not step.devices:
        return lacks(f"{torch}: {shortened(step.words)}", "")
    seen = f"{torch}, {step.devices} × {step.kind} ({shortened(step.words)})"
    expected = hardware or ("TPU" if step.kind == "TPU" else "CPU")
    if backend in ("torch_xla", "torch_tpu") and step.kind != expected:
        return broken(f"{seen}: runs on {step.kind}, not on {expected}", repair)
    tolerance = _TOLERANCE[expected]
    if step.difference is None or not step.difference <= tolerance:
        what = "no number" if step.difference is None else f"{step.difference:.1e} off"
        return broken(f"{seen}: one training step is {what} (tolerance {tolerance:g})", repair)
    return ok(f"{seen}; one training step is right to {step.difference:.0e}")
