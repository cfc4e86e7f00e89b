"""Reads a page as a browser would, and finds what must not be there."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
# fmt: off
ELEMENTS = {
    "html", "head", "meta", "title", "link", "style", "body", "main", "article", "section",
    "header", "footer", "h1", "h2", "h3", "h4", "p", "span", "i", "strong", "code", "a", "ul", "li",
    "dl", "dt", "dd", "div", "blockquote", "details", "summary", "table", "thead", "tbody", "tr",
    "th", "td", "figure", "figcaption", "svg", "g", "path", "use", "text", "defs", "clippath",
    "rect", "pattern", "circle", "tspan",
}
ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "rel", "href", "class", "id", "scope",
    "tabindex", "aria-hidden", "aria-label", "role", "viewbox", "d", "style", "x", "y", "width",
    "height", "transform", "clip-path", "fill", "patternunits", "open",
}
# fmt: on


class Page(HTMLParser):
    """A page's elements and texts.

    Attributes:
        elements: names in order.
        ids: all of them.
        targets: ids that something refers to.
        words: all text outside of styles.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._element(tag, attrs)

    def _element(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        self.elements.append(tag)
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            value = value or ""
            if name == "id":
                self.ids.append(value)
            if name == "href" and tag != "link":
                assert value.startswith("#"), value
                self.targets.add(value[1:])
            if "url(#" in value:
                self.targets.add(value.partition("url(#")[2].partition(")")[0])

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)
