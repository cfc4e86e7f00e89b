"""Everything that static analysis tells about a project, gathered once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agentmig.drafting.checkpoints import Loaded, Saved, loads, saves
from agentmig.drafting.cuda import CudaUse, cuda_uses
from agentmig.drafting.data import Source, find_data
from agentmig.drafting.findings import Hazard, Place
from agentmig.drafting.graph import Project, Reach
from agentmig.drafting.hazards import Seen, find_hazards, unwatched
from agentmig.drafting.launches import Launch, Script, console_scripts, documented_launches
from agentmig.drafting.lengths import Length, find_lengths
from agentmig.drafting.metrics import Metric, metrics
from agentmig.drafting.module import Module
from agentmig.drafting.options import Option, options_of
from agentmig.drafting.programs import Candidate, evaluation_program, training_programs
from agentmig.drafting.repository import Repository, read_repository
from agentmig.drafting.requirements import Requirements, find_requirements
from agentmig.drafting.seeds import Seeds, find_seeds
from agentmig.drafting.symbolic import Symbols
from agentmig.drafting.tree import Bounds, Tree, read_tree

_FRAMEWORKS = [
    ("Lightning", ("lightning", "pytorch_lightning")),
    ("transformers Trainer", ("transformers",)),
    ("DeepSpeed", ("deepspeed",)),
    ("accelerate", ("accelerate",)),
    ("fastai", ("fastai",)),
    ("ignite", ("ignite",)),
    ("MMEngine", ("mmengine", "mmcv")),
    ("detectron2", ("detectron2",)),
]
_EVALUATES = re.compile(r"^--?(?:eval|evaluate|test|validate|eval[-_]only|test[-_]only|do_eval)\b")


@dataclass(frozen=True)
class Program:
    """A program and what is known of it.

    Attributes:
        reach: its modules.
        options: of its command line.
        symbols: evaluates its expressions.
    """

    reach: Reach
    options: tuple[Option, ...]
    symbols: Symbols

    @property
    def path(self) -> str:
        """The file that is started."""
        return self.reach.program

    @property
    def main(self) -> Module:
        """Its own module."""
        return self.reach.main

    @cached_property
    def saves(self) -> list[Saved]:
        """Where it saves a model, the likeliest line first."""
        return saves(self.reach, self.symbols)

    @cached_property
    def loads(self) -> list[Loaded]:
        """Where it loads a checkpoint."""
        return loads(self.reach, self.symbols)

    @cached_property
    def metrics(self) -> list[Metric]:
        """What it prints, the likeliest goal first."""
        return metrics(self.reach.modules, self.path)

    @cached_property
    def sources(self) -> list[Source]:
        """Its data."""
        return find_data(self.reach, self.options, self.symbols)

    @cached_property
    def cuda(self) -> list[CudaUse]:
        """Where it needs CUDA."""
        return cuda_uses(self.reach.modules)

    def option(self, pattern: re.Pattern[str]) -> Option | None:
        """The first option whose name fits."""
        return next((option for option in self.options if pattern.search(option.name)), None)


class Survey:
    """A project as static analysis sees it.

    Args:
        root: its folder.
        train: the training program, where a person names it.
        bounds: how much is read.
    """

    def __init__(self, root: Path, train: str | None = None, bounds: Bounds | None = None):
        self.root = root
        self.tree: Tree = read_tree(root, bounds)
        self.project = Project(self.tree)
        self.repository: Repository | None = read_repository(root)
        self._named = train

    @cached_property
    def launches(self) -> list[Launch]:
        """Commands in documents and scripts."""
        return documented_launches(self.tree)

    @cached_property
    def scripts(self) -> list[Script]:
        """Programs that packaging installs."""
        return console_scripts(self.project)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Programs that train, the likeliest first."""
        training = [
            launch
            for launch in self.launches
            if not any(_EVALUATES.search(word) for word in launch.arguments)
        ]
        return training_programs(self.project, training, self.scripts)

    @cached_property
    def train(self) -> Program | None:
        """The training program."""
        path = self._named or (self.candidates[0].path if self.candidates else None)
        return self._program(path) if path else None

    @cached_property
    def evaluate(self) -> Program | None:
        """A separate program that evaluates a checkpoint."""
        reach = evaluation_program(self.project, self.train.reach) if self.train else None
        return self._program(reach.program) if reach else None

    def _program(self, path: str) -> Program:
        reach = self.project.reach(path)
        options = options_of(self.project, reach)
        return Program(reach, tuple(options), Symbols(reach, options))

    def launches_of(self, program: Program, evaluating: bool = False) -> list[Launch]:
        """Documented commands that start a program, for training or for evaluation."""
        return [
            launch
            for launch in self.launches
            if launch.program == program.path
            and any(_EVALUATES.search(word) for word in launch.arguments) is evaluating
        ]

    @cached_property
    def seeds(self) -> Seeds:
        """How a seed reaches the training program."""
        assert self.train is not None
        return find_seeds(self.train.reach, self.train.options, self.train.symbols)

    @cached_property
    def lengths(self) -> list[Length]:
        """How long it trains."""
        return find_lengths(self.train.reach, self.train.options, self.train.symbols) if self.train else []

    @cached_property
    def modules(self) -> list[Module]:
        """The modules that training and evaluation reach."""
        found: dict[str, Module] = {}
        for program in (self.train, self.evaluate):
            for module in program.reach.modules if program else ():
                found.setdefault(module.path, module)
        return list(found.values())

    @cached_property
    def packages(self) -> dict[str, Place]:
        """Packages of others that training and evaluation import."""
        found: dict[str, Place] = {}
        for program in (self.train, self.evaluate):
            for name, place in (program.reach.packages if program else {}).items():
                found.setdefault(name, place)
        return found

    @cached_property
    def certain(self) -> dict[str, Place]:
        """Those of them that are imported in every run."""
        found: dict[str, Place] = {}
        for program in (self.train, self.evaluate):
            for name, place in (program.reach.certain if program else {}).items():
                found.setdefault(name, place)
        return found

    @cached_property
    def hazards(self) -> list[Hazard]:
        """What is known to go wrong."""
        return find_hazards(
            self.modules, cuda_uses(self.modules), self.packages, self.tree.cuda_sources, self.unwatched
        )

    @cached_property
    def unwatched(self) -> list[Seen]:
        """What keeps a verification from comparing steps."""
        if self.train is None:
            return []
        return list(
            unwatched(self.train.reach.modules, self.framework[0] not in ("torch", "accelerate", "DeepSpeed"))
        )

    @cached_property
    def requirements(self) -> Requirements:
        """What the project declares, in its folder or else at the root of its repository."""
        setup = self.project.module("setup.py") if "setup.py" in self.tree.python else None
        found = find_requirements(self.tree.texts, setup)
        if found.lines or self.repository is None or not self.repository.folder:
            return found
        up = "/".join([".."] * (self.repository.folder.count("/") + 1))
        texts = {
            name: text
            for name in ("requirements.txt", "pyproject.toml", "environment.yml")
            if (text := _text(self.repository.root / name))
        }
        above = find_requirements(texts, None)
        if not above.file:
            return above
        lines = tuple(
            type(line)(line.text, Place(f"{up}/{line.place.file}", line.place.line)) for line in above.lines
        )
        return Requirements(f"{up}/{above.file}", lines, above.unusable)

    @cached_property
    def framework(self) -> tuple[str, Place | None]:
        """What drives the training loop."""
        text = "\n".join(module.text for module in self.train.reach.modules[:40]) if self.train else ""
        for name, packages in _FRAMEWORKS:
            place = next(
                (
                    self.train.reach.packages[p]
                    for p in packages
                    if self.train and p in self.train.reach.packages
                ),
                None,
            )
            if place and (name != "transformers Trainer" or re.search(r"\b\w*Trainer\s*\(", text)):
                return name, place
        return "torch", None

    @cached_property
    def unreadable(self) -> list[str]:
        """Files that aren't valid Python 3, among those that were looked at."""
        return [f"{module.path}: {module.error}" for module in self.project.parsed if module.error]

    def uses_torch(self) -> Place | None:
        """Where the project first imports torch, or a library on top of it."""
        for path, text in self.tree.python.items():
            match = re.search(
                r"(?m)^[ \t]*(?:from\s+|import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*)(?:torch|lightning|pytorch_lightning|transformers|accelerate|fastai)\b",
                text,
            )
            if match:
                return Place(path, text.count("\n", 0, match.start()) + 1)
        return None


def _text(path: Path) -> str | None:
    try:
        return (
            path.read_text(encoding="utf-8", errors="replace")
            if path.is_file() and path.stat().st_size < 1_000_000
            else None
        )
    except OSError:
        return None


def first(places: Sequence[Place]) -> Place | None:
    """The first of some places."""
    return places[0] if places else None
