"""What a program is made of: the project's own modules that it imports, and the packages of others."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import dirname, join, normpath
from sys import stdlib_module_names

from agentmig.drafting.findings import Place
from agentmig.drafting.module import Import, Module
from agentmig.drafting.tree import Tree

_MOST_MODULES = 300
_TARGET = re.compile(r"(?m)^[ \t]*_target_[ \t]*:[ \t]*([\w.]+)")


@dataclass
class Reach:
    """The modules that a program reaches through imports.

    Attributes:
        program: the file that is started.
        modules: the program's module first, then what it imports, the near ones before the far ones.
        packages: top-level names of packages of others, with the first line that imports each.
        certain: those of them that are imported whenever the program runs.
        roots: folders beside the program's own that imports are found from (`""` is the project's root).
    """

    program: str
    modules: list[Module] = field(default_factory=list)
    packages: dict[str, Place] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    certain: dict[str, Place] = field(default_factory=dict)

    @cached_property
    def main(self) -> Module:
        """The program's own module."""
        return self.modules[0]

    def uses(self, *packages: str) -> Place | None:
        """Where the first of these packages is imported."""
        return next((self.packages[name] for name in packages if name in self.packages), None)


class Project:
    """The parsed modules of a tree, parsed when they are asked for."""

    def __init__(self, tree: Tree):
        self.tree = tree
        self._modules: dict[str, Module] = {}
        self._reaches: dict[tuple[str, int], Reach] = {}

    def module(self, path: str) -> Module:
        """A module of the project by its path."""
        if path not in self._modules:
            self._modules[path] = Module(path, self.tree.python[path])
        return self._modules[path]

    @property
    def parsed(self) -> list[Module]:
        """The modules that were parsed so far."""
        return list(self._modules.values())

    def reach(self, program: str, most: int = _MOST_MODULES) -> Reach:
        """Everything that a program imports, at any depth; of a large program, the `most` nearest modules."""
        key = (program, most)
        if key not in self._reaches:
            self._reaches[key] = self._walk(program, most)
        return self._reaches[key]

    def _walk(self, program: str, most: int) -> Reach:
        reach = Reach(program)
        # What is surely imported first, so that a module that is reached both ways counts as such.
        waiting, later = deque([(program, True)]), deque[tuple[str, bool]]()
        known: set[str] = set()
        while (waiting or later) and len(reach.modules) < most:
            path, sure = waiting.popleft() if waiting else later.popleft()
            if path in known:
                continue
            known.add(path)
            module = self.module(path)
            reach.modules.append(module)
            if path == program and "hydra" in module.text:
                later += [(target, False) for target in self._instantiated()]
            for line in module.imports:
                targets = list(self._targets(module.path, line, program))
                certain = sure and line.certain
                for target, root in targets:
                    if root is not None and root not in reach.roots and certain:
                        reach.roots.append(root)
                    (waiting if certain else later).append((target, certain))
                head = (
                    "tensorboard" if line.module == "torch.utils.tensorboard" else line.module.split(".")[0]
                )
                if not targets and head and head not in stdlib_module_names and not self._is_ours(head):
                    reach.packages.setdefault(head, Place(module.path, line.line))
                    if certain:
                        reach.certain.setdefault(head, Place(module.path, line.line))
        return reach

    def _instantiated(self) -> list[str]:
        """Modules whose classes configuration files name, for Hydra to make: `_target_: project.models.Net`."""
        names = {m.group(1) for text in self.tree.texts.values() for m in _TARGET.finditer(text)}
        paths = ("/".join(name.split(".")[:-1]) + ".py" for name in sorted(names))
        return [path for path in paths if path in self.tree.python]

    def _is_ours(self, head: str) -> bool:
        return f"{head}.py" in self.tree.python or self.tree.has_folder(head)

    def _targets(self, importer: str, line: Import, program: str) -> Iterator[tuple[str, str | None]]:
        """Files that an import means, each with the root that it is found from (None: no search is needed)."""
        if line.module.startswith("."):
            dots = len(line.module) - len(line.module.lstrip("."))
            folder = dirname(importer)
            for _ in range(dots - 1):
                folder = dirname(folder)
            for path in self._files(folder, line.module.lstrip("."), line.names):
                yield path, None
            return
        beside = dirname(program)
        for root in dict.fromkeys([beside, "", "src"]):
            paths = list(self._files(root, line.module, line.names))
            if paths:
                for path in paths:
                    yield path, None if root == beside else root
                return

    def _files(self, root: str, module: str, names: tuple[str, ...]) -> Iterator[str]:
        base = normpath(join(root, *module.split("."))) if module else (root or ".")
        base = "" if base == "." else base
        inside = [normpath(join(base, name)) for name in names if name.isidentifier()]
        submodules = [path + ".py" for path in inside if path + ".py" in self.tree.python]
        for path in (f"{base}.py", normpath(join(base, "__init__.py"))):
            if base and path in self.tree.python:
                yield path
        yield from submodules
