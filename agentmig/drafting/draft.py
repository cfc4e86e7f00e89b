"""The drafted workload file: every choice with its evidence, and what a person still has to say."""

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentmig.agent.prompts import render
from agentmig.drafting.evaluating import Evaluation, evaluation
from agentmig.drafting.findings import MARK, Finding, Place, Question, found, one_line
from agentmig.drafting.goal import aim
from agentmig.drafting.module import Module
from agentmig.drafting.requirements import Environments, Line, environments
from agentmig.drafting.survey import Program, Survey
from agentmig.drafting.training import Training, training
from agentmig.spec import Workload, load_workload


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
    questions = [*trained.questions, *evaluated.questions, *goal.questions, *_environment_questions(made)]
    questions += _gpu_questions(trained)
    text = _rendered(
        survey,
        path,
        train_command=trained.command,
        train_why=trained.why,
        train_env=trained.env,
        checkpoint=trained.output.checkpoint,
        checkpoint_why=trained.output.why,
        evaluate_command=evaluated.command,
        evaluate_why=evaluated.why,
        evaluate_env=evaluated.env,
        goal=goal,
        environments=made,
        chips=trained.start.chips,
        accelerator="cpu" if trained.start.needs_gpu == "no" else f"{MARK} a100",
        accelerator_why=_accelerator(trained),
        data=trained.supplies.data,
        data_why=trained.supplies.data_why,
        protected=_protected(survey, program, evaluated),
    )
    framework, place = survey.framework
    findings = [
        found("framework", framework, place),
        *trained.findings,
        *evaluated.findings,
        *goal.findings,
        *_declared(survey),
    ]
    return Draft(text, tuple(findings), tuple(_sorted([*questions, *_repository_questions(survey)])))


