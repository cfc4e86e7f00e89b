"""Shows files of the project's root as pages of the site: a page with `include: NAME` in its head is that file."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changes.md"}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page."""
    name = page.meta.get("include")
    return with_links_of_the_site((ROOT / name).read_text(encoding="utf-8")) if name else markdown


def with_links_of_the_site(text: str) -> str:
    """A file of the root, with its links as they are from `docs/project/`."""

    def moved(found: re.Match[str]) -> str:
        target = found[1]
        if target.startswith("docs/"):
            return f"](../{target.removeprefix('docs/')})"
        name, _, anchor = target.partition("#")
        return f"]({PAGES.get(name, name)}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(([^)\s:]+)\)", moved, text)
