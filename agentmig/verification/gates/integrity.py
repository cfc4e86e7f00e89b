"""Is it still the same experiment? Files, the instruments, and whether seeds are followed.

The protected files are the base's in every verification run, so a changed evaluation can't win; that it was changed is a
finding all the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from agentmig.journal.events import GateResult
from agentmig.spec.paths import protected_files
from agentmig.verification.gates.result import failed, passed
from agentmig.verification.traces import World

GATE = "integrity"

_SKIPPED = {".git", "__pycache__"}
_STARTUP = ("sitecustomize.py", "usercustomize.py", "conftest.py")
# A file or folder of one of these names would be imported in place of the installed module.
_SHADOWED = ("torch", "torch_xla", "torch_tpu", "numpy", "agentmig", "agentmig_probe")
_PROSE = {".md", ".rst"}
_INSTRUMENTS = {
    "the probe's name or variables": r"AGENTMIG_|agentmig",
    "the tables of torch's global hooks": r"_global_optimizer_\w+_hooks|_global_(?:forward|backward)\w*hooks",
    "an optimizer's own hook tables": r"_optimizer_step_(?:pre|post)_hooks",
    "torch's global optimizer hooks": r"register_optimizer_step_(?:pre|post)_hook",
    "the import system's finders": r"sys\s*\.\s*meta_path|['\"]meta_path['\"]",
}


def check(target: str, base: Path, candidate: Path, protected: Sequence[str]) -> GateResult:
    """Compare two checkouts.

    Args:
        target: its name.
        base: the base commit's files.
        candidate: the claimed commit's files, as committed (nothing restored).
        protected: paths and globs that a migration may not change.
    """
    old, new = dict(_files(base)), dict(_files(candidate))
    changed = [
        path
        for path in protected_files({*old, *new}, protected)
        if path not in old or path not in new or not _same(old[path], new[path])
    ]
    planted = sorted(_planted(base, candidate, old, new))
    mentions = _instruments(old, new)
    edited = sorted(
        path for path in {*old, *new} if path not in old or path not in new or not _same(old[path], new[path])
    )
    evidence = {
        "changed": edited[:100],
        "protected": list(protected),
        "protected_changed": changed,
        "planted": planted,
        "instruments": mentions,
    }
    if planted:
        summary = f"Files were planted: {'; '.join(planted[:5])}."
        return failed(GATE, target, "planted_file", summary, **evidence)
    if mentions:
        shown = "; ".join(f"{path} addresses {what}" for path, what in list(mentions.items())[:5])
        return failed(
            GATE,
            target,
            "probe_tampering",
            f"Code addresses the instruments that watch it: {shown}.",
            **evidence,
        )
    if changed:
        words = [f"{path} ({_how(path, old, new)})" for path in changed[:8]]
        more = f" and {len(changed) - 8} more" if len(changed) > 8 else ""
        summary = f"Protected files were changed: {', '.join(words)}{more}."
        return failed(GATE, target, "protected_changed", summary, **evidence)
    summary = f"{len(edited)} files changed, none of them protected; nothing planted, no code addresses the instruments."
    return passed(GATE, target, summary, **evidence)


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Files and links below a folder with their relative paths; links are not followed."""
    for path in sorted(root.iterdir()):
        if path.name in _SKIPPED:
            continue
        if path.is_dir() and not path.is_symlink():
            for name, file in _files(path):
                yield f"{path.name}/{name}", file
        else:
            yield path.name, path


def _same(a: Path, b: Path) -> bool:
    if a.is_symlink() or b.is_symlink():
        return a.is_symlink() and b.is_symlink() and a.readlink() == b.readlink()
    return a.stat().st_size == b.stat().st_size and a.read_bytes() == b.read_bytes()


def _how(path: str, old: Mapping[str, Path], new: Mapping[str, Path]) -> str:
    if path not in new:
        return "removed"
    return "edited" if path in old else "added"


