"""The two environments of a draft: what the project declares and imports, with its own torch and with torch_xla's."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agentmig.drafting.findings import Place
from agentmig.drafting.hazard_rules import CUDA_PACKAGES
from agentmig.drafting.requirements import Requirement, Requirements, normal

TORCH = "2.9.0"
"""The torch that torch_xla 2.9.0 is made for."""
_LOCK = 25
"""A file with more lines, nearly all of them pinned, is a lock file."""
_TOOLS = frozenset(
    {
        "black",
        "flake8",
        "isort",
        "jupyter",
        "mypy",
        "notebook",
        "pre-commit",
        "pylint",
        "pytest",
        "pytest-cov",
        "ruff",
        "sphinx",
        "twine",
        "wheel",
    }
)
_COMPANIONS = {"torch": TORCH, "torchvision": "0.24.0", "torchaudio": TORCH}
_DISTRIBUTIONS = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "flash_attn": "flash-attn",
    "gym": "gym",
    "hydra": "hydra-core",
    "lightning": "lightning",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pytorch_lightning": "pytorch-lightning",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorboardX": "tensorboardX",
    "torch_geometric": "torch-geometric",
    "yaml": "PyYAML",
}


def imported_distributions(packages: Mapping[str, Place]) -> dict[str, Place]:
    """Distributions that imports ask for, with the line; a guess from the package's name where no other is known."""
    names: dict[str, Place] = {}
    for package, place in packages.items():
        if re.fullmatch(r"[A-Za-z]\w*", package):
            names.setdefault(_DISTRIBUTIONS.get(package, package.replace("_", "-")), place)
    return names


@dataclass(frozen=True)
class Line:
    """A requirement of an environment, and why it is there."""

    text: str
    why: str


@dataclass(frozen=True)
class Environments:
    """The requirements of the reference's environment and of the target's.

    Attributes:
        dropped: requirements that only an NVIDIA GPU can serve, left out of the target's.
        warnings: what a person should know.
    """

    base: tuple[Line, ...]
    xla: tuple[Line, ...]
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]


def environments(declared: Requirements, packages: Mapping[str, Place], project: str) -> Environments:
    """The two environments of a draft.

    Args:
        declared: by the project.
        packages: that training and evaluation surely import.
        project: the project's own distribution name, which is not installed.
    """
    imported = imported_distributions(packages)
    listed = [each for each in declared.lines if each.name and each.name not in {normal(project), *_TOOLS}]
    torch, warnings = _torch(declared.named("torch"))
    if len(listed) > _LOCK and sum("==" in each.text for each in listed) > 0.9 * len(listed):
        # What training doesn't import comes along by itself, in versions that fit.
        names = {normal(name) for name in imported}
        listed = [each for each in listed if each.name in names]
        warnings.append(
            f"{declared.file} looks like a lock file: only what training imports was taken from it"
        )
    lines = {
        each.name: Line(each.text, str(each.place))
        for each in listed
        if each.name not in ("torch", "torch-xla")
    }
    have = set(lines)
    for name, place in imported.items():
        if normal(name) not in have | {"torch", "torch-xla"} and not _comes_with_another(name, have):
            lines[normal(name)] = Line(name, f"imported at {place}")
    cuda = {normal(name) for name in CUDA_PACKAGES}
    dropped = [line.text for name, line in lines.items() if name in cuda or name.startswith("nvidia-")]
    matched = {name: _companion(name, line) for name, line in lines.items()}
    ours = torch.text == f"torch=={TORCH}"
    base = [torch, *(matched if ours else lines).values()]
    xla = [
        Line(f"torch=={TORCH}", "torch_xla is made for it"),
        Line(f"torch_xla=={TORCH}", "the target's backend"),
    ]
    xla += [line for line in matched.values() if line.text not in dropped]
    return Environments(tuple(base), tuple(xla), tuple(dropped), tuple(warnings))


def _companion(name: str, line: Line) -> Line:
    """A package that is released together with torch, in the version of ours where the project pins another."""
    if name in _COMPANIONS and re.search(r"[<>=~]", line.text):
        return Line(f"{name}=={_COMPANIONS[name]}", f"the one of torch {TORCH}")
    return line


def _comes_with_another(name: str, have: Iterable[str]) -> bool:
    """Whether a package is part of a distribution of another name that is declared already."""
    plain = normal(name)
    return any(
        other.startswith(f"{plain}-") or other == f"py{plain}" or plain.startswith(f"{other}-")
        for other in have
    )


def _torch(declared: Requirement | None) -> tuple[Line, list[str]]:
    """The reference's torch: the project's own, or ours where it fits or where its own can't be installed."""
    ours = f"torch=={TORCH}"
    if declared is None:
        return Line(ours, "the project names no version; it is the one that torch_xla is made for"), []
    exact = _version(r"==", declared.text)
    if exact and exact < (2, 0):
        why = f"{declared.place} says {declared.text}, which has no build for Python 3.11"
        return Line(ours, why), [f"{why}: the reference is measured with torch {TORCH} instead"]
    below, above = _version(r"<=?", declared.text), _version(r">=?|~=", declared.text)
    here = _version("", TORCH)
    if not exact and not (below and here and below <= here) and not (above and here and above > here):
        return Line(
            ours, f"within {declared.text} ({declared.place}), and the one that torch_xla is made for"
        ), []
    line = Line(declared.text, str(declared.place))
    if exact == here:
        return line, []
    what = f"the reference has {declared.text} ({declared.place}), the target torch {TORCH}"
    return line, [f"{what}: differences between versions count as differences of the migration"]


def _version(operator: str, text: str) -> tuple[int, int] | None:
    match = re.search(rf"(?:{operator})\s*(\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if match else None
