"""Which of the project's files are programs, which of them trains, and which evaluates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename, dirname

from agentmig.drafting.graph import Project, Reach
from agentmig.drafting.launches import Launch, Script
from agentmig.drafting.module import Module

_TRAINING_NAME = re.compile(
    r"^(?:train|main|run|fine_?tune|pre_?train|fit)(?:[_.-]|$)|[_-](?:train|finetune|pretrain)$"
)
_EVALUATION_NAME = re.compile(
    r"^(?:eval|evaluate|evaluation|test|val|validate|validation)(?:[_.-].*)?$|[_-](?:eval|evaluate|test|validate|lincls)$"
)
_OTHER_NAME = re.compile(
    r"infer|predict|sampl|generat|export|bench|demo|convert|plot|visual|hubconf|setup|conftest|prepare|download|preprocess"
    r"|submitit|sweep|tune_|average|average_checkpoints|clean_"
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|docs?|benchmarks?|tools?|scripts|deploy|export|notebooks?|third_party|vendor|legacy)(?:/|$)"
)
_BACKWARD = re.compile(r"\.backward\s*\(|\.manual_backward\s*\(|\.zero_grad\s*\(")
_IMPORTS_TESTS = re.compile(r"(?m)^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest)\b")
_DEFINES_TESTS = re.compile(r"(?m)^[ \t]*(?:def test_|class \w*Test)")
_MOST_INDIRECT = 12
_NEAR = 60
"""Modules that are looked at to find out whether a program trains or evaluates."""
_TRAINER = re.compile(r"Trainer\b|LightningCLI|\blightning\b")
_FIT = re.compile(r"\.fit\s*\(|\.train\s*\(\s*(?:resume_from_checkpoint|\))|LightningCLI\s*\(")


@dataclass(frozen=True)
class Candidate:
    """A program and how much speaks for it."""

    path: str
    score: float


def trains(module: Module) -> bool:
    """Whether a file itself computes gradients, or hands training to a trainer."""
    return _trains(module.text)


@lru_cache(maxsize=4096)
def _trains(text: str) -> bool:
    return bool(_BACKWARD.search(text)) or bool(_TRAINER.search(text) and _FIT.search(text))


def is_program(module: Module) -> bool:
    """Whether starting a file does something."""
    return module.has_main or module.acts_on_import


def training_programs(
    project: Project, launches: Sequence[Launch], scripts: Sequence[Script]
) -> list[Candidate]:
    """Programs that train, the likeliest first."""
    installed = {script.program for script in scripts}
    started = installed | {launch.program for launch in launches}
    found: list[Candidate] = []
    indirect: list[Candidate] = []
    for path, text in project.tree.python.items():
        own = _trains(text)
        stem = basename(path).removesuffix(".py").lower()
        if not own and (_OTHER_NAME.search(stem) or not (path in started or _TRAINING_NAME.search(stem))):
            continue
        if _is_test(text) or not (_may_be_a_program(text) or path in started):
            continue
        module = project.module(path)
        if is_program(module) or path in started:
            candidate = Candidate(path, _training_score(module, own, launches, path in installed))
            (found if own else indirect).append(candidate)
    # Whether a program trains through what it imports is dear to find out: only the likeliest ones are asked.
    indirect.sort(key=lambda candidate: (-candidate.score, candidate.path))
    found += [
        each
        for each in indirect[:_MOST_INDIRECT]
        if any(trains(part) for part in project.reach(each.path).modules)
    ]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.path))


def _is_test(text: str) -> bool:
    """Whether it is a file of unit tests."""
    return bool(_IMPORTS_TESTS.search(text) and _DEFINES_TESTS.search(text))


def _may_be_a_program(text: str) -> bool:
    return "__main__" in text or "parse_args" in text or bool(_BACKWARD.search(text)) or ".fit(" in text


def _training_score(module: Module, own: bool, launches: Sequence[Launch], installed: bool) -> float:
    path = module.path
    stem = basename(path).removesuffix(".py").lower()
    score = 20.0 if own else 8.0
    if stem in ("train", "main"):
        score += 22 if stem == "train" else 18
    elif _TRAINING_NAME.search(stem):
        score += 14
    if _EVALUATION_NAME.search(stem) or _OTHER_NAME.search(stem):
        score -= 30
    if stem.startswith(("legacy", "old", "deprecated")):
        score -= 10
    if _ASIDE.search(dirname(path)):
        score -= 15
    score -= 3 * path.count("/")
    mentions = [index for index, launch in enumerate(launches) if launch.program == path]
    if mentions:
        score += 10 + min(len(mentions), 4)
        score += 4 if mentions[0] == 0 else 0
    score += 6 if installed else 0
    score += 3 if "torch.optim" in module.text or "optim." in module.text else 0
    return score


def evaluation_program(project: Project, train: Reach) -> Reach | None:
    """The program that evaluates a checkpoint of the training program, if there is a separate one."""
    best: tuple[float, str] | None = None
    for path, text in project.tree.python.items():
        stem = basename(path).removesuffix(".py").lower()
        if path == train.program or not _EVALUATION_NAME.search(stem) or _ASIDE.search(dirname(path)):
            continue
        if ("torch" not in text and "lightning" not in text) or re.search(r"[_-]train|^train", stem):
            continue
        if _is_test(text) or _BACKWARD.search(text) or not is_program(project.module(path)):
            continue
        reach = project.reach(path, _NEAR)
        if not any(_LOADS.search(part.text) for part in reach.modules):
            continue
        near = dirname(path) == dirname(train.program)
        shared = len({part.path for part in reach.modules} & {part.path for part in train.modules})
        score = (
            (10 if near else 0)
            + min(shared, 5)
            - path.count("/")
            + (2 if stem.startswith(("eval", "test", "val")) else 0)
        )
        if (near or shared) and (best is None or (-score, path) < (-best[0], best[1])):
            best = (score, path)
    return project.reach(best[1]) if best else None


_LOADS = re.compile(
    r"torch\.load\(|load_state_dict|load_from_checkpoint|from_pretrained|ckpt_path|load_checkpoint|load_file"
)
