"""The drafted workload file: every choice with its evidence, and what a person still has to say."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentmig.drafting.asking import (
    about_environments,
    about_gpu,
    about_repository,
    about_watching,
    always_protected,
    protected,
)
from agentmig.drafting.environments import environments
from agentmig.drafting.evaluating import Evaluation, evaluation
from agentmig.drafting.findings import Finding, Place, Question, found, missing
from agentmig.drafting.goal import Aim, aim, unknown_aim
from agentmig.drafting.starting import Start
from agentmig.drafting.survey import Survey
from agentmig.drafting.text import Command, Parts, text_of
from agentmig.drafting.training import Training, training
from agentmig.spec import Workload, load_workload
from agentmig.spec.unfilled import MARK
from agentmig.spec.unfilled import unfilled as unfilled


@dataclass(frozen=True)
class Draft:
    """A drafted workload file.

    Attributes:
        text: TOML that loads.
        findings: what it rests on.
        questions: what a person has to say, what is missing first.
    """

    text: str
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]


def draft(survey: Survey, path: str = ".") -> Draft:
    """Draft a workload file for a project.

    Args:
        survey: the project.
        path: of the project as the file will say it, relative to the file.
    """
    program = survey.train
    if program is None:
        return _without_program(survey, path)
    trained = training(survey, program)
    evaluated = evaluation(survey, program, trained)
    goal = aim(program, evaluated)
    made = environments(survey.requirements, survey.certain, survey.root.resolve().name)
    parts = Parts(
        root=survey.root,
        path=path,
        head=_head(survey),
        train=Command(trained.command, trained.why, trained.env),
        checkpoint=trained.output.checkpoint,
        checkpoint_why=trained.output.why,
        evaluate=Command(evaluated.command, evaluated.why, evaluated.env),
        goal=goal,
        environments=made,
        unusable=_unusable(survey),
        chips=trained.start.chips,
        accelerator="cpu" if trained.start.needs_gpu == "no" else f"{MARK} a100",
        accelerator_why=(_accelerator(trained.start),),
        data={
            name: (place, trained.supplies.data_why.get(name, []))
            for name, place in trained.supplies.data.items()
        },
        protected=protected(survey, program, evaluated),
    )
    questions = [
        *trained.questions,
        *evaluated.questions,
        *goal.questions,
        *about_gpu(trained.start),
        *about_watching(survey.unwatched),
        *about_environments(made),
        *about_repository(survey),
    ]
    return Draft(text_of(parts), tuple(_findings(survey, trained, evaluated, goal)), _sorted(questions))


def validated(text: str) -> Workload:
    """The workload that a draft's text means.

    Raises:
        SpecError: it holds mistakes.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "workload.toml"
        file.write_text(text, encoding="utf-8")
        return load_workload(file)


def _without_program(survey: Survey, path: str) -> Draft:
    """The draft for a project in which no training program was found: all of it is left to a person."""
    text = (
        "Which program trains? None was found that computes gradients (backward, or a trainer's fit) and can be started; "
        "if it is a notebook, export it as a Python file first."
    )
    parts = Parts(
        root=survey.root,
        path=path,
        head=_head(survey),
        train=Command(f"python {MARK}-train.py --seed {{seed}} --out {{out}}", (f"TO FILL IN: {text}",), {}),
        checkpoint="{out}/model.pt",
        checkpoint_why=(),
        evaluate=Command(
            f"python {MARK}-evaluate.py --checkpoint {{checkpoint}}",
            ("TO FILL IN: the program that evaluates a checkpoint",),
            {},
        ),
        goal=unknown_aim(),
        environments=environments(survey.requirements, {}, survey.root.resolve().name),
        unusable=_unusable(survey),
        chips=1,
        accelerator="cpu",
        accelerator_why=(),
        data={},
        protected=always_protected(survey),
    )
    evaluates = "Which program evaluates a checkpoint, and which line of its output holds the goal?"
    questions = [
        missing("train.command", text),
        missing("evaluate.command", evaluates),
        *about_repository(survey),
    ]
    return Draft(text_of(parts), tuple(_declared(survey)), _sorted(questions))


def _head(survey: Survey) -> str:
    head = survey.repository.head if survey.repository else None
    return f"HEAD was {head[:12]} when this was drafted" if head else "TO FILL IN: nothing is committed yet"


def _unusable(survey: Survey) -> tuple[str, ...]:
    return tuple(
        f"{survey.requirements.file} also says: {text}" for text in survey.requirements.unusable[:10]
    )


def _accelerator(begin: Start) -> str:
    if begin.needs_gpu == "no" or begin.cuda is None:
        place = f" ({begin.cuda.place})" if begin.cuda else ""
        return (
            f"without a GPU the program trains on the CPU{place}; on a machine with one, name it here (a100)"
        )
    what = f"{begin.cuda.what} at {begin.cuda.place}"
    return f"TO FILL IN: the GPU of this machine; the untouched program needs one: {what}"


def _findings(survey: Survey, trained: Training, evaluated: Evaluation, goal: Aim) -> Iterator[Finding]:
    yield found("framework", *survey.framework)
    yield from trained.findings
    yield from evaluated.findings
    yield from goal.findings
    yield from _declared(survey)


def _declared(survey: Survey) -> Iterator[Finding]:
    listed = survey.requirements.lines
    if survey.requirements.file:
        yield found("requirements", f"{survey.requirements.file}: {len(listed)} lines", listed[0].place)
    for script in survey.scripts[:5]:
        yield found("console_script", f"{script.name} = {script.program}:{script.function}", script.place)
    if survey.repository and survey.repository.head:
        where = f" (folder {survey.repository.folder})" if survey.repository.folder else ""
        yield found("repository", f"HEAD {survey.repository.head[:12]}{where}")
    for path in survey.tree.notebooks[:5]:
        yield found("notebook", path, Place(path, 1))


def _sorted(questions: list[Question]) -> tuple[Question, ...]:
    return tuple(sorted(questions, key=lambda question: question.kind != "missing"))
