from pathlib import Path

import pytest

from agentmig.journal.events import Usage
from agentmig.replay.script import in_worktree, load_script
from agentmig.spec.loading import SpecError

MANIFEST = '[manifest]\norigin = "authored"\nworkload = "w"\nmodel = "m"\ncli = "2.1.332"\n'


def write(folder: Path, text: str) -> Path:
    (folder / "session.toml").write_text(text)
    return folder


def test_a_session_is_read_from_its_folder(tmp_path: Path) -> None:
    script = load_script(
        write(
            tmp_path,
            MANIFEST
            + """
[[turn]]
expect = "Migrate"
text = "I begin."
usage = { input = 1, output = 2, cache_read = 3, cache_write_5m = 4, cache_write_1h = 5 }
[[turn.tool]]
name = "Write"
input = { file_path = "${worktree}/a", content = \"\"\"
one
two
\"\"\" }
[[turn]]
text = "Done."
usage = { input = 6, output = 7 }
""",
        )
    )
    assert script.turn[0].usage == Usage(input=1, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5)
    assert script.turn[0].tool[0].input["content"] == "one\ntwo\n"
    assert script.description == f"{tmp_path.name} (authored, 2 turns, m)"


def test_all_mistakes_are_reported_with_their_places(tmp_path: Path) -> None:
    text = (
        '[manifest]\norigin = "invented"\nworkload = "w"\nmodel = "m"\n\n[[turn]]\nusage = {}\n\n[[turn]]\n'
    )
    text += 'expect = "("\ntext = "x"\nsay = "y"\nusage = { input = "many" }\n'
    with pytest.raises(SpecError) as caught:
        load_script(write(tmp_path, text))
    found = {(problem.key, problem.line) for problem in caught.value.problems}
    assert found == {
        ("manifest.origin", None),
        ("manifest.cli", None),
        ("turn.1", 6),
        ("turn.2.expect", 9),
        ("turn.2.say", 9),
        ("turn.2.usage.input", 9),
    }
    assert "needs text or at least one [[turn.tool]]" in str(caught.value)


def test_a_script_without_turns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="turn: found nothing; this key is required"):
        load_script(write(tmp_path, MANIFEST))


def test_a_turn_says_what_it_does_not_answer(tmp_path: Path) -> None:
    turn = load_script(
        write(
            tmp_path,
            MANIFEST + '[[turn]]\nexpect = "(?i)clip.*norm"\nrefuse = "accepted"\ntext = "t"\nusage = {}\n',
        )
    ).turn[0]
    assert turn.objection("Clipping\nthe norm") is None
    assert turn.objection("overflow") == "it answers only what matches '(?i)clip.*norm'"
    assert turn.objection("clip norm: accepted") == "it must not answer what matches 'accepted'"


def test_the_worktree_is_put_into_every_string() -> None:
    value = {"a": ["${worktree}/x", 1, {"b": "cd ${worktree} && ls ${worktree}"}], "c": None}
    assert in_worktree(value, Path("/w")) == {"a": ["/w/x", 1, {"b": "cd /w && ls /w"}], "c": None}
