"""Drafts of projects that were written for these tests; `agentmig init` was tried on strangers' ones besides."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmig.drafting import Document, DraftingError, draft_workload
from agentmig.spec import load_workload
from agentmig.spec.unfilled import unfilled
from agentmig.spec.workload import Workload
from tests.execution.projects import write

DDP = """\
import argparse
import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.cuda.amp import GradScaler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--output-dir", default="results")
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(4, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler()
    for epoch in range(args.epochs):
        loss = model(torch.randn(8, 4).cuda()).sum()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        print(f"epoch {epoch} loss {loss.item():.3f}")
    torch.save(model.module.state_dict(), args.output_dir + "/model.pt")


if __name__ == "__main__":
    main()
"""
EVALUATE = """\
import argparse

import torch

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", required=True)
    args = parser.parse_args()
    model = torch.nn.Linear(4, 2)
    model.load_state_dict(torch.load(args.checkpoint))
    accuracy = 0.9
    print(f"test accuracy: {accuracy:.4f}")
"""
README = "# Train\n\n```\ntorchrun --nproc_per_node 4 train.py --seed 1\n```\n"


def _drafted(folder: Path, files: dict[str, str]) -> tuple[Document, Workload]:
    write(folder, files)
    document = draft_workload(folder)
    (folder / "workload.toml").write_text(document.draft)
    return document, load_workload(folder)


def test_a_launched_program_with_an_evaluation_needs_little_more(tmp_path: Path) -> None:
    document, workload = _drafted(tmp_path, {"train.py": DDP, "evaluate.py": EVALUATE, "README.md": README})
    assert workload.train.command.startswith("torchrun")
    for part in ("{chips}", "--seed {seed}", "--output-dir {out}"):
        assert part in workload.train.command.replace("=", " ")
    assert workload.train.checkpoint == "{out}/model.pt"
    assert "--checkpoint {checkpoint}" in workload.evaluate.command.replace("=", " ")
    assert (workload.goal.direction, workload.goal.metric) == ("maximize", "test accuracy")
    found = re.findall(workload.goal.pattern, "test accuracy: 0.9312\n")
    assert found == ["0.9312"]
    assert {"nccl", "clip"} <= {
        word
        for hazard in document.hazards
        for word in re.findall(r"nccl|clip", f"{hazard.name} {hazard.text}".lower())
    }
    assert any(question.key == "goal.margin" for question in document.questions)
    assert all(finding.line is not None for finding in document.findings if finding.kind == "seed")


def test_what_is_not_there_is_asked_for_and_marked(tmp_path: Path) -> None:
    train = "import torch\nmodel = torch.nn.Linear(1, 1)\nopt = torch.optim.SGD(model.parameters(), 0.1)\n"
    train += (
        "for step in range(3):\n    loss = model(torch.ones(1)).sum()\n    loss.backward()\n    opt.step()\n"
    )
    document, workload = _drafted(tmp_path, {"train.py": train})
    keys = {question.key for question in document.questions}
    assert {"train.checkpoint", "evaluate.command"} <= keys
    assert "evaluate.command" in unfilled(workload) == document.unfilled


def test_the_draft_of_a_person_who_names_the_program_is_of_that_one(tmp_path: Path) -> None:
    write(tmp_path, {"a/train.py": DDP, "b/fit.py": DDP})
    assert "b/fit.py" in draft_workload(tmp_path, train="b/fit.py").draft
    with pytest.raises(DraftingError, match=r"no Python file 'c\.py'"):
        draft_workload(tmp_path, train="c.py")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"notes.md": "x"}, "no Python file"),
        ({"a.ipynb": "{}"}, "notebooks"),
        ({"a.py": "print('no tensors')\n"}, "imports torch"),
    ],
)
def test_where_there_is_nothing_to_draft_it_says_so(tmp_path: Path, files: dict[str, str], said: str) -> None:
    write(tmp_path, files)
    with pytest.raises(DraftingError, match=said):
        draft_workload(tmp_path)


def test_files_that_nobody_can_parse_and_loops_of_links_do_not_keep_the_rest_from_being_read(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"train.py": DDP, "old.py": "import torch\nprint 'x'\n"})
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nimport torch\nname = '\xe9'\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert "train.py" in draft_workload(tmp_path).draft


_LINES = st.lists(
    st.sampled_from(
        [*DDP.splitlines(), *EVALUATE.splitlines(), "import sys, torch", "x = {'a': [1]}", "    pass", "'''"]
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(st.lists(_LINES, min_size=1, max_size=3), st.text(max_size=60))
def test_whatever_the_files_hold_the_draft_validates_or_it_is_said_why_there_is_none(
    modules: list[list[str]], more: str
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number, lines in enumerate(modules):
            (folder / f"m{number}.py").write_text("\n".join(lines), encoding="utf-8")
        (folder / "README.md").write_text(more, encoding="utf-8", errors="replace")
        try:
            document = draft_workload(folder)
        except DraftingError:
            return
        (folder / "workload.toml").write_text(document.draft, encoding="utf-8")
        assert unfilled(load_workload(folder)) == document.unfilled
