"""Operators applied: a commit for every arm, before anything is run, so that every mistake is known at once."""

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentmig.bench.arms import VERSION, Arm, ArmKind, arm_id, hashed, in_order, sources
from agentmig.bench.examples import Example
from agentmig.bench.manifests import CLEAN, Edit, ManifestError, Mutant, Operator
from agentmig.bench.scratch import Scratch
from agentmig.errors import AgentmigError
from agentmig.execution.plumbing import RepositoryError

_TRANSFORM_S = 120.0
_SHOWN = 800


class ChangeError(AgentmigError):
    """A change can't be made; the message is completed with manifest and mutant."""


@dataclass(frozen=True)
class Prepared:
    """All that can be known before anything is run.

    Attributes:
        scratch: the repositories by project.
        arms: in the order in which they are run.
    """

    scratch: dict[str, Scratch]
    arms: list[Arm]


def prepare(
    examples: Mapping[str, Example],
    operators: Sequence[Operator],
    folder: Path,
    clean: bool,
    short: bool = False,
) -> Prepared:
    """Make a commit of every correct migration and of every mutant.

    Args:
        examples: the projects; mutants of other projects are left out.
        operators: the operators.
        folder: for the scratch repositories, which are made anew.
        clean: whether the correct migrations themselves are arms.
        short: only the mutants that are marked so.

    Raises:
        ManifestError: a patch doesn't apply, an edit doesn't match, a transform fails, or a change changes nothing or
            is the same as another one; all are listed.
    """
    scratch = {name: Scratch(folder / name, example) for name, example in examples.items()}
    work = _Work(examples, scratch, sources())
    for name, example in examples.items():
        for target, patch in example.migrations.items():
            work.migrate(name, target, patch, clean)
    for operator in operators:
        places = [(mutant.workload, mutant.target) for mutant in operator.mutant]
        seen: Counter[tuple[str | None, str | None]] = Counter()
        for number, (mutant, place) in enumerate(zip(operator.mutant, places, strict=True), start=1):
            seen[place] += 1
            if mutant.inexpressible is None and mutant.workload in examples and (mutant.short or not short):
                work.mutate(operator, mutant, number, seen[place], places.count(place))
    if work.mistakes:
        raise ManifestError(work.mistakes)
    return Prepared(scratch, in_order(work.arms))


class _Work:
    def __init__(self, examples: Mapping[str, Example], scratch: Mapping[str, Scratch], code: str):
        self.arms: list[Arm] = []
        self.mistakes: list[str] = []
        self._examples = examples
        self._scratch = scratch
        self._code = code
        self._clean: dict[tuple[str, str], str] = {}
        self._trees: dict[tuple[str, str, str], str] = {}

    def migrate(self, workload: str, target: str, patch: Path, is_arm: bool) -> None:
        """Make the commit of a correct migration."""
        repository = self._scratch[workload]
        name = arm_id(CLEAN, workload, target, 1, 1)
        try:
            with repository.changed(repository.base) as files:
                repository.apply(patch, files)
                commit = repository.commit(files, repository.base, name, f"Migrate {workload} to {target}")
        except RepositoryError as error:
            self.mistakes.append(f"{patch}: the migration doesn't apply to {workload}: {error}")
            return
        self._clean[workload, target] = commit
        self._trees[workload, target, repository.tree(commit)] = "the correct migration itself"
        if is_arm:
            self._add(name, "clean", CLEAN, workload, target, commit, None)

    def mutate(self, operator: Operator, mutant: Mutant, number: int, nth: int, of: int) -> None:
        """Make the commit of a mutant."""
        assert mutant.workload is not None and mutant.target is not None
        workload, target = mutant.workload, mutant.target
        clean = self._clean.get((workload, target))
        if clean is None:
            return  # its migration doesn't apply, which is told already
        repository = self._scratch[workload]
        name = arm_id(operator.name, workload, target, nth, of)
        where = f"{operator.file}: mutant {number} ({workload}, {target})"
        try:
            with repository.changed(clean) as files:
                _change(repository, operator, mutant, files)
                commit = repository.commit(files, clean, name, f"{operator.title}: {name}")
        except (ChangeError, RepositoryError) as error:
            self.mistakes.append(f"{where}: {error}")
            return
        place = (workload, target, repository.tree(commit))
        if place in self._trees:
            self.mistakes.append(f"{where}: the result is the same as {self._trees[place]}")
            return
        self._trees[place] = f"{operator.name}, mutant {number}"
        kind: ArmKind = "rewrite" if operator.kind == "clean" else operator.kind
        self._add(name, kind, operator.name, workload, target, commit, operator)

    def _add(
        self,
        name: str,
        kind: ArmKind,
        operator: str,
        workload: str,
        target: str,
        commit: str,
        of: Operator | None,
    ) -> None:
        repository = self._scratch[workload]
        clean = self._clean[workload, target]
        trees = [repository.tree(each) for each in (repository.base, clean, commit)]
        oracle = of.oracle if of else None
        self.arms.append(
            Arm(
                id=name,
                kind=kind,
                operator=operator,
                workload=workload,
                target=target,
                base=repository.base,
                clean=clean,
                commit=commit,
                tree=trees[2],
                oracle=oracle,
                changes=tuple(repository.changes(clean, commit)),
                emulated=self._examples[workload].workload.targets[target].emulated,
                key=hashed([VERSION, trees, target, kind, oracle, self._code]),
            )
        )


def _change(repository: Scratch, operator: Operator, mutant: Mutant, files: Path) -> None:
    """Make a mutant's change to a checkout.

    Raises:
        ChangeError: it can't be made.
        RepositoryError: the patch doesn't apply.
    """
    for edit in mutant.edits:
        replace(files, edit)
    if mutant.patch:
        repository.apply(operator.file.parent / mutant.patch, files)
    if mutant.transform:
        _transform(operator.file.parent / mutant.transform, files)


def replace(files: Path, edit: Edit) -> None:
    """Replace a text in a checkout.

    Raises:
        ChangeError: no such file in the project, or the text occurs another number of times.
    """
    file = files / edit.file
    if not file.resolve().is_relative_to(files.resolve()) or not file.is_file():
        raise ChangeError(f"{edit.file}: the migrated project has no such file")
    text = file.read_bytes().decode("utf-8", errors="surrogateescape")
    found = text.count(edit.find)
    if found != edit.count:
        times = "once" if edit.count == 1 else f"{edit.count} times"
        raise ChangeError(
            f"{edit.file}: the text to find occurs {found} times, not {times}: {_quoted(edit.find)}"
        )
    file.write_bytes(text.replace(edit.find, edit.replace).encode("utf-8", errors="surrogateescape"))


def _quoted(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return repr(first if len(first) <= 80 else first[:79] + "…")


def _transform(script: Path, files: Path) -> None:
    argv = [sys.executable, "-I", "-B", str(script.resolve()), str(files)]
    try:
        done = subprocess.run(
            argv,
            cwd=files,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TRANSFORM_S,
        )
    except subprocess.TimeoutExpired as error:
        raise ChangeError(f"{script}: it did not end within {_TRANSFORM_S:.0f} s") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it printed nothing")[-_SHOWN:]
        raise ChangeError(f"{script}: it ended with exit code {done.returncode}: {said}")
