"""Values as people read them, and foreign text as a page can hold it."""

import math
import re
from datetime import UTC, datetime

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Marks that turn the direction of writing can make a text look like another.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
DASH = "–"


def clean(text: str) -> str:
    """The text with U+FFFD for what XML and HTML forbid, and for marks that turn the direction of writing."""
    return _TURNING.sub("\ufffd", _FORBIDDEN.sub("\ufffd", text))


def one_line(text: str, limit: int | None = None) -> str:
    """The text on one line; cut to `limit` characters."""
    line = " ".join(text.split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def short(text: str, limit: int) -> str:
    """A name cut in its middle, so that both ends stay."""
    if len(text) <= limit:
        return text
    half = (limit - 1) // 2
    return f"{text[: limit - 1 - half]}…{text[len(text) - half :]}"


def number(value: float | None, digits: int = 4) -> str:
    """A number with that many significant digits; whole ones in full."""
    if value is None:
        return DASH
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    if 10**digits <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def dollars(value: float | None) -> str:
    """An amount of money; small ones with two significant digits."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = "-" if value < 0 else "", abs(value)
    if size and size < 0.01:
        places = min(12, 1 - math.floor(math.log10(size)))
        return f"{sign}${size:.{places}f}"
    return f"{sign}${size:,.2f}"


def seconds(value: float | None) -> str:
    """A duration in the units that people would use."""
    if value is None or not math.isfinite(value):
        return DASH
    if value < 10:
        return f"{max(value, 0.0):.2g} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def moment(time: datetime) -> str:
    """A point in time, in UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def plural(count: int, word: str) -> str:
    """`1 step`, `2 steps`, `3 classes`."""
    ending = "es" if word.endswith(("s", "x", "ch")) else "s"
    return f"{count:,} {word}{'' if count == 1 else ending}"
