"""Where a project's plain trainings are made and kept, each once: of the untouched code, the migration, the mutants."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from agentmig.bench import plain
from agentmig.bench.arms import Arm, hashed
from agentmig.bench.examples import Example
from agentmig.bench.plain import Plain
from agentmig.bench.scratch import Scratch
from agentmig.execution.isolation import Isolation
from agentmig.execution.launch import PROBE
from agentmig.execution.repository import Repository
from agentmig.execution.runner import LocalRunner
from agentmig.spec import Workload
from agentmig.supervisor.setup import build_environments
from agentmig.verification.reference_key import hash_of_folder, read_document, write_document

_CODE = ("plain.py", "tensors.py")


class Yard:
    """The plain trainings of one project.

    Args:
        folder: for everything; finished trainings stay in `kept/`, where later campaigns find them.
        example: the project.
        workload: its workload, with the scratch repository as its project.
        scratch: its commits.
        isolation: for all that is run.
        on_note: gets a line for people.
    """

    def __init__(
        self,
        folder: Path,
        example: Example,
        workload: Workload,
        scratch: Scratch,
        isolation: Isolation,
        on_note: Callable[[str], None],
    ):
        self._kept = folder / "kept"
        self._place = folder / example.name
        self._workload = workload
        self._scratch = scratch
        self._isolation = isolation
        self._note = on_note
        self._opened: LocalRunner | None = None
        self._lock = asyncio.Lock()
        self._opening = asyncio.Lock()
        code = [Path(plain.__file__).with_name(name).read_text(encoding="utf-8") for name in _CODE]
        self._code = hashed([hash_of_folder(PROBE), *code])

    async def untouched(self) -> Plain:
        """The training of the untouched code on the reference's hardware."""
        async with self._lock:
            return await self._made("untouched", self._scratch.base, None, None)

    async def clean(self, target: str, commit: str) -> tuple[Plain, Plain]:
        """The training of a correct migration, and the same again."""
        async with self._lock:
            first = await self._made(f"clean-{target}", commit, target, None)
            key = self._key(commit, target, None)
            return first, await self._made(f"clean-{target}-again", commit, target, key)

    async def of(self, arm: Arm) -> Plain:
        """The training of an arm; `clean` was made before."""
        if arm.commit == arm.clean:
            return (await self.clean(arm.target, arm.clean))[0]
        return await self._made(arm.id, arm.commit, arm.target, self._key(arm.clean, arm.target, None))

    def close(self) -> None:
        """Remove what isn't kept."""
        shutil.rmtree(self._place, ignore_errors=True)

    def _key(self, commit: str, target: str | None, compared_with: str | None) -> str:
        trees = [self._scratch.tree(self._scratch.base), self._scratch.tree(commit)]
        return hashed([*trees, target, compared_with, plain.SEED, self._code])

    async def _made(self, label: str, commit: str, target: str | None, compared_with: str | None) -> Plain:
        """A training, from what is kept or made now; compared with a kept one's checkpoint, by its key."""
        place = self._kept / self._key(commit, target, compared_with)
        found = read_document(Plain, place / "plain.json")
        if found is not None:
            return found
        self._note(f"training without comparison: {label}")
        runner = await self._runner()
        here = runner.repository.import_candidate(
            str(self._scratch.folder), commit, self._scratch.folder, self._place
        )
        made, result = await plain.train(runner, label, here, target)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(result.log, place / "log.txt")
        if made.checkpoint and compared_with is None:
            shutil.copy(result.checkpoint, place / "checkpoint")
        clean = self._kept / compared_with / "checkpoint" if compared_with else None
        if made.checkpoint and clean is not None and clean.exists():
            apart = await plain.distance(runner, self._place / f"{label}-compared", clean, result.checkpoint)
            made = made.model_copy(update={"distance": apart})
        write_document(place / "plain.json", made)
        shutil.rmtree(result.out, ignore_errors=True)
        return made

    async def _runner(self) -> LocalRunner:
        async with self._opening:
            if self._opened is None:
                self.close()
                source = self._scratch
                repository = Repository.create(str(source.folder), source.base, source.folder, self._place)
                built = await build_environments(
                    self._workload, repository, self._place, lambda _: None, self._note, lambda _: None
                )
                place = self._place / "trainings"
                self._opened = LocalRunner(self._workload, repository, built, self._isolation, place)
            return self._opened
