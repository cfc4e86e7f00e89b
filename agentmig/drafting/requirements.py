"""What the project needs installed: requirement files, packaging, conda files, or else its imports."""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from agentmig.drafting.findings import Place
from agentmig.drafting.module import Module, constant, keyword

_CONDA = {"pytorch": "torch", "opencv": "opencv-python-headless", "tensorboardx": "tensorboardX"}
_NOT_PIP = re.compile(
    r"^(?:python|pip|cudatoolkit|cudnn|pytorch-cuda|cuda|nvidia/|_|lib|mkl|setuptools|wheel|nccl)",
    re.IGNORECASE,
)
_NAME = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?")


@dataclass(frozen=True)
class Requirement:
    """One line that pip understands, and where it stands."""

    text: str
    place: Place

    @property
    def name(self) -> str:
        """The distribution's name, normalised."""
        match = _NAME.match(self.text)
        return normal(match.group(1)) if match else ""


@dataclass(frozen=True)
class Requirements:
    """What was declared.

    Attributes:
        file: that declares it; None where nothing does.
        lines: the requirements.
        unusable: lines that can't be taken over, as they stand.
    """

    file: str | None
    lines: tuple[Requirement, ...]
    unusable: tuple[str, ...] = ()

    def named(self, name: str) -> Requirement | None:
        """The requirement of a distribution."""
        return next((line for line in self.lines if line.name == name), None)


