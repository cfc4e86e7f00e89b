"""Metrics that a program prints, each with a regular expression that finds its number in that line."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agentmig.drafting.findings import Place
from agentmig.drafting.module import Module, argument, constant
from agentmig.drafting.prints import Hole, Line, printed_lines

Direction = Literal["maximize", "minimize"]
Unit = Literal["percent", "fraction", "count", "number"]

NUMBER = r"(-?\d+\.?\d*(?:e[-+]?\d+)?|nan)"
"""The one group of every pattern. A loss that is not a number is found too, so that it can be reported as such."""


@dataclass(frozen=True)
class _Kind:
    """A family of metrics: how it is written, how it is called, which way is better, how much it says.

    Attributes:
        is_share: a share of the samples, so that it is a fraction or in percent.
    """

    words: str
    name: str
    direction: Direction
    rank: float
    is_share: bool = False


_KINDS = [
    _Kind(
        r"acc(?:uracy|uracies)?(?:[_@-]?\d)?|top[_@-]?\d(?:[_@-]?acc)?|prec(?:ision)?@\d|correct",
        "accuracy",
        "maximize",
        4,
        is_share=True,
    ),
    _Kind(r"f1(?:[_-]?score)?", "F1", "maximize", 4),
    _Kind(
        r"m?ap(?:@?[\d.:-]+)?|m?iou|dice|auc|auroc|bleu|rouge[_-]?[l\d]?|ndcg|mrr|recall(?:@\d+)?|precision|map\d*",
        "",
        "maximize",
        3.5,
    ),
    _Kind(r"psnr|ssim|r2|elbo|log[_ -]?likelihood", "", "maximize", 3),
    _Kind(r"(?:episodic|episode|mean|average|avg)?[_ ]?(?:return|reward)s?|score", "", "maximize", 3),
    _Kind(r"ppl|perplexity|bpc|bpb|bits per (?:char|byte|dim)\w*", "perplexity", "minimize", 3.2),
    _Kind(r"fid|rmse|mae|mse|nll", "", "minimize", 3),
    _Kind(
        r"wer|cer|err(?:or)?(?:[_ -]?rate)?(?:@?\d)?|top[_ -]?\d[_ -]err(?:or)?",
        "",
        "minimize",
        3,
        is_share=True,
    ),
    _Kind(r"loss(?:es)?", "loss", "minimize", 2),
]
_WORDS = [(kind, re.compile(rf"(?<![A-Za-z])(?:{kind.words})(?![A-Za-z])", re.IGNORECASE)) for kind in _KINDS]
_HELD_OUT = re.compile(
    r"(?<![a-z])(?:test|val|valid|validation|eval|evaluation|dev|final)(?![a-z])", re.IGNORECASE
)
_TRAINING = re.compile(r"(?<![a-z])(?:train|training|iter|step|batch)(?![a-z])", re.IGNORECASE)
_BEST = re.compile(r"(?<![a-z])(?:best|max|highest|top_score|ema)(?![a-z])", re.IGNORECASE)
_NOT_A_METRIC = re.compile(
    r"time|sec|lr|rate\b|memory|size|path|file|world|epoch|threshold|previous|load|param", re.IGNORECASE
)

_COMPLAINT = re.compile(
    r"warning|exception|fail|could not|can't|cannot|not found|traceback|invalid|please", re.IGNORECASE
)
_LINKING = re.compile(
    r"(?:[^\w.]|_|\.(?!\.)|\b(?:is|of|are|score|rate|value|avg|average|mean|top|on|at|for|the|test|val|valid|validation|train|set|total|now|was|\d+)\b)*",
    re.IGNORECASE,
)
"""What may stand between a metric's name and its number."""


@dataclass(frozen=True)
class Metric:
    """A metric, and how its value is found in what is printed.

    Attributes:
        label: as it is printed.
        name: what it is called: `test accuracy`.
        pattern: a regular expression with one group, the number.
        guessed: the line is not in the project's source, so that the pattern may not fit.
        scope: names of the function and file that print it, which say when it is printed.
    """

    label: str
    name: str
    direction: Direction
    unit: Unit
    pattern: str
    place: Place
    score: float
    guessed: bool = False


def metrics(modules: Sequence[Module], own: str | None = None) -> list[Metric]:
    """The metrics that a program prints, the likeliest goal first.

    Args:
        modules: of the program.
        own: path of a file whose lines count for more: the program that evaluates.
    """
    lines = (line for line in printed_lines(modules) if not _COMPLAINT.search(line.text))
    found = [metric for line in lines for metric in _in_line(line, own)]
    found += _logged(modules)
    return sorted(found, key=lambda metric: (-metric.score, metric.place))


