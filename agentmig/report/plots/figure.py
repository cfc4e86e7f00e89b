"""What every figure shares: its parts, its style, and how it becomes an SVG inside a page.

Colours are names: matplotlib draws each as a hex code that stands for it, and the SVG gets a CSS variable in its place, so
that one page serves light and dark. Letters stay text in the page's own font.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib import figure as canvas
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from agentmig.report.model import Number
from agentmig.report.tables import Table
from agentmig.report.text import clean

_NAMES = (
    "reference",
    "candidate",
    "second",
    "third",
    "fourth",
    "fifth",
    "pass",
    "fail",
    "open",
    "ink",
    "quiet",
    "line",
    "band",
    "paper",
)
INK = {name: f"#00fe{index + 1:02x}" for index, name in enumerate(_NAMES)}
"""Colours by name, as matplotlib is given them; in the page `--f-<name>`."""
_BEHIND = {code: f"var(--f-{name})" for name, code in INK.items()}

WIDTH, HEIGHT, TALL = 4.4, 2.9, 3.4
"""Inches; small, so that letters of 10 points stay readable where a telephone shows the figure at its own width."""
FAR = 1e30
"""Numbers beyond it are no longer drawn to scale."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "agentmig",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "text.color": INK["ink"],
    "axes.edgecolor": INK["quiet"],
    "axes.labelcolor": INK["quiet"],
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelsize": 10.0,
    "axes.titlesize": 10.0,
    "grid.color": INK["line"],
    "grid.linewidth": 0.7,
    "xtick.color": INK["quiet"],
    "ytick.color": INK["quiet"],
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "legend.handlelength": 1.9,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.0,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 1.2,
    "hatch.color": INK["paper"],
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
}


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        key: unique among the figures of one target or run.
        title: what it shows.
        caption: how to read it.
        alt: what it says, in words.
        svg: an `<svg>` element without id clashes only after `placed`.
        table: its numbers.
    """

    key: str
    title: str
    caption: str
    alt: str
    svg: str
    table: Table


def draw(plan: Callable[[canvas.Figure], None], height: float = HEIGHT, width: float = WIDTH) -> str:
    """The SVG of a figure.

    Args:
        plan: draws into the empty figure.
        height: inches.
        width: inches.

    Returns:
        The file as matplotlib writes it; the same for the same drawing.
    """
    with warnings.catch_warnings(), mpl.rc_context():
        # The browser has fonts for letters that matplotlib's lacks; only their width is a guess here.
        warnings.filterwarnings("ignore", message="Glyph ")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]  # names of settings, as strings
        figure = canvas.Figure(figsize=(width, height), layout="constrained")
        plan(figure)
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    return clean(file.getvalue())


_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_FONT = re.compile(r"font-family: [^;]*;? ?|font: [^;]*;? ?")
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")


def placed(svg: str, prefix: str, alt: str) -> str:
    """The figure as a part of a page: ids of its own, colours by name, no file header.

    Args:
        svg: as `draw` returns it.
        prefix: unique in the page.
        alt: the text alternative.
    """
    root = ElementTree.fromstring(svg)
    referenced = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    for parent in root.iter():
        for child in [c for c in parent if c.tag in (f"{_SVG}metadata", f"{_SVG}style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.text = element.text.strip() if element.text and element.text.strip() else None
        element.tail = None
        element.attrib.update(_attributes(element, prefix, referenced))
    view = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": clean(alt), "class": "plot"})
    return ElementTree.tostring(root, encoding="unicode")


def _attributes(element: ElementTree.Element, prefix: str, referenced: set[str]) -> dict[str, str]:
    found = dict(element.attrib)
    element.attrib.clear()
    name = found.pop("id", None)
    if name in referenced:
        found["id"] = f"{prefix}-{name}"
    if _HREF in found:
        found["href"] = f"#{prefix}-{found.pop(_HREF).removeprefix('#')}"
    if found.get("transform", "").startswith("rotate(-0 "):
        del found["transform"]
    if "style" in found:
        found["style"] = _coloured(_FONT.sub(_size_of_font, found["style"]))
    for key, value in found.items():
        if key in ("d", "x", "y", "width", "height", "transform"):
            found[key] = " ".join(_DECIMALS.sub(r"\1", value).split())
        elif "url(#" in value:
            found[key] = value.replace("url(#", f"url(#{prefix}-")
        elif key in ("fill", "stroke"):
            found[key] = _coloured(value)
    return found


def _size_of_font(match: re.Match[str]) -> str:
    """What stays of a font: its size, since the family is the page's."""
    size = re.search(r"font: [^;]*?([\d.]+px)", match.group())
    return f"font-size: {size.group(1)}; " if size else ""


def _coloured(style: str) -> str:
    for code, name in _BEHIND.items():
        style = style.replace(code, name)
    return style


def drawable(values: Sequence[Number]) -> list[float]:
    """Values as matplotlib can scale them; a gap (NaN) for what is missing, not finite or out of all proportion."""
    return [
        value if value is not None and math.isfinite(value) and abs(value) < FAR else math.nan
        for value in values
    ]


def lost(values: Sequence[Number]) -> list[int]:
    """Indices of values that are there and can't be drawn."""
    return [i for i, v in enumerate(values) if v is not None and not (math.isfinite(v) and abs(v) < FAR)]


def legend(figure: canvas.Figure, axes: Axes, columns: int = 3) -> None:
    """The legend above the axes, one entry for each label."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper left", ncols=columns)


def power_of_ten(value: float) -> str:
    """`1`, `0.01`, `10⁻⁷`."""
    if value <= 0 or not math.isfinite(value):
        return ""
    exponent = math.log10(value)
    whole = round(exponent)
    if abs(exponent - whole) > 1e-6:
        return f"{value:g}"
    return (
        f"{value:g}"
        if -3 < whole < 4
        else "10" + str(whole).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    )


def logarithmic(axes: Axes, ticks: int = 5) -> None:
    """A logarithmic vertical axis with few labels."""
    axes.set_yscale("log")
    axis = axes.yaxis
    axis.set_major_locator(LogLocator(numticks=ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
