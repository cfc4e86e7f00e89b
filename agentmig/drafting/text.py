"""The text of a draft: values as TOML, comments of one line each, put into the template."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentmig.agent.prompts import render
from agentmig.drafting.environments import Environments, Line
from agentmig.drafting.findings import one_line
from agentmig.drafting.goal import Aim


@dataclass(frozen=True)
class Command:
    """A command of the workload file.

    Attributes:
        why: comments for it.
        env: variables that it gets.
    """

    text: str
    why: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Parts:
    """Everything that the template is filled with, as plain values.

    Attributes:
        root: the project's folder, after which the workload is called.
        path: of the project, as the file says it.
        head: a comment about the base commit.
        unusable: comments about requirement lines that were not taken over.
        data: paths of `[data.*]` by name, with their comments.
    """

    root: Path
    path: str
    head: str
    train: Command
    checkpoint: str
    checkpoint_why: tuple[str, ...]
    evaluate: Command
    goal: Aim
    environments: Environments
    unusable: tuple[str, ...]
    chips: int
    accelerator: str
    accelerator_why: tuple[str, ...]
    data: Mapping[str, tuple[str, list[str]]]
    protected: tuple[str, ...]


def text_of(parts: Parts) -> str:
    """The workload file."""
    made, goal = parts.environments, parts.goal
    margin = f"{goal.margin:g}"
    return render(
        "workload.toml.j2",
        name=toml(workload_name(parts.root)),
        path=toml(parts.path),
        head=one_line(parts.head),
        train_command=toml(parts.train.text),
        train_why=_comments(parts.train.why),
        train_env=_table(parts.train.env),
        checkpoint=toml(parts.checkpoint),
        checkpoint_why=_comments(parts.checkpoint_why),
        evaluate_command=toml(parts.evaluate.text),
        evaluate_why=_comments(parts.evaluate.why),
        evaluate_env=_table(parts.evaluate.env),
        metric=toml(goal.metric),
        pattern=_literal(goal.pattern),
        pattern_why=_comments(goal.why),
        direction=toml(goal.direction),
        margin=margin if "." in margin else f"{margin}.0",
        margin_why=one_line(goal.margin_why),
        base=_lines(made.base),
        xla=_lines(made.xla),
        environment_why=_comments([*made.warnings, *_left_out(made)]),
        unusable=_comments(parts.unusable),
        chips=parts.chips,
        accelerator=toml(parts.accelerator),
        accelerator_why=_comments(parts.accelerator_why),
        data=[(name, toml(place), _comments(why)) for name, (place, why) in parts.data.items()],
        protected=[toml(item) for item in parts.protected],
    )


def _left_out(made: Environments) -> list[str]:
    return (
        [f"left out on the target, as only NVIDIA GPUs have it: {', '.join(made.dropped[:20])}"]
        if made.dropped
        else []
    )


def workload_name(root: Path) -> str:
    """A workload's name: that of its folder, as far as it can be one."""
    plain = re.sub(r"[^a-z0-9]+", "-", root.resolve().name.lower()).strip("-")
    plain = re.sub(r"^[^a-z]+", "", plain)[:40].rstrip("-")
    return plain or "project"


def toml(text: str) -> str:
    """A TOML string, with escapes where they are needed."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'


def _literal(text: str) -> str:
    """A TOML string without escapes where that is possible: patterns read better so."""
    return toml(text) if re.search(r"['\x00-\x1f\x7f]", text) else f"'{text}'"


def _table(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {toml(value)}" for name, value in values.items())


def _comments(lines: Iterable[str]) -> list[str]:
    return [one_line(line) for line in lines]


def _lines(lines: Iterable[Line]) -> list[tuple[str, str]]:
    return [(toml(line.text), one_line(line.why)) for line in lines]
