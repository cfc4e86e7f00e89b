"""The sign on the wall: tells the agent at once, and in words, what it is not to do.

The wall itself is isolation (`agentmig.execution.isolation`), and what gets past both is undone by
verification, which restores protected files and runs a fresh clone. So this module needs to be helpful, not
impossible to get around.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmig.agent.tools import BUILT_IN, OURS
from agentmig.spec.paths import is_protected

_EDITS = ("Edit", "Write")
_GIT_OPTIONS_WITH_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}
_HOOKS = re.compile(r"hookspath|\.git/hooks", re.IGNORECASE)


def judge(
    tool_name: str, tool_input: Mapping[str, Any], worktree: Path, protected: Sequence[str]
) -> str | None:
    """Decide on a tool call.

    Args:
        tool_name: the tool as Claude Code names it.
        tool_input: its input.
        worktree: the folder that the agent works in.
        protected: paths and globs, relative to the worktree, that must not change; a folder protects all
            below it.

    Returns:
        Why the call is refused, in words for the agent; None to let it pass.
    """
    if tool_name not in BUILT_IN + OURS:
        return f"There is no tool {tool_name} here. There are: {', '.join(BUILT_IN + OURS)}."
    if tool_name in _EDITS:
        return _judge_edit(str(tool_input.get("file_path", "")), worktree, protected)
    if tool_name == "Bash":
        if tool_input.get("run_in_background"):
            return (
                "Background commands are ended together with your turn, so their results would be lost. Run "
                "it in the foreground, or use run_on_target for training runs."
            )
        return _judge_command(str(tool_input.get("command", "")))
    return None


def _judge_edit(file_path: str, worktree: Path, protected: Sequence[str]) -> str | None:
    root = worktree.resolve()
    target = (root / file_path).resolve()
    if not target.is_relative_to(root):
        where = f"{file_path} leads to {target}" if str(target) != file_path else file_path
        return f"{where}, which is outside your worktree {root}. Change files only inside it."
    inside = target.relative_to(root).as_posix()
    if inside == ".git" or inside.startswith(".git/"):
        return "Git's own files are not to be edited; use git commands for commits and branches."
    if is_protected(inside, protected):
        return (
            f"{inside} is protected: it defines what success means for this project, and it is put back "
            "before verification. Reach the goal without changing it."
        )
    return None


def _judge_command(command: str) -> str | None:
    if _HOOKS.search(command):
        return "Git hooks and their configuration are not to be changed here."
    for words in _git_calls(command):
        if words[:1] == ["push"]:
            return (
                "Nothing is pushed from here: commit in the worktree, and name the commit in claim_success."
            )
        if words[:1] == ["remote"] and len(words) > 1 and not words[1].startswith("-"):
            return (
                "The repository's remotes are not to be changed or asked; there is no network to reach them."
            )
    return None


def _git_calls(command: str) -> Iterator[list[str]]:
    """The words after `git` and its global options, for each call of git in a shell command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        words = command.split()  # a here-document or an odd quote: the plain words are good enough for a sign
    for start, word in enumerate(words):
        if word != "git" and not word.endswith("/git"):
            continue
        position = start + 1
        while position < len(words) and words[position].startswith("-"):
            position += 2 if words[position] in _GIT_OPTIONS_WITH_VALUE else 1
        yield words[position:]