def normal(name: str) -> str:
    """A distribution's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_requirements(texts: Mapping[str, str], setup: Module | None) -> Requirements:
    """The project's declared requirements, from the first file that declares any.

    Args:
        texts: of the project's files by path.
        setup: its `setup.py`.
    """
    names = sorted(
        (path for path in texts if _is_requirements(path)), key=lambda p: (p.count("/"), len(p), p)
    )
    for name in names:
        lines, unusable = _requirements_file(texts, name, frozenset())
        if lines:
            return Requirements(name, tuple(lines), tuple(unusable))
    declared: Iterator[tuple[str, list[Requirement]]] = _packaging(texts, setup)
    for file, lines in declared:
        if lines:
            return Requirements(file, tuple(lines))
    return Requirements(None, ())


def _is_requirements(path: str) -> bool:
    depth, name = path.count("/"), path.rsplit("/", 1)[-1].lower()
    aside = re.search(r"dev|test|doc|lint|style|build|ci\b", name)
    in_folder = depth == 1 and path.lower().startswith("requirements/") and name.endswith(".txt")
    return not aside and (
        in_folder or (depth == 0 and re.fullmatch(r"requirements?[\w.-]*\.txt", name) is not None)
    )


def _requirements_file(
    texts: Mapping[str, str], file: str, seen: frozenset[str]
) -> tuple[list[Requirement], list[str]]:
    lines: list[Requirement] = []
    unusable: list[str] = []
    for number, raw in enumerate(texts.get(file, "").splitlines(), start=1):
        text = re.sub(r"(?:^|\s+)#.*$", "", raw).strip().rstrip("\\").strip()
        if not text:
            continue
        if include := re.match(r"(?:-r|--requirement)[\s=]*(\S+)$", text):
            other = normpath(join(dirname(file), include.group(1)))
            if other in texts and other not in seen and len(seen) < 8:
                more, others = _requirements_file(texts, other, seen | {file})
                lines += more
                unusable += others
        elif text.startswith(("-", ".", "/")) or "://" in text or not _is_requirement(text):
            unusable.append(text)
        else:
            plain = re.split(r"\s+--hash", text)[0].strip()
            lines.append(Requirement(plain, Place(file, number)))
    return lines, unusable


def _is_requirement(text: str) -> bool:
    return len(text) < 300 and bool(
        re.fullmatch(r"[A-Za-z0-9][\w.-]*\s*(?:\[[\w\s,.-]*\])?\s*(?:\(?[<>=!~][^;]*\)?)?\s*(?:;.*)?", text)
    )


def _packaging(texts: Mapping[str, str], setup: Module | None) -> Iterator[tuple[str, list[Requirement]]]:
    yield "pyproject.toml", list(_pyproject(texts.get("pyproject.toml", "")))
    yield "setup.cfg", list(_setup_cfg(texts.get("setup.cfg", "")))
    yield "setup.py", list(_setup_py(setup) if setup else ())
    for name in sorted(texts):
        if re.fullmatch(r"(?:[\w-]*env(?:ironment)?[\w-]*|conda[\w-]*)\.ya?ml", name.lower()):
            yield name, list(_conda(name, texts[name]))


def _pyproject(text: str) -> Iterator[Requirement]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    lines = text.splitlines()

    def place(word: str) -> Place:
        return Place("pyproject.toml", next((n for n, line in enumerate(lines, start=1) if word in line), 1))

    project = document.get("project")
    listed = project.get("dependencies") if isinstance(project, dict) else None
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, str) and _is_requirement(item):
            yield Requirement(item, place(item))
    tool = document.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    table = poetry.get("dependencies") if isinstance(poetry, dict) else None
    for name, value in table.items() if isinstance(table, dict) else ():
        version = value.get("version", "*") if isinstance(value, dict) else value
        if name != "python" and isinstance(version, str) and _is_requirement(name):
            yield Requirement(name + _poetry(version), place(name))


def _poetry(version: str) -> str:
    """A poetry constraint as pip writes it; `^1.2` is at least 1.2 and below 2."""
    if version in ("*", ""):
        return ""
    if caret := re.fullmatch(r"\^v?(\d+)((?:\.\d+)*)", version):
        major = int(caret.group(1))
        return f">={major}{caret.group(2)}" + (f",<{major + 1}" if major else "")
    if tilde := re.fullmatch(r"~(\d+\.\d+)((?:\.\d+)*)", version):
        return f"~={tilde.group(1)}{tilde.group(2) or '.0'}"
    exact = re.fullmatch(r"\d[\w.]*", version)
    return f"=={version}" if exact else version if re.fullmatch(r"[<>=!~][\w.,<>=!~ *]*", version) else ""


def _setup_cfg(text: str) -> Iterator[Requirement]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        listed = parser.get("options", "install_requires", fallback="")
    except configparser.Error:
        return
    for line in listed.splitlines():
        if line.strip() and _is_requirement(line.strip()):
            number = next((n for n, raw in enumerate(text.splitlines(), start=1) if line.strip() in raw), 1)
            yield Requirement(line.strip(), Place("setup.cfg", number))


def _setup_py(module: Module) -> Iterator[Requirement]:
    for call in module.calls:
        listed = keyword(call, "install_requires")
        if isinstance(listed, ast.Name):
            values = module.assignments.get(listed.id, [])
            listed = values[-1][1] if values else None
        for item in listed.elts if isinstance(listed, ast.List | ast.Tuple) else ():
            value = constant(item)
            if isinstance(value, str) and _is_requirement(value):
                yield Requirement(value, module.place(item))


def _conda(file: str, text: str) -> Iterator[Requirement]:
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"\S", line):
            inside = line.startswith("dependencies:")
        match = re.match(r"\s+-\s*['\"]?([A-Za-z][\w.-]*(?:::[\w.-]+)?)\s*([=<>!~][^\s'\"#]*)?", line)
        if not (inside and match) or line.rstrip().endswith(":"):
            continue
        name, version = match.group(1).split("::")[-1], match.group(2) or ""
        if _NOT_PIP.match(name):
            continue
        if re.match(r"=[^=]", version):
            version = "==" + version[1:].split("=")[0].rstrip(".*") + (".*" if version.count(".") < 2 else "")
        text_of = _CONDA.get(name.lower(), name) + version
        if _is_requirement(text_of):
            yield Requirement(text_of, Place(file, number))
