"""The whole bench with real git, real torch and the real verifier, on a project that trains in a second."""

import asyncio
from pathlib import Path

import pytest

from agentmig.bench.applying import prepare
from agentmig.bench.campaign import RUNS, Campaign
from agentmig.bench.examples import load_examples
from agentmig.bench.manifests import Known, load_operators
from agentmig.bench.summary import document
from agentmig.execution.isolation import Isolation
from agentmig.journal import fold
from agentmig.journal.store import read_journal
from agentmig.policy import load_policy
from agentmig.spec import load_prices
from tests.bench.builders import MUTANT, patch, write_example, write_operators
from tests.tiny import TRAIN

# Numbers and losses are printed, as most programs do.
PRINTS = {
    "train.py": TRAIN.replace("    for x, y", '    print("epoch", epoch, "began")\n    for x, y')
    + 'print("loss", loss.item())\n'
}
SAME = MUTANT.replace("lr=0.5", "import argparse, os, torch").replace("lr=0.7", "import os, torch, argparse")


@pytest.mark.torch
def test_a_fault_is_told_from_a_change_that_does_nothing(
    tmp_path: Path, ref_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path / "cache"))
    text = PRINTS["train.py"]
    migration = patch(text, text.replace("\nparser", "\nDEVICE = 'cpu'\nparser", 1))
    folder = write_example(
        tmp_path / "examples", str(ref_python), PRINTS | {"migrations/cpu.patch": migration}
    )
    examples = load_examples(folder)
    found = load_operators(
        write_operators(tmp_path / "operators", {"lr": MUTANT, "same": SAME}), Known({"tiny": ["cpu"]})
    )
    work = tmp_path / "work"
    work.mkdir()
    notes: list[str] = []
    campaign = Campaign(
        prepared=prepare(examples, found, work / "projects", clean=False),
        examples=examples,
        policy=load_policy(),
        prices=load_prices(),
        folder=work,
        isolation=Isolation("none"),
        jobs=1,
        on_note=notes.append,
        on_progress=lambda progress: notes.append(f"{progress.arm.id} {progress.problem}"),
    )
    asyncio.run(campaign.run())
    bench = document(campaign.prepared.arms, campaign.found, found, campaign.problems, "here")
    assert bench.summary.not_run.rows == [], notes
    fault, same = bench.rows
    assert (fault.outcome, fault.verdict, fault.cause) == ("differs", "fail", "learning_rate")
    assert fault.cause_right
    assert fault.distance is not None
    assert fault.distance > 1e-2
    assert fault.baselines["loss_at_end"] is False
    assert (same.outcome, same.verdict, same.distance) == ("equivalent", None, 0.0)
    assert set(same.baselines.values()) == {True}
    assert bench.summary.reached
    state = fold(read_journal(work / RUNS / "lr.tiny.cpu"))
    assert state.finished is not None
    assert state.finished.verdict == "rejected"
    assert fault.steps is not None
    assert fault.steps > 0
    # Trainings are kept, apart from rows: another version of the verifier needs none of them again.
    (work / "rows.jsonl").unlink()
    assert len(list((work / "plain" / "kept").iterdir())) == 5
    assert not (work / "plain" / "tiny").exists()