def validated(text: str) -> Workload:
    """The workload that a draft's text means.

    Raises:
        SpecError: it holds mistakes.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "workload.toml"
        file.write_text(text, encoding="utf-8")
        return load_workload(file)


def unfilled(workload: Workload) -> list[str]:
    """Dotted keys of a workload whose values still hold `FILL-IN`, in the order of the schema."""
    return list(_marked("", workload.model_dump(mode="json")))


def _marked(key: str, value: object) -> Iterable[str]:
    if isinstance(value, str) and MARK in value:
        yield key
    elif isinstance(value, dict):
        for name, item in value.items():
            if MARK in str(name):
                yield f"{key}.{name}".lstrip(".")
            yield from _marked(f"{key}.{name}".lstrip("."), item)
    elif isinstance(value, list):
        for item in value:
            yield from list(_marked(key, item))[:1]


def _without_program(survey: Survey, path: str) -> Draft:
    """The draft for a project in which no training program was found: all of it is left to a person."""
    text = (
        "Which program trains? None was found that computes gradients (backward, or a trainer's fit) and can be started; "
        "if it is a notebook, export it as a Python file first."
    )
    question = Question(key="train.command", kind="missing", text=text)
    made = environments(survey.requirements, {}, survey.root.resolve().name)
    from agentmig.drafting.goal import Aim

    goal = Aim(
        "accuracy",
        f"{MARK} accuracy: ([0-9.]+)",
        "maximize",
        0.01,
        ("TO FILL IN: a regular expression with one group, the number",),
        "a guess",
        (),
        (),
    )
    drafted = _rendered(
        survey,
        path,
        train_command=f"python {MARK}-train.py --seed {{seed}} --out {{out}}",
        train_why=[f"TO FILL IN: {text}"],
        train_env={},
        checkpoint="{out}/model.pt",
        checkpoint_why=[],
        evaluate_command=f"python {MARK}-evaluate.py --checkpoint {{checkpoint}}",
        evaluate_why=["TO FILL IN: the program that evaluates a checkpoint"],
        evaluate_env={},
        goal=goal,
        environments=made,
        chips=1,
        accelerator="cpu",
        accelerator_why=[],
        data={},
        data_why={},
        protected=_files_to_protect(survey),
    )
    return Draft(
        drafted, tuple(_declared(survey)), tuple(_sorted([question, *_repository_questions(survey)]))
    )


def _rendered(survey: Survey, path: str, **values: Any) -> str:
    made: Environments = values.pop("environments")
    head = survey.repository.head if survey.repository else None
    return render(
        "workload.toml.j2",
        name=toml(_workload_name(survey.root)),
        path=toml(path),
        head=f"HEAD was {head[:12]} when this was drafted"
        if head
        else "TO FILL IN: nothing is committed yet",
        train_command=toml(values["train_command"]),
        train_why=_comments(values["train_why"]),
        train_env=_table(values["train_env"]),
        checkpoint=toml(values["checkpoint"]),
        checkpoint_why=_comments(values["checkpoint_why"]),
        evaluate_command=toml(values["evaluate_command"]),
        evaluate_why=_comments(values["evaluate_why"]),
        evaluate_env=_table(values["evaluate_env"]),
        metric=toml(values["goal"].metric),
        pattern=_literal(values["goal"].pattern),
        pattern_why=_comments(values["goal"].why),
        direction=toml(values["goal"].direction),
        margin=f"{values['goal'].margin:g}"
        if "." in f"{values['goal'].margin:g}"
        else f"{values['goal'].margin:.1f}",
        margin_why=_comments([values["goal"].margin_why])[0],
        base=_lines(made.base),
        xla=_lines(made.xla),
        environment_why=_comments([*made.warnings, *_left_out(made)]),
        unusable=_comments(
            [f"{survey.requirements.file} also says: {text}" for text in survey.requirements.unusable[:10]]
        ),
        chips=values["chips"],
        accelerator=toml(values["accelerator"]),
        accelerator_why=_comments(values["accelerator_why"]),
        data=[
            (name, toml(place), _comments(values["data_why"].get(name, [])))
            for name, place in values["data"].items()
        ],
        protected=[toml(item) for item in values["protected"]],
    )


def _left_out(made: Environments) -> list[str]:
    return (
        [f"left out on the target, as only NVIDIA GPUs have it: {', '.join(made.dropped[:20])}"]
        if made.dropped
        else []
    )


def _workload_name(root: Path) -> str:
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


def _table(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {toml(value)}" for name, value in values.items())


def _comments(lines: Iterable[str]) -> list[str]:
    return [one_line(line) for line in lines]


def _lines(lines: Iterable[Line]) -> list[tuple[str, str]]:
    return [(toml(line.text), one_line(line.why)) for line in lines]


def _accelerator(trained: Training) -> list[str]:
    begin = trained.start
    if begin.needs_gpu == "no":
        place = f" ({begin.cuda.place})" if begin.cuda else ""
        return [
            f"without a GPU the program trains on the CPU{place}; on a machine with one, name it here (a100)"
        ]
    assert begin.cuda is not None
    return [
        f"TO FILL IN: the GPU of this machine; the untouched program needs one: {begin.cuda.what} at {begin.cuda.place}"
    ]


def _gpu_questions(trained: Training) -> list[Question]:
    begin = trained.start
    if begin.needs_gpu == "no" or begin.cuda is None:
        return []
    text = f'On which GPU does the reference run (reference.accelerator, such as "a100")? {begin.cuda.place} needs CUDA ({begin.cuda.what}), and the untouched program is what everything is compared with.'
    if begin.needs_gpu == "option" and begin.device is not None:
        text += f' To measure it on the CPU instead: write "cpu" there, add {begin.device.given("cpu")} to train.command and evaluate.command, and give the target a command of its own in [targets.xla].'
    return [
        Question(
            key="reference.accelerator",
            kind="missing",
            text=text,
            file=begin.cuda.place.file,
            line=begin.cuda.place.line,
        )
    ]


def _environment_questions(made: Environments) -> list[Question]:
    return [
        Question(key="environments.base.requirements", kind="confirm", text=f"{warning}.")
        for warning in made.warnings
    ]


def _repository_questions(survey: Survey) -> list[Question]:
    repository = survey.repository
    if repository is None:
        text = "The project is not in a git repository, and agentmig migrates a commit: git init, add and commit it."
        return [Question(key="project.path", kind="missing", text=text)]
    if repository.head is None:
        return [
            Question(
                key="project.base_commit",
                kind="missing",
                text="The repository has no commit yet: commit the project.",
            )
        ]
    questions = []
    if repository.changed:
        shown = ", ".join(one_line(path) for path in repository.changed[:5])
        questions.append(
            f"Files that differ from HEAD: {len(repository.changed)} ({shown}). What is not committed is not migrated. Commit it, or name the commit that is meant."
        )
    reached = {module.path for module in survey.modules} & set(repository.untracked)
    if reached:
        questions.append(
            f"Training imports files that are not committed ({', '.join(sorted(map(one_line, reached))[:5])}), so runs won't have them: commit them."
        )
    if repository.submodules:
        questions.append(
            f"Submodules ({', '.join(map(one_line, repository.submodules[:5]))}) are not part of what runs see: vendor what training needs."
        )
    if repository.pointers:
        questions.append(
            f"LFS pointers: {len(repository.pointers)} ({', '.join(map(one_line, repository.pointers[:3]))}). Runs see the pointers themselves: give their content as [data.NAME]."
        )
    return [Question(key="project.base_commit", kind="confirm", text=text) for text in questions]


def _declared(survey: Survey) -> list[Finding]:
    result = []
    if survey.requirements.file:
        listed = survey.requirements.lines
        result.append(
            found("requirements", f"{survey.requirements.file}: {len(listed)} lines", listed[0].place)
        )
    for script in survey.scripts[:5]:
        result.append(
            found("console_script", f"{script.name} = {script.program}:{script.function}", script.place)
        )
    if survey.repository and survey.repository.head:
        where = f" (folder {survey.repository.folder})" if survey.repository.folder else ""
        result.append(found("repository", f"HEAD {survey.repository.head[:12]}{where}"))
    result += [found("notebook", path, Place(path, 1)) for path in survey.tree.notebooks[:5]]
    return result


def _protected(survey: Survey, program: Program, evaluated: Evaluation) -> list[str]:
    """What a migration may not change: the evaluation, modules that only define data, requirements."""
    kept = []
    if evaluated.separate and evaluated.program:
        kept.append(evaluated.program.path)
    kept += [module.path for module in program.reach.modules[1:30] if _only_data(module)]
    for folder in ("data", "datasets", "dataset"):
        if survey.tree.has_folder(folder) and not any(
            name.startswith(folder + "/") and name.endswith(".py") for name in survey.tree.names
        ):
            kept.append(folder)
    return list(dict.fromkeys([*kept, *_files_to_protect(survey)]))


def _only_data(module: Module) -> bool:
    """Whether a module defines data sets and holds nothing that a migration has to change."""
    if not re.search(r"data|corpus|transform", module.path.rsplit("/", 1)[-1], re.IGNORECASE):
        return False
    return not re.search(r"cuda|DataLoader|Sampler|\.to\(|distributed|nn\.Module|device", module.text)


def _files_to_protect(survey: Survey) -> list[str]:
    file = survey.requirements.file
    return [*([file] if file and not file.startswith("..") else []), "workload.toml"]


def _sorted(questions: list[Question]) -> list[Question]:
    return sorted(questions, key=lambda question: question.kind != "missing")
