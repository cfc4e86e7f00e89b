"""Whole migrations through the real CLI, real git, torch and torch_xla; only the model's words are authored.

`make demo` plays `digits-clipping` on four chips and both targets. Here the same project trains for fewer epochs on two
emulated chips, to keep it short.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DIGITS, REPOSITORY
from tests.execution.projects import git

SHORTER = [
    ("chips = 4", "chips = 2"),
    ("--out {out}", "--out {out} --epochs 5"),
    ("seeds = 4", "seeds = 3"),
    # The seeds are drawn after the claim, so the goal varies from run to run: three short trainings on each side differ
    # by up to 0.03, and with so few degrees of freedom 0.05 was once not shown. What is held here isn't the statistics.
    ("margin = 0.015", "margin = 0.2"),
    ("[acceptance.semantics]", "[acceptance.goal]\nlooks = [3]\n\n[acceptance.semantics]"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, ref_python: Path, xla_python: Path) -> Path:
    """The example as a project of its own, shortened; its environments stand."""
    folder = tmp_path_factory.mktemp("digits") / "project"
    shutil.copytree(DIGITS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "workload.toml").read_text()
    for old, new in SHORTER:
        assert old in text
        text = text.replace(old, new)
    (folder / "workload.toml").write_text(text)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "digits")
    return folder


def _agentmig(project: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("ANTHROPIC")}
    command = [sys.executable, "-m", "agentmig.cli.main", *arguments, "--target", "xla", "--json"]
    done = subprocess.run(command, cwd=project.parent, env=env, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _play(project: Path, script: str) -> tuple[int, dict[str, Any]]:
    return _agentmig(project, "run", str(project), "--play", str(REPOSITORY / "transcripts" / script))


def _gates(claim: dict[str, Any]) -> dict[str, str]:
    return {gate["gate"]: gate["verdict"] for gate in claim["gates"]}


def test_the_clipping_fault_is_rejected_by_its_cause_mended_and_accepted(project: Path) -> None:
    code, run = _play(project, "digits-clipping")
    assert (code, run["verdict"]) == (0, "accepted"), run["reason"]
    loud, fine = [a for a in run["attempts"] if a["by"] == "agent"]
    assert (loud["outcome"], loud["exit_code"]) == ("loud", 1)
    assert fine["outcome"] == "ok"
    first, second = run["claims"]
    assert (first["verdict"], first["cause"]) == ("fail", "clip_before_reduction")
    assert _gates(first)["semantics"] == "fail"
    assert _gates(first)["goal"] == "not reached"
    assert set(_gates(second).values()) == {"pass"}
    # The first claim never reached the goal, so the second has the whole share of a first one: half of alpha.
    assert (first["alpha_spent"], second["alpha_spent"]) == (0.0, 0.025)
    assert run["emulated"] and all("EMULATED" in target["description"] for target in run["targets"])
    assert run["turns"] == 11
    script = (REPOSITORY / "transcripts" / "digits-clipping" / "session.toml").read_text()
    played = [turn["usage"] for turn in tomllib.loads(script)["turn"]]
    for mine, theirs in (
        ("input", "input"),
        ("output", "output"),
        ("cache_read", "cache_read"),
        ("cache_write", "cache_write_5m"),
    ):
        assert run["usage"][mine] == sum(usage.get(theirs, 0) for usage in played)
    assert git(project, "status", "--porcelain") == ""


def test_without_the_fault_the_first_claim_is_accepted(project: Path) -> None:
    code, run = _play(project, "digits-clean")
    assert (code, run["verdict"]) == (0, "accepted"), run["reason"]
    assert [claim["verdict"] for claim in run["claims"]] == ["pass"]


def test_another_fault_has_another_cause(project: Path) -> None:
    code, run = _play(project, "digits-learning-rate")
    assert code != 0
    assert run["verdict"] != "accepted"
    assert run["claims"][0]["cause"] == "learning_rate"
    assert "learning_rate" in run["feedback"][0]


def test_the_fix_is_not_played_where_the_feedback_names_no_clipping(project: Path, tmp_path: Path) -> None:
    """The script is bound to what the verifier says: another fault's session can't go on with this one's fix."""
    clipping = (REPOSITORY / "transcripts" / "digits-clipping" / "session.toml").read_text().split("[[turn]]")
    rate = (
        (REPOSITORY / "transcripts" / "digits-learning-rate" / "session.toml").read_text().split("[[turn]]")
    )
    script = tmp_path / "session.toml"
    script.write_text("[[turn]]".join([*rate[:-1], *clipping[8:]]))
    code, run = _agentmig(project, "run", str(project), "--play", str(script))
    assert (code, run["verdict"]) == (1, "rejected")
    assert "clip_before_reduction" in run["reason"]


def test_a_migration_made_by_hand_is_verified_without_an_agent(project: Path) -> None:
    git(project, "checkout", "--quiet", "-b", "by-hand")
    evaluate = project / "evaluate.py"
    evaluate.write_text(evaluate.read_text().replace("correct / len(test_set)", "0.99"))
    git(project, "commit", "--quiet", "--all", "-m", "a better evaluation")
    git(project, "checkout", "--quiet", "-")
    code, run = _agentmig(project, "verify", str(project), "--candidate", "by-hand")
    assert (code, run["verdict"]) == (1, "rejected")
    assert run["claims"][0]["cause"] == "protected_changed"
    assert run["turns"] == 0