def _in_line(line: Line, own: str | None) -> Iterator[Metric]:
    pieces = line.pieces
    holes = [index for index, piece in enumerate(pieces) if isinstance(piece, Hole)]
    pending: tuple[int, int, _Kind] | None = None
    for index in holes:
        before = _text_at(pieces, index - 1)
        start, kind, rest = _label(before)
        if kind is not None and _LINKING.fullmatch(rest) and not _goes_on(pieces, index, rest):
            yield _metric(line, index - 1, start, _ratio_end(pieces, index), kind, own)
            pending = None
        elif kind is not None:
            pending = (index - 1, start, kind)
        elif pending and re.search(r"(?:[:=]|\bis)\s*$", before):
            yield _metric(line, pending[0], pending[1], index, pending[2], own)
            pending = None
        elif not _label(_text_at(pieces, index + 1))[1] or holes[-1] == index:
            named = _named_by_value(pieces, index)
            if named is not None and re.search(r"[A-Za-z]{3}", before):
                yield _metric(line, index - 1, 0, index, named, own, weight=-2)


def _goes_on(pieces: Sequence[str | Hole], index: int, rest: str) -> bool:
    """Whether a value is part of the label, as in `accuracy on the {n} images: {a}`."""
    if not re.search(r"[A-Za-z]", rest) or re.search(r"[:=]\s*$", rest):
        return False
    later = _text_at(pieces, index + 1)
    return re.search(r"[:=]\s*$", later) is not None and _label(later)[1] is None and index + 2 < len(pieces)


def _text_at(pieces: Sequence[str | Hole], index: int) -> str:
    piece = pieces[index] if 0 <= index < len(pieces) else ""
    return piece if isinstance(piece, str) else ""


def _label(text: str) -> tuple[int, _Kind | None, str]:
    """Where the label before a value begins, what metric it names, and what stands after that name."""
    start = max((match.end() for match in re.finditer(r"[,;|\t]|\s{2,}|^[\s:.\])}>*=-]+", text)), default=0)
    if start >= len(text.rstrip()):
        start = 0
    tail = text[start:]
    best: tuple[int, _Kind, str] | None = None
    for kind, words in _WORDS:
        for match in words.finditer(tail.replace("_", " ")):
            if best is None or match.end() > best[0]:
                best = (match.end(), kind, tail[match.end() :])
    lead = len(tail) - len(tail.lstrip(" :.])}>*=-"))
    return (start + lead, best[1], best[2]) if best else (start + lead, None, "")


def _named_by_value(pieces: Sequence[str | Hole], index: int) -> _Kind | None:
    """The metric that the printed expression's own name tells."""
    hole = pieces[index]
    source = hole.source if isinstance(hole, Hole) else ""
    if not source or _NOT_A_METRIC.search(source):
        return None
    plain = source.replace("_", " ")
    return next((kind for kind, words in _WORDS if words.search(plain)), None)


def _ratio_end(pieces: Sequence[str | Hole], index: int) -> int:
    """For `correct/total (percent%)`, the hole of the percentage; else the hole itself."""
    if _text_at(pieces, index + 1).strip() not in ("/", "of", "out of") or index + 4 >= len(pieces) + 1:
        return index
    last = index + 4
    between = _text_at(pieces, index + 3)
    is_percent = last < len(pieces) and _text_at(pieces, last + 1).lstrip().startswith("%")
    return last if is_percent and re.fullmatch(r"\)?\s*[=:,]?\s*\(?", between) else index


