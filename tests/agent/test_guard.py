from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.agent.guard import judge
from agentmig.spec.paths import is_protected

PROTECTED = ("evaluate.py", "data/**", "tests", "*.csv")


def bash(command: str, **more: object) -> str | None:
    return judge("Bash", {"command": command, **more}, Path("/w"), PROTECTED)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git -C /w -c a.b=c push origin HEAD",
        "cd x && /usr/bin/git push --force",
        "true; git remote add origin https://host/x",
        "git remote set-url origin x",
        "git config core.hooksPath hooks",
        "git -c core.hookspath=h commit",
        "echo x > .git/hooks/pre-commit",
        "echo 'unbalanced && git push",
    ],
)
def test_what_leaves_the_worktree_or_changes_git_is_refused(command: str) -> None:
    assert bash(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'push the remote fix'",
        "git stash && git log",
        "git remote",
        "git remote -v",
        "grep -rn push .",
        "python train.py --epochs 1",
        "git",
    ],
)
def test_ordinary_commands_pass(command: str) -> None:
    assert bash(command) is None


def test_background_commands_are_refused_and_the_reason_says_what_to_do() -> None:
    reason = bash("sleep 1", run_in_background=True)
    assert reason is not None
    assert "foreground" in reason
    assert bash("sleep 1", run_in_background=False) is None


def test_edits_stay_in_the_worktree(tmp_path: Path) -> None:
    worktree, outside = tmp_path / "w", tmp_path / "outside"
    worktree.mkdir()
    outside.mkdir()
    (worktree / "link").symlink_to(outside)
    (worktree / "inner").symlink_to(worktree / "data")

    def edit(path: object, tool: str = "Edit") -> str | None:
        return judge(tool, {"file_path": str(path)}, worktree, PROTECTED)

    assert edit(worktree / "train.py") is None
    assert edit("train.py", "Write") is None
    assert "outside your worktree" in str(edit(outside / "x"))
    assert "outside your worktree" in str(edit(worktree / "../outside/x", "Write"))
    assert f"leads to {outside}/x" in str(edit(worktree / "link/x"))
    assert "protected" in str(edit(worktree / "evaluate.py"))
    assert "protected" in str(edit(worktree / "inner/x"))
    assert "Git's own files" in str(edit(worktree / ".git"))
    assert "Git's own files" in str(edit(".git/config"))


def test_an_unknown_tool_is_named_with_those_that_exist() -> None:
    reason = judge("WebFetch", {}, Path("/w"), ())
    assert reason is not None
    assert "no tool WebFetch" in reason
    assert "mcp__agentmig__claim_success" in reason


def test_reading_is_free() -> None:
    assert judge("Read", {"file_path": "/etc/hostname"}, Path("/w"), PROTECTED) is None
    assert judge("mcp__agentmig__ask_human", {"question": "?"}, Path("/w"), PROTECTED) is None


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        ("evaluate.py", True),
        ("src/evaluate.py", False),
        ("data/a/b.txt", True),
        ("tests/test_x.py", True),
        ("tests2/test_x.py", False),
        ("deep/table.csv", True),
        ("train.py", False),
    ],
)
def test_protected_paths(path: str, protected: bool) -> None:
    assert is_protected(path, PROTECTED) is protected


@given(st.text())
def test_no_command_breaks_the_guard(command: str) -> None:
    bash(command)
