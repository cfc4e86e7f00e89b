"""Words and numbers as people read them."""

from agentmig.study.model import Kind

NONE = "-"


def counted(count: int, word: str) -> str:
    """`1 project`, `2 projects`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def plain(text: str) -> str:
    """The text on one line, without control characters or marks that turn the direction of writing."""
    return "".join(char if char.isprintable() else " " for char in text)


def figure(value: float | None, kind: Kind) -> str:
    """A number; its unit with it."""
    if value is None:
        return NONE
    match kind:
        case "count":
            return f"{value:d}"
        case "share":
            return f"{100 * value:.1f}%"
        case "usd":
            return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.2g}"
        case _:
            return _significant(value)


def between(low: float, high: float, kind: Kind) -> str:
    """An interval; a percent sign that stands before it counts for both ends."""
    ends = [figure(low, kind), figure(high, kind)]
    return f"[{', '.join(end.removesuffix('%') for end in ends)}]"


def _significant(value: float) -> str:
    """Whole numbers in full, others with four digits or as many as stand before the point."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
