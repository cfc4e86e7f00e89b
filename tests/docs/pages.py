"""Pages of the documentation, read as what a reader does with them: commands to type, files to write.

Commands stand in ```` ```console ```` blocks, each after `$ `, its other lines after `> `; what else stands there is a
part of what the command prints, with `…` for what may differ. A block with `title="NAME"` is a file to write. Comments
in HTML before a block say more:

`<!-- exit: 3 -->`      the block's commands end with this code instead of 0; `0 or 2`: with one of these
`<!-- needs: TPU -->`   the block can't be run everywhere: its commands are only checked
`<!-- after: PAGE -->`  at the top of a page: it goes on where another page ended
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
NEEDS = ("TPU", "CUDA", "a key", "a container engine", "another machine", "a waiting run")

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$")
_COMMENT = re.compile(r"<!-- (exit|needs|after): (.+?) -->")
_TITLE = re.compile(r'title="([^"]+)"')


class PageError(Exception):
    """A page says something about its commands that can't be understood."""


@dataclass(frozen=True)
class Command:
    """A command to type.

    Attributes:
        text: the whole command; it may have several lines.
        line: where it stands in its page.
        exit_codes: what it may end with.
        needs: why it can't be run here; None if it can.
        output: lines that it prints, among others, with `…` for what may differ.
    """

    text: str
    line: int
    exit_codes: tuple[int, ...] = (0,)
    needs: str | None = None
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class File:
    """A file to write."""

    name: str
    content: str


@dataclass(frozen=True)
class Page:
    """A page with its steps in order.

    Attributes:
        path: its file.
        steps: commands and files.
        after: the page that it goes on from; None where it begins afresh.
        synopses: lines of blocks without a language that show how a command is called.
    """

    path: Path
    steps: tuple[Command | File, ...]
    after: str | None
    synopses: tuple[str, ...]

    @property
    def commands(self) -> list[Command]:
        """Its commands."""
        return [step for step in self.steps if isinstance(step, Command)]

    @property
    def runs(self) -> bool:
        """Whether a command of it is run."""
        return any(command.needs is None and command.text.split()[0] != "make" for command in self.commands)


def all_pages() -> list[Page]:
    """The site's pages, and the project's own beside it."""
    files = [*sorted(DOCS.rglob("*.md")), *sorted(REPOSITORY.glob("*.md"))]
    return [read_page(file.read_text(encoding="utf-8"), file) for file in files]


def read_page(text: str, path: Path = Path("page.md")) -> Page:
    """The steps of a page.

    Raises:
        PageError: a comment says what isn't known, or a block never ends.
    """
    steps: list[Command | File] = []
    synopses: list[str] = []
    said: dict[str, str] = {}
    after = None
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if found := _COMMENT.fullmatch(line.strip()):
            if found[1] == "after":
                after = found[2]
            else:
                said[found[1]] = found[2]
        elif fence := _FENCE.match(line):
            body = _body(lines, fence["indent"], fence["fence"], f"{path}:{number}")
            info = fence["info"].strip()
            if info.split()[:1] == ["console"]:
                steps += _commands(body, number + 1, said, f"{path}:{number}")
            elif title := _TITLE.search(info):
                steps.append(File(title[1], "\n".join(body) + "\n"))
            elif not info:
                synopses += [each for each in body if each.strip().startswith("agentmig ")]
            said = {}
        elif line.strip():
            said = {}
    return Page(path, tuple(steps), after, tuple(synopses))


def _body(lines: Iterator[tuple[int, str]], indent: str, fence: str, where: str) -> list[str]:
    body: list[str] = []
    for _, line in lines:
        if line.strip() == fence:
            return textwrap.dedent("\n".join(body)).splitlines() if indent else body
        body.append(line)
    raise PageError(f"{where}: the block never ends")


def _commands(body: list[str], first: int, said: dict[str, str], where: str) -> Iterator[Command]:
    needs, code = said.get("needs"), said.get("exit", "0")
    if needs is not None and needs not in NEEDS:
        raise PageError(f"{where}: needs {needs!r}; known: {', '.join(NEEDS)}")
    codes = code.split(" or ")
    if not all(each.isdigit() for each in codes):
        raise PageError(f"{where}: {code!r} is no exit code")
    found: list[tuple[int, list[str], list[str]]] = []
    for number, line in enumerate(body, start=first):
        if line.startswith("$ "):
            found.append((number, [line[2:]], []))
        elif not found and line.strip():
            raise PageError(f"{where}: a console block begins with a command after '$ '")
        elif line.startswith("> ") and found and not found[-1][2]:
            found[-1][1].append(line[2:])
        elif line.strip():
            found[-1][2].append(line.strip())
    if not found:
        raise PageError(f"{where}: a console block without a command")
    for number, command, output in found:
        yield Command("\n".join(command), number, tuple(map(int, codes)), needs, tuple(output))
