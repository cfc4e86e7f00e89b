"""What a draft asks about the machine, the environments and the repository; and what it protects."""

import re
from collections.abc import Iterable, Iterator

from agentmig.drafting.environments import Environments
from agentmig.drafting.evaluating import Evaluation
from agentmig.drafting.findings import Question, confirm, missing, one_line
from agentmig.drafting.hazards import Seen
from agentmig.drafting.module import Module
from agentmig.drafting.repository import Repository
from agentmig.drafting.starting import Start
from agentmig.drafting.survey import Program, Survey


def about_gpu(begin: Start) -> Iterator[Question]:
    """Where the untouched program needs a GPU, it is asked for."""
    if begin.needs_gpu == "no" or begin.cuda is None:
        return
    place = begin.cuda.place
    text = (
        f'On which GPU does the reference run (reference.accelerator, such as "a100")? {place} needs CUDA ({begin.cuda.what}), '
        "and the untouched program is what everything is compared with."
    )
    if begin.needs_gpu == "option" and begin.device is not None:
        text += (
            f' To measure it on the CPU instead: write "cpu" there, add {begin.device.given("cpu")} to train.command and '
            "evaluate.command, and give the target a command of its own in [targets.xla]."
        )
    yield missing("reference.accelerator", text, place)


def about_environments(made: Environments) -> Iterator[Question]:
    """What differs between what the project asks for and what it gets."""
    for warning in made.warnings:
        yield confirm("environments.base.requirements", f"{warning}.")


def about_watching(unwatched: Iterable[Seen]) -> Iterator[Question]:
    """What would leave a verification without a verdict."""
    for seen in unwatched:
        text = f"{seen.text[0].upper()}{seen.text[1:]}: a verification can't pass before that is changed ({seen.cause})."
        yield confirm("train.command", text, seen.place)


def about_repository(survey: Survey) -> Iterator[Question]:
    """What would not be part of what runs see."""
    repository = survey.repository
    if repository is None:
        text = "The project is not in a git repository, and agentmig migrates a commit: git init, add and commit it."
        yield missing("project.path", text)
    elif repository.head is None:
        yield missing("project.base_commit", "The repository has no commit yet: commit the project.")
    else:
        reached = {module.path for module in survey.modules}
        yield from (confirm("project.base_commit", text) for text in _differences(repository, reached))


def _differences(repository: Repository, reached: set[str]) -> Iterator[str]:
    if repository.changed:
        files = _listed(repository.changed)
        yield f"What is not committed is not migrated: {files} differ from HEAD. Commit that, or name the commit that is meant."
    if new := sorted(reached & set(repository.untracked)):
        yield f"Training imports what is not committed, so runs won't have it: {_listed(new)}."
    if repository.submodules:
        yield f"Submodules are not part of what runs see: put what training needs of {_listed(repository.submodules)} into the project."
    if repository.pointers:
        yield f"Runs see LFS pointers, not their content: give that of {_listed(repository.pointers)} as [data.NAME]."


def _listed(paths: Iterable[str]) -> str:
    names = [one_line(path) for path in paths]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def protected(survey: Survey, program: Program, evaluated: Evaluation) -> tuple[str, ...]:
    """What a migration may not change: the evaluation, modules that only define data, requirements."""
    kept = [evaluated.program.path] if evaluated.separate and evaluated.program else []
    kept += [module.path for module in program.reach.modules[1:30] if _only_data(module)]
    code = {name.split("/")[0] for name in survey.tree.names if name.endswith(".py") and "/" in name}
    kept += [
        folder
        for folder in ("data", "datasets", "dataset")
        if survey.tree.has_folder(folder) and folder not in code
    ]
    return tuple(dict.fromkeys([*kept, *always_protected(survey)]))


def _only_data(module: Module) -> bool:
    """Whether a module defines data sets and holds nothing that a migration has to change."""
    if not re.search(r"data|corpus|transform", module.path.rsplit("/", 1)[-1], re.IGNORECASE):
        return False
    return not re.search(r"cuda|DataLoader|Sampler|\.to\(|distributed|nn\.Module|device", module.text)


def always_protected(survey: Survey) -> tuple[str, ...]:
    """What every draft protects: the requirements and this file."""
    file = survey.requirements.file
    return (*([file] if file and not file.startswith("..") else []), "workload.toml")
