"""Numbers in what a training printed, read without knowing the program: its losses, and its evaluations.

A printed number is known to its last digit only, so two are held to be alike within one unit of that digit. Numbers that
two trainings with the same seed print differently, such as clocks, say nothing.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

_NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan\b|inf\b)"
_LOSS = re.compile(
    rf"loss(?:es)?\d*(?:[_/]\w+)?[\"']?\s*(?:[\[(]\w+[\])]\s*)?(?:(?:is|of|[:=,|>]|-(?!\d))\s*)*({_NUMBER})(?!\w)",
    re.IGNORECASE,
)
# Neither a part of a word nor of a path, a date or a fraction such as "epoch 1/10".
_ANY = re.compile(
    rf"(?<![\w./:+-])({_NUMBER})(?![\w/:]|\.\d)(\s*(?:s|ms|secs?|seconds|min|minutes|it/s|steps/s|samples/s)(?!\w))?"
)
_TIMED = re.compile(rf"(?<![\w./:+-]){_NUMBER}(?:s|ms|min)(?!\w)")
_WORDS = (
    "acc accuracy eval evaluation val valid validation test metric auc f1 mae mse rmse r2 perplexity ppl score return reward "
    "precision recall error"
)
_EVALUATION = re.compile(rf"(?<![a-z])(?:{'|'.join(_WORDS.split())})(?![a-z])", re.IGNORECASE)
_UNITS = 1.01
_RELATIVE = 1e-4

Columns = Mapping[tuple[str, int], Sequence[str]]
"""The numbers at one place of a line's form, in the order of the lines."""


def losses(lines: Iterable[str]) -> list[str]:
    """The first number after the word "loss" in each line that has one, as printed."""
    return [found[1] for line in lines if (found := _LOSS.search(line))]


def evaluations(lines: Iterable[str]) -> Columns:
    """Numbers in lines that speak of an evaluation, by the line's form and the number's place in it; no times."""
    columns: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for line in lines:
        if not _EVALUATION.search(line):
            continue
        text = _TIMED.sub("#", line)
        form = " ".join(_ANY.sub("#", text).split())
        for place, found in enumerate(_ANY.finditer(text)):
            if not found[2]:
                columns[form, place].append(found[1])
    return columns


def resolution(text: str) -> float:
    """One unit of a number's last printed digit; 0 for whole numbers, which are counts, and for what isn't finite."""
    mantissa, _, exponent = text.lower().partition("e")
    if "." not in mantissa and not exponent:
        return 0.0
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))


def alike(a: str, b: str, noise: float = 0.0) -> bool:
    """Whether two printed numbers may be roundings of the same one.

    Args:
        a: as printed.
        b: as printed.
        noise: how far such numbers lie apart in trainings that are the same.
    """
    one, other = float(a), float(b)
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other or (math.isnan(one) and math.isnan(other))
    allowed = _UNITS * max(resolution(a), resolution(b)) + _RELATIVE * max(abs(one), abs(other)) + noise
    return abs(one - other) <= allowed


def first_difference(clean: Sequence[str], again: Sequence[str], other: Sequence[str]) -> int | None:
    """Where a series differs from the clean one by more than the clean one from its repetition; None: nowhere.

    Args:
        clean: printed numbers of the correct training.
        again: of the same training, made again with the same seed.
        other: of the training in question.
    """
    apart = [abs(float(a) - float(b)) for a, b in zip(clean, again, strict=False)]
    noise = max((value for value in apart if math.isfinite(value)), default=0.0)
    for index, (a, b) in enumerate(zip(clean, other, strict=False)):
        if not alike(a, b, noise):
            return index
    return None if len(clean) == len(other) else min(len(clean), len(other))


def evaluation_difference(clean: Columns, again: Columns, other: Columns) -> str | None:
    """What an evaluation printed otherwise, in words; what two equal trainings print differently doesn't count.

    Args:
        clean: of the correct training.
        again: of the same training, made again with the same seed.
        other: of the training in question.
    """
    for place in sorted({*clean, *other}):
        old, twice, new = (list(columns.get(place, ())) for columns in (clean, again, other))
        if first_difference(old, old, twice) is not None:
            continue
        index = first_difference(old, old, new)
        if index is not None:
            shown = [values[index] if index < len(values) else "nothing" for values in (old, new)]
            return f"{place[0]!r}: {shown[1]} where the correct migration prints {shown[0]}"
    return None
