"""The generated parts of the documentation are what the code says now."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel, Field

from agentmig.journal.events import Event
from agentmig.spec import Workload
from tests.docs.pages import DOCS


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _generator()


def test_pages_hold_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_is_on_a_page() -> None:
    shown = {found[2] for page in DOCS.rglob("*.md") for found in generate.PART.finditer(page.read_text())}
    assert shown == set(generate.PARTS)


def test_a_part_is_replaced_and_nothing_else() -> None:
    text = "before\n<!-- generated: exit-codes -->\nold\n<!-- end of generated -->\nafter\n"
    fresh = generate.regenerated(text)
    assert fresh.startswith("before\n") and fresh.endswith("\nafter\n")
    assert "old" not in fresh and "| 3 | `inconclusive`" in fresh
    assert generate.regenerated(fresh) == fresh
    with pytest.raises(KeyError):
        generate.regenerated(text.replace("exit-codes", "no-such-part"))


class _Inner(BaseModel):
    """A table."""

    bound: float | None = Field(default=None, gt=0)


class _Base(BaseModel):
    shared: str
    """Said in the base."""


class _Model(_Base):
    """What it is for.

    Args:
        nothing: for programmers.
    """

    names: list[str] = []
    """Said here, with a | in it,
    over two lines."""
    inner: _Inner = _Inner()
    many: list[_Inner] = []
    named: dict[str, _Inner] = {}
    hidden: int = Field(default=0, exclude=True)


def test_a_model_in_words() -> None:
    rows = {entry.name: entry for entry in generate.entries(_Model)}
    assert list(rows) == ["shared", "names"]
    assert (rows["shared"].default, rows["shared"].meaning) == ("required", "Said in the base.")
    assert (rows["names"].type, rows["names"].default) == ("list of: text", "`[]`")
    assert rows["names"].meaning == "Said here, with a | in it, over two lines."
    assert generate.entries(_Inner)[0].type == "number, greater than 0"
    assert [header for header, _ in generate.tables(_Model)] == ["", "[inner]", "[[many]]", "[named.NAME]"]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"anyOf": [{"type": "integer", "minimum": 3, "maximum": 64}, {"type": "null"}]}, "integer, at least 3, at most 64"),
        ({"enum": ["a", "b"], "type": "string"}, '`"a"`, `"b"`'),
        ({"const": 1}, "`1`"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "table of: text"),
        ({"type": "string", "format": "path"}, "path"),
        ({"type": "string", "pattern": "^a$", "minLength": 1}, "text, matches `^a$`, not empty"),
    ],
)  # fmt: skip
def test_types_in_words(shape: dict[str, object], words: str) -> None:
    assert generate.type_words(shape) == words


def test_every_table_and_key_of_a_workload_file_is_there() -> None:
    page = (DOCS / "reference" / "workload.md").read_text()
    for header, model in generate.tables(Workload):
        assert not header or f"### `{header}`\n" in page
        for entry in generate.entries(model):
            assert f"| `{entry.name}` |" in page, (header, entry.name)


def test_every_command_and_event_is_there() -> None:
    cli, journal = (
        (DOCS / "reference" / "cli.md").read_text(),
        (DOCS / "reference" / "journal.md").read_text(),
    )
    for path, _ in generate.commands():
        assert f"# `{' '.join(path)}`\n" in cli
    for kind in generate.get_args(generate.get_args(Event)[0]):
        assert f"### `{kind.model_fields['kind'].default}`\n" in journal


def test_the_page_of_a_root_file_has_links_of_the_site() -> None:
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    assert spec and spec.loader
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    text = "[a](docs/causes.md#x) [b](SECURITY.md#what) [c](https://example.org/docs/) [d](CHANGELOG.md)"
    assert hooks.with_links_of_the_site(text) == (
        "[a](../causes.md#x) [b](security.md#what) [c](https://example.org/docs/) [d](changes.md)"
    )
    assert all((DOCS / "project" / page).exists() for page in hooks.PAGES.values())
    assert all((Path(hooks.ROOT) / name).exists() for name in hooks.PAGES)
