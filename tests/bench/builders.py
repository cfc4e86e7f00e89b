"""Examples, operators and arms for tests, with everything filled in that a test doesn't care about."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentmig.bench.arms import Arm
from agentmig.bench.examples import Example, load_examples
from agentmig.bench.manifests import Known, Operator, load_operators
from agentmig.bench.plain import Plain
from agentmig.bench.rows import Observation
from agentmig.bench.verifying import Verified
from agentmig.journal import Verdict
from tests.tiny import EVALUATE, TRAIN, WORKLOAD

OPERATOR = """
schema_version = 1
name = "NAME"
kind = "fault"
title = "Another learning rate"
expected = ["learning_rate"]
oracle = "training"
"""
MUTANT = """
[[mutant]]
workload = "tiny"
target = "cpu"
edits = [{ file = "train.py", find = "lr=0.5", replace = "lr=0.7" }]
"""
MIGRATED = TRAIN.replace("import argparse, os, torch\n", "import argparse, os, torch\n\nDEVICE = 'cpu'\n")


def patch(old: str, new: str, name: str = "train.py") -> str:
    """A patch that makes one text of the other."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def write_example(
    folder: Path, python: str = "/usr/bin/python3", files: Mapping[str, str] | None = None
) -> Path:
    """A folder of projects with one, `tiny`, that has a migration to its target `cpu`; returns the folder."""
    text = WORKLOAD.format(python=python).replace(
        "[environments.base]", '[project]\npath = "."\n\n[environments.base]'
    )
    contents = {
        "train.py": TRAIN,
        "evaluate.py": EVALUATE,
        "workload.toml": text,
        "migrations/cpu.patch": patch(TRAIN, MIGRATED),
        **(files or {}),
    }
    for name, content in contents.items():
        of_the_project = not name.startswith("migrations/")
        file = folder / ("tiny" if of_the_project else "migrations/tiny") / name.removeprefix("migrations/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder


def write_operators(folder: Path, texts: Mapping[str, str]) -> Path:
    """A folder of operators: for each name what follows the operator's own keys; a whole text begins with a newline."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        whole = text if "schema_version" in text else OPERATOR + text
        (folder / f"{name}.toml").write_text(whole.replace("NAME", name))
    return folder


def example(folder: Path) -> dict[str, Example]:
    """The projects of `write_example`."""
    return load_examples(write_example(folder))


def operators(folder: Path, texts: Mapping[str, str]) -> list[Operator]:
    """The operators of `write_operators`."""
    return load_operators(write_operators(folder, texts), Known({"tiny": ["cpu"]}))


def plain(**changes: Any) -> Plain:
    """What a training left."""
    fields: dict[str, Any] = {
        "ok": True,
        "timed_out": False,
        "ended": "ended by itself",
        "wall_s": 10.0,
        "steps": 100,
        "processes": 1,
        "devices": ["xla (CPU)"],
        "compilations": 4,
        "transfers": 12,
        "fallbacks": 0,
        "lines": ["epoch 1 loss 0.5000", "epoch 2 loss 0.2500", "test accuracy 0.9100"],
        "metric": 0.91,
        "metric_problem": None,
        "checkpoint": True,
    }
    return Plain.model_validate(fields | changes)


def arm(name: str = "lr", kind: str = "fault", **changes: Any) -> Arm:
    """An arm of an operator."""
    fields: dict[str, Any] = {
        "id": f"{name}.tiny.cpu",
        "kind": kind,
        "operator": name,
        "workload": "tiny",
        "target": "cpu",
        "base": "0" * 40,
        "clean": "1" * 40,
        "commit": "2" * 40,
        "tree": "3" * 40,
        "oracle": "training" if kind in ("fault", "cheat") else None,
        "changes": (),
        "emulated": False,
        "key": f"key of {name}",
    }
    return Arm(**(fields | changes))


def verified(verdict: str = "fail", **changes: Any) -> Verified:
    """What a verification came to."""
    failed = verdict == "fail"
    fields: dict[str, Any] = {
        "verdict": Verdict(verdict),
        "gate": "semantics" if failed else None,
        "cause": "learning_rate" if failed else None,
        "summary": "The learning rate is another one." if failed else "Every gate passed.",
        "wall_s": 8.0,
        "runs_s": 6.0,
        "steps": 12,
        "runs": 1,
        "reference_run_s": 10.0,
        "reference_seeds": 4,
        "calibration_s": 20.0,
    }
    return Verified.model_validate(fields | changes)


def observation(of: Arm, made: Verified | None = None, **changes: Any) -> Observation:
    """What was observed of an arm; a mutant is rejected, what is correct accepted."""
    made = made or verified("fail" if of.is_mutant else "pass")
    fields: dict[str, Any] = {
        "key": of.key,
        "arm": of.id,
        "outcome": "differs" if of.is_mutant else None,
        "reason": "its checkpoint is away" if of.is_mutant else "",
        "distance": 0.1,
        "metric": 0.91,
        "baselines": {"final_metric": True, "loss_at_end": True, "loss_curve": False, "first_loss": None},
        "verified": made,
        "run": of.id,
    }
    return Observation.model_validate(fields | changes)
