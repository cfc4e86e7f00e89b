"""The harness that runs the documentation's commands finds what is wrong with them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.checking import CheckError, check, check_agentmig, simple_commands, synopsis
from tests.docs.pages import Command, File, PageError, read_page
from tests.docs.running import Reader, StepFailed, first_missing

PAGE = """\
<!-- after: tutorial/index.md -->
# A page

<!-- exit: 3 -->
```console
$ agentmig show latest \\
>   --exit-code
WAITING …
$ cd ..
```

1. In a list:

    <!-- needs: TPU -->
    ```console
    $ agentmig run .
    ```

```toml title="policy.toml"
name = "mine"
```

```
agentmig show [RUN] [--json]   # what it does
```
"""


def test_a_page_is_read_as_steps() -> None:
    page = read_page(PAGE)
    assert page.after == "tutorial/index.md"
    assert page.steps == (
        Command("agentmig show latest \\\n  --exit-code", 6, (3,), None, ("WAITING …",)),
        Command("cd ..", 9, (3,)),
        Command("agentmig run .", 16, (0,), "TPU"),
        File("policy.toml", 'name = "mine"\n'),
    )
    assert page.synopses == ("agentmig show [RUN] [--json]   # what it does",)
    assert page.runs


def test_a_remark_is_for_the_next_block_alone() -> None:
    text = "<!-- exit: 3 -->\n```console\n$ ls\n```\n```console\n$ ls\n```\n<!-- exit: 1 -->\nwords\n```console\n$ ls\n```\n"
    assert [command.exit_codes for command in read_page(text).commands] == [(3,), (0,), (0,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!-- needs: luck -->\n```console\n$ ls\n```", "needs 'luck'"),
        ("<!-- exit: bad -->\n```console\n$ ls\n```", "no exit code"),
        ("```console\nls\n```", "begins with a command"),
        ("```console\n\n```", "without a command"),
        ("```console\n$ ls\n", "never ends"),
    ],
)
def test_a_page_that_cannot_be_understood(text: str, words: str) -> None:
    with pytest.raises(PageError, match=words):
        read_page(text)


@given(
    st.lists(st.sampled_from(["$ ls", "> more", "out", "", "text", "```console", "```", "<!-- exit: 1 -->"]))
)
def test_reading_never_fails_otherwise(lines: list[str]) -> None:
    try:
        page = read_page("\n".join(lines))
    except PageError:
        return
    assert all(command.text.startswith("ls") for command in page.commands)


@pytest.mark.parametrize(
    "text",
    [
        "agentmig show latest --exit-code",
        "agentmig run . --play session.toml --target xla --target torch-tpu --yes | cat > run.txt",
        ".venv/bin/agentmig verify workload.toml --candidate mine --junit gates.xml",
        "agentmig --version && agentmig --help && agentmig plan --help",
        'NO_COLOR=1 PATH="$PWD/.venv/bin:$PATH" agentmig show',
        "make lint && cd ~/somewhere; git status",
        "cat < a 2>&1 || agentmig show",
    ],
)
def test_commands_that_there_are(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agentmig shwo", "no command shwo"),
        ("agentmig", "a command is missing"),
        ("agentmig --verison", "no option --verison"),
        ("agentmig show --exit", "No such option: --exit"),
        ("agentmig show one two", "unexpected extra argument"),
        ("agentmig run --yes", "Missing parameter: workload"),
        ("agentmig verify .", "Missing parameter: candidate"),
        ("agentmig resume latest --minutes many", "valid number"),
        ("cd .. && agentmig shwo | cat", "no command shwo"),
        ("make everything", "no such target"),
        ("conjure it", "not among the programs"),
    ],
)
def test_commands_that_there_are_not(text: str, words: str) -> None:
    with pytest.raises(CheckError, match=words):
        check(text)


def test_words_of_a_command_line() -> None:
    text = "A=1 git commit -m 'two words; one' > log.txt && ls | cat"
    assert simple_commands(text) == [["A=1", "git", "commit", "-m", "two words; one"], ["ls"], ["cat"]]


def test_a_line_that_describes_a_call_is_checked_as_one() -> None:
    check_agentmig(synopsis("agentmig show [RUN] [--json]   # what it does"))
    with pytest.raises(CheckError, match="No such option"):
        check_agentmig(synopsis("agentmig show [RUN] [--jsno]"))


@pytest.mark.parametrize(
    ("expected", "output", "missing"),
    [
        (["a … c", "d"], "x\n  a b c\nmore\nd", None),
        (["d", "a"], "a\nd", "a"),
        (["pass  xla"], "  pass xla/goal", None),
        (["1.5"], "125", "1.5"),
        ([], "", None),
    ],
)
def test_output_that_a_page_shows(expected: list[str], output: str, missing: str | None) -> None:
    assert first_missing(expected, output) == missing


def _follow(home: Path, text: str) -> Reader:
    reader = Reader(home)
    reader.follow(read_page(text))
    return reader


def test_a_reader_keeps_folder_and_variables(tmp_path: Path) -> None:
    text = """\
```console
$ mkdir ~/here && cd ~/here
$ export NAME="a b"
```
```text title="a file.txt"
content
```
```console
$ cat "$NAME" "a file.txt" || cat "a file.txt"
content
```
"""
    assert _follow(tmp_path, text).folder == tmp_path / "here"


def test_a_command_that_needs_what_is_not_here_is_not_run(tmp_path: Path) -> None:
    _follow(tmp_path, "<!-- needs: TPU -->\n```console\n$ agentmig show no-such-run\n```\n")
    with pytest.raises(CheckError, match="No such option"):
        Reader(_empty(tmp_path / "other")).follow(
            read_page("<!-- needs: TPU -->\n```console\n$ agentmig show --tpu\n```\n")
        )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```console\n$ ls /no/such/folder\n```", "ended with 2, not 0"),
        ("<!-- exit: 3 or 4 -->\n```console\n$ ls\n```", "ended with 0, not 3 or 4"),
        ("```console\n$ agentmig show no-such-run\n```", "no run 'no-such-run'"),
        ("```console\n$ agentmig --version\nagentmig 99\n```", "did not print, in this order: agentmig 99"),
    ],
)
def test_a_command_that_does_not_do_what_the_page_says(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StepFailed, match=words):
        _follow(tmp_path, text)


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder
