"""The goal of a draft: the metric that the evaluation prints, how it is found there, and by how much it may be worse."""

from dataclasses import dataclass

from agentmig.drafting.evaluating import Evaluation
from agentmig.drafting.findings import Finding, Place, Question, confirm, found, missing
from agentmig.drafting.metrics import Direction, Metric, Unit
from agentmig.drafting.survey import Program
from agentmig.spec.unfilled import MARK

_MARGINS: dict[Unit, tuple[float, str]] = {
    "percent": (1.0, "one point, if the metric is in percent"),
    "fraction": (0.01, "one point, if the metric is a fraction"),
    "count": (1.0, "one sample"),
    "number": (0.05, "a guess"),
}


@dataclass(frozen=True)
class Aim:
    """The `[goal]` table.

    Attributes:
        why: comments for the pattern.
        margin_why: comment for the margin.
    """

    metric: str
    pattern: str
    direction: Direction
    margin: float
    why: tuple[str, ...]
    margin_why: str
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]


def unknown_aim() -> Aim:
    """The goal of a project of which nothing is known."""
    why = (
        "TO FILL IN: a regular expression with one group, the number, for the line that the evaluation prints",
    )
    margin, margin_why = _MARGINS["fraction"]
    return Aim("accuracy", f"{MARK} accuracy: ([0-9.]+)", "maximize", margin, why, margin_why, (), ())


def aim(program: Program, evaluation: Evaluation) -> Aim:
    """The goal of a draft."""
    speaker = evaluation.program
    listed = [metric for metric in (speaker or program).metrics if metric.score > -3]
    findings = tuple(
        found("metric", f"{metric.name} ({metric.direction})", metric.place) for metric in listed[:6]
    )
    chosen = listed[0] if listed else None
    questions: list[Question] = []
    if speaker is None or chosen is None:
        name, direction = (chosen.name, chosen.direction) if chosen else ("accuracy", "maximize")
        label = name if chosen else "accuracy"
        pattern = f"{MARK} {_plain(label)}: ([0-9.]+)"
        if speaker is not None:
            questions.append(_unknown(speaker))
        why = [
            "TO FILL IN: a regular expression with one group, the number, for the line that the evaluation prints"
        ]
    else:
        name, direction, pattern = chosen.name, chosen.direction, chosen.pattern
        why = [f"found in what {chosen.place} prints"]
        if chosen.guessed:
            why = [
                f"a guess: {chosen.place} hands {chosen.label!r} to code that prints it in a form of its own"
            ]
            text = f"Does goal.pattern fit the line that the evaluation prints? {chosen.place} hands {chosen.label!r} to code that prints it in a form of its own."
            questions.append(confirm("goal.pattern", text, chosen.place))
        others = [metric for metric in listed[1:4] if metric.name != name]
        if others:
            why.append("also printed: " + ", ".join(f"{metric.name} ({metric.place})" for metric in others))
    margin, margin_why = _margin(chosen, name)
    text = f"By how much may {name} be worse, in its own unit? The draft says {margin:g}: {margin_why}. Declare it before the first run."
    questions.append(confirm("goal.margin", text, chosen.place if chosen else None))
    return Aim(name, pattern, direction, margin, tuple(why), margin_why, findings, tuple(questions))


def _margin(metric: Metric | None, name: str) -> tuple[float, str]:
    if metric is None:
        return _MARGINS["fraction"]
    if metric.unit == "number" and "perplexity" in name:
        return 1.0, "a guess"
    return _MARGINS[metric.unit]


def _plain(label: str) -> str:
    """A label that means itself in a regular expression."""
    return "".join(char if char.isalnum() or char in " _@/%-" else "." for char in label)


def _unknown(program: Program) -> Question:
    text = f"Which line of {program.path}'s output holds the goal? None was found that prints a metric: give goal.metric, goal.pattern (one group, the number) and goal.direction."
    return missing("goal.pattern", text, Place(program.path, 1))