def _planted(base: Path, candidate: Path, old: Mapping[str, Path], new: Mapping[str, Path]) -> Iterator[str]:
    for path, file in new.items():
        unchanged = path in old and _same(old[path], file)
        if file.is_symlink() and not unchanged and not _stays_inside(candidate, file):
            yield f"{path} is a link out of the project, to {file.readlink()}"
        if unchanged:
            continue
        if file.name.lower() in _STARTUP or file.suffix.lower() == ".pth":
            yield f"{path} changes what programs do when they start"
    for name in _SHADOWED:
        for path in new:
            parts = path.split("/")
            if path not in old and (parts[-1] == f"{name}.py" or name in parts[:-1]):
                yield f"{path} would be imported in place of the installed {name}"


def _stays_inside(root: Path, link: Path) -> bool:
    return link.resolve().is_relative_to(root.resolve())


def _instruments(old: Mapping[str, Path], new: Mapping[str, Path]) -> dict[str, str]:
    """Files that address the instruments in a way that no file of the base does."""
    known = [_text(file) for file in old.values()]
    found: dict[str, str] = {}
    for what, pattern in _INSTRUMENTS.items():
        search = re.compile(pattern).search
        if any(search(text) for text in known):
            continue
        for path, file in new.items():
            if path not in found and search(_text(file)):
                found[path] = what
    return found


def _text(file: Path) -> str:
    """A file's text; nothing for prose, for binary files and for links."""
    if file.is_symlink() or file.suffix.lower() in _PROSE:
        return ""
    data = file.read_bytes()
    return "" if b"\0" in data[:4096] else data.decode(errors="replace")


def seeds_followed(
    target: str, worlds: Mapping[int, World], metrics: Mapping[int, float] | None = None
) -> GateResult | None:
    """Whether runs of different seeds are different runs.

    Losses decide where the probe read them. Otherwise the batches do: runs with the same batches are held to be the same,
    unless `metrics` differ (a seed may reach the weights alone).

    Args:
        target: its name.
        worlds: runs by seed.
        metrics: the goal metric by seed, where it is known.

    Returns:
        None with fewer than two runs, or where nothing was seen that could tell.
    """
    marks = {seed: mark for seed, world in worlds.items() if (mark := _mark(world))}
    if len(marks) < 2:
        return None
    kind = "losses" if all(any(values) for values, _ in marks.values()) else "batches"
    same = []
    for a, b in combinations(sorted(marks), 2):
        (losses_a, batches_a), (losses_b, batches_b) = marks[a], marks[b]
        alike = _alike(losses_a, losses_b) if kind == "losses" else _alike(batches_a, batches_b)
        if alike and (metrics is None or metrics.get(a) == metrics.get(b)):
            same.append((a, b))
    evidence = {"seeds": sorted(marks), "compared": kind, "same": [list(pair) for pair in same]}
    if same:
        shown = ", ".join(f"{a} and {b}" for a, b in same[:4])
        summary = f"Runs with different seeds are the same run: seeds {shown} have the same {kind}."
        return failed(GATE, target, "seed_ignored", summary, **evidence)
    return passed(GATE, target, f"Runs with {len(marks)} different seeds have different {kind}.", **evidence)


def _mark(world: World) -> tuple[list[str | None], list[str | None]] | None:
    """Losses and batches of a run, rank by rank and step by step; None where neither was seen."""
    steps = [step for _, trace in sorted(world.ranks.items()) for step in trace.steps]
    losses = [None if step.loss is None else repr(step.loss) for step in steps]
    batches = [step.batch or (",".join(step.rows) if step.rows else None) for step in steps]
    return (losses, batches) if any(losses) or any(batches) else None


def _alike(a: Sequence[str | None], b: Sequence[str | None]) -> bool:
    pairs = [(x, y) for x, y in zip(a, b, strict=False) if x is not None and y is not None]
    return bool(pairs) and all(x == y for x, y in pairs)
