"""Runs programs under the probe in environments that have torch, as a launcher would."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentmig.probe import loader

PROGRAMS = Path(__file__).resolve().parent / "programs"


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
