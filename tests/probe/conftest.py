"""Runs programs under the probe in environments that have torch, as a launcher would."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentmig.execution.environments import cache_root
from agentmig.probe import loader

PROGRAMS = Path(__file__).resolve().parent / "programs"

_ALL = ("PyYAML==6.0.4", "tqdm==4.70.1", "psutil==7.2.2")
FRAMEWORKS = {
    # Apart from transformers, which Lightning would import where it is there.
    "lightning": (*_ALL, "lightning==2.6.6", "lightning-utilities==0.15.3", "torchmetrics==1.9.0"),
    "transformers": (
        *_ALL, "transformers==5.24.0", "accelerate==1.15.0", "huggingface_hub==2.4.0", "safetensors==0.8.0",
        "tokenizers==0.23.3", "regex==2026.11.19", "httpx2==2.16.2", "httpcore2==2.16.2", "anyio==4.16.0",
        "h11==0.16.0", "idna==3.20", "truststore==0.10.5",
    ),
}  # fmt: skip
"""Training libraries, and what they import beyond the base environment; none of it brings torch along."""


@dataclass(frozen=True)
class Run:
    """A finished run and what the probe wrote."""

    returncode: int
    output: str
    out: Path

    def lines(self, kind: str, rank: int = 0) -> list[dict[str, Any]]:
        """The trace's lines of a kind."""
        text = (self.out / f"trace-{rank}.jsonl").read_text()
        parsed = [json.loads(line) for line in text.splitlines()]
        return [line for line in parsed if line["kind"] == kind]

    def steps(self, rank: int = 0) -> list[dict[str, Any]]:
        """The trace's steps."""
        return self.lines("step", rank)

    def notes(self, rank: int = 0) -> set[str]:
        """Codes of the trace's notes."""
        return {line["code"] for line in self.lines("note", rank)}

    def end(self, rank: int = 0) -> dict[str, Any]:
        """The trace's last line."""
        text = (self.out / f"trace-{rank}.jsonl").read_text()
        last: dict[str, Any] = json.loads(text.splitlines()[-1])
        assert last["kind"] == "end"
        return last

    def ranks(self) -> list[int]:
        """Ranks that shook hands."""
        return sorted(int(path.stem.split("-")[1]) for path in self.out.glob("handshake-*.json"))


def run(
    python: Path,
    arguments: Sequence[str],
    out: Path,
    *,
    ranks: int = 0,
    environ: dict[str, str] | None = None,
    probe: bool = True,
    **plan: Any,
) -> Run:
    """Run a program of `programs/` (or interpreter options and one) under a plan, through torchrun where `ranks`."""
    out.mkdir(parents=True)
    file = out / "plan.json"
    file.write_text(json.dumps({"schema": 1, "mode": "watch", "out": str(out), **plan}))
    # gloo must find the loopback device, also where there is no other network.
    variables = {"OMP_NUM_THREADS": "1", "PJRT_DEVICE": "CPU", "GLOO_SOCKET_IFNAME": "lo"}
    command = [str(python)]
    if ranks:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    done = subprocess.run(
        [*command, *arguments],
        env={**os.environ, **variables, **(loader.environment(file) if probe else {}), **(environ or {})},
        cwd=PROGRAMS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return Run(done.returncode, done.stdout, out)


@pytest.fixture(scope="session")
def reference(ref_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six steps of four DDP ranks, recorded in float64."""
    out = tmp_path_factory.mktemp("reference") / "out"
    plan: dict[str, Any] = {"mode": "record", "steps": 6, "precision": "float64", "dropout": False}
    done = run(ref_python, ["ddp_train.py"], out, ranks=4, **plan)
    assert done.returncode == 0, done.output
    return done


@pytest.fixture(scope="session")
def frameworks(ref_python: Path) -> dict[str, Path]:
    """Folders for PYTHONPATH with the libraries of `FRAMEWORKS`, built once (about 100 MB)."""
    return {name: _overlay(ref_python, requirements) for name, requirements in FRAMEWORKS.items()}


def _overlay(python: Path, requirements: Sequence[str]) -> Path:
    key = hashlib.sha256(json.dumps([requirements, python.parent.parent.name]).encode()).hexdigest()[:16]
    folder = cache_root() / "overlays" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = folder.with_suffix(".part")
            shutil.rmtree(partial, ignore_errors=True)
            command = [
                str(python),
                "-m",
                "pip",
                "install",
                "--no-input",
                "--no-deps",
                "--target",
                str(partial),
            ]
            done = subprocess.run([*command, *requirements], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            partial.rename(folder)
    return folder