def _metric(
    line: Line, first: int, start: int, value: int, kind: _Kind, own: str | None, weight: float = 0.0
) -> Metric:
    pieces = line.pieces
    opening = _text_at(pieces, first)
    label = opening[start:].strip(" :=([|\t")
    hole = pieces[value]
    spec, source = (hole.spec, hole.source) if isinstance(hole, Hole) else ("", "")
    between = [opening[start:], *pieces[first + 1 : value]]
    function = line.module.function(line.call)
    inside = function.name.replace("_", " ") if function else ""
    part = (
        _HELD_OUT.search(label.replace("_", " ")) or _HELD_OUT.search(line.text) or _HELD_OUT.search(inside)
    )
    held_out = part is not None
    trained = bool(_TRAINING.search(label.replace("_", " ")) or _TRAINING.search(inside))
    score = kind.rank + weight
    score += 4 if held_out else 0
    score += 0.5 if part and part.group().lower() in ("test", "final") else 0
    score -= 5 if trained else 0
    score -= 4 if any(map(line.module.makes_steps, line.module.loops(line.call))) and not held_out else 0
    score -= 2.5 if _BEST.search(label.replace("_", " ")) else 0
    score -= 1.5 if re.search(r"[@_ -]?5\b", label) else 0
    score += 6 if own == line.module.path else 0
    after = _text_at(pieces, value + 1)
    return Metric(
        label or kind.name,
        _name(label, kind, "" if trained else part.group().lower() if part else ""),
        kind.direction,
        _unit(kind, spec, source, after, pieces, value),
        _pattern(between, spec),
        line.place,
        score,
    )


def _name(label: str, kind: _Kind, part: str) -> str:
    """A metric's name, with the part of the data that it is of."""
    words = kind.name or re.sub(r"[^\w@./ -]", "", label).strip() or "metric"
    return words if not part or part in words.lower() else f"{part} {words}"


def _unit(kind: _Kind, spec: str, source: str, after: str, pieces: Sequence[str | Hole], value: int) -> Unit:
    if after.lstrip(")] ").startswith("%") or spec.endswith("%") or re.search(r"\b100(?:\.0*)?\b", source):
        return "percent"
    if kind.is_share:
        if "/" in source:
            return "fraction"
        if after.strip() in ("/", "of", "out of") and value + 2 < len(pieces):
            return "count"
        before = _text_at(pieces, value - 1).lower()
        return "percent" if "@" in before or re.search(r"top[ _-]?\d", before) else "fraction"
    return "number"


def _pattern(pieces: Iterable[str | Hole], spec: str) -> str:
    """A regular expression for what stands before the number, and the number."""
    text = "".join(_escaped(piece) if isinstance(piece, str) else r"\S+" for piece in pieces)
    bare = re.sub(r"(?:\s|\\t)+$", "", text)
    gap = r"\s+" if bare != text and re.search(r"\w$", bare) else r"\s*"
    # A tensor that is printed without a format shows its type around the number.
    wrapped = "" if spec else r"(?:tensor\()?"
    return f"{bare}{gap}{wrapped}{NUMBER}"


def _escaped(text: str) -> str:
    return re.sub(r"\\([ \-:=%@/,#&<>!~'\"])", r"\1", re.escape(text)).replace("\\\t", r"\t")


def _logged(modules: Sequence[Module]) -> Iterator[Metric]:
    """Metrics that code hands to a trainer or to a meter, which prints them in a form of its own."""
    for module in modules:
        for call in module.calls:
            called = module.called(call)
            name = constant(argument(call, 0, "name"))
            if called == "self.log" and isinstance(name, str):
                # Lightning's table: a column with the name, a column with the number.
                yield from _guess(
                    module,
                    call,
                    name,
                    rf"{_escaped(name)}[\s│|]+{NUMBER}",
                    3 if "test" in name.lower() else 1,
                )
            elif called.split(".")[-1] in ("AverageMeter", "SmoothedValue", "Meter") and isinstance(
                name, str
            ):
                yield from _guess(module, call, name, rf"{_escaped(name)}[:=\s]+{NUMBER}", 0)
        yield from _computed(module)


def _computed(module: Module) -> Iterator[Metric]:
    """transformers: names that `compute_metrics` returns are printed with `eval_` before them."""
    function = module.functions.get("compute_metrics")
    for node in ast.walk(function) if function else ():
        for key in node.keys if isinstance(node, ast.Dict) else ():
            name = constant(key)
            if isinstance(name, str):
                pattern = rf"eval_{_escaped(name)}\W*[:=]\s*{NUMBER}"
                yield from _guess(module, node, name, pattern, 2)


def _guess(module: Module, node: ast.AST, name: str, pattern: str, weight: float) -> Iterator[Metric]:
    plain = name.replace("_", " ").replace("/", " ")
    kind = next((kind for kind, words in _WORDS if words.search(plain)), None)
    if kind is None:
        return
    score = (
        kind.rank + weight - (4 if _TRAINING.search(plain) else 0) - (1.5 if re.search(r"5$", plain) else 0)
    )
    unit: Unit = "number" if not kind.is_share else "percent" if "@" in name else "fraction"
    yield Metric(name, plain, kind.direction, unit, pattern, module.place(node), score - 3, guessed=True)
