import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.bench.manifests import CLEAN, Known, ManifestError, Operator, load_operators, read_operator
from tests.bench.builders import MUTANT, OPERATOR, operators, write_operators

KNOWN = Known({"tiny": ["cpu"], "other": None})


def mistakes(folder: Path, text: str, name: str = "lr") -> list[str]:
    write_operators(folder, {name: text})
    with pytest.raises(ManifestError) as caught:
        load_operators(folder, KNOWN)
    assert caught.value.exit_code == 2
    return caught.value.mistakes


def test_operators_come_in_the_order_of_their_names_with_what_they_say(tmp_path: Path) -> None:
    found = operators(tmp_path, {"b": MUTANT, "a": MUTANT + "short = true\nexpected = ['weight_decay']\n"})
    assert [operator.name for operator in found] == ["a", "b"]
    first, second = found
    assert first.mutant[0].short
    assert not second.mutant[0].short
    assert first.expects(first.mutant[0]) == ["weight_decay"]
    assert second.expects(second.mutant[0]) == ["learning_rate"]
    assert second.mutant[0].edits[0].count == 1


def test_only_the_named_operators_are_used_but_all_are_checked(tmp_path: Path) -> None:
    write_operators(tmp_path, {"a": MUTANT, "b": MUTANT})
    assert [o.name for o in load_operators(tmp_path, KNOWN, ["b", CLEAN])] == ["b"]
    assert load_operators(tmp_path, KNOWN, []) == []
    (tmp_path / "c.toml").write_text("schema_version = 2\n")
    with pytest.raises(ManifestError, match=r"c\.toml"):
        load_operators(tmp_path, KNOWN, ["b"])


def test_every_mistake_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    write_operators(
        tmp_path,
        {
            "a": MUTANT.replace("target", "tarject"),
            "b": 'schema_version = 1\nname = "b"',
            "c": "schema_version = [",
            "d": MUTANT.replace('"tiny"', '"tinny"'),
        },
    )
    with pytest.raises(ManifestError) as caught:
        load_operators(tmp_path, KNOWN, ["nope"])
    text = str(caught.value)
    assert text.startswith(f"the fault operators have {len(caught.value.mistakes)} mistakes:")
    for name in "abcd":
        assert f"{tmp_path / name}.toml" in text
    assert "nope" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MUTANT + "colour = 1", "lr.toml:13: mutant.0.colour: found an unknown key"),
        (
            MUTANT.replace('"cpu"', '"tpu"'),
            "lr.toml:11: mutant.0.target: found 'tpu'; tiny has no correct migration",
        ),
        (
            MUTANT.replace('"tiny"', '"huge"'),
            "lr.toml:10: mutant.0.workload: found 'huge'; no workload has this name",
        ),
        (MUTANT + "expected = ['tired']", "mutant.0.expected: found 'tired'; no cause has this name"),
        (MUTANT + 'patch = "x.patch"', "exactly one of edits, patch, transform, inexpressible is needed"),
        ("[[mutant]]\nworkload = 'tiny'\ntarget = 'cpu'", "not none of them"),
        ("[[mutant]]\nedits = [{file = 'a', find = 'b', replace = 'c'}]", "workload and target are needed"),
        ("[[mutant]]\nworkload = 'tiny'\ntarget = 'cpu'\npatch = 'x.patch'", "there is no such file beside"),
        (MUTANT.replace("lr=0.5", ""), "mutant.0.edits.0.find"),
        (MUTANT + "expected = []", "name the causes that count as right"),
        ("mutant = []", "mutant: found []"),
        (OPERATOR.replace("NAME", "other") + MUTANT, "name: found 'other'; it must be the file's name, 'lr'"),
        (OPERATOR.replace('oracle = "training"', "") + MUTANT, "an oracle is needed"),
        (OPERATOR.replace('"fault"', '"clean"') + MUTANT, "neither expected causes nor an oracle"),
        (OPERATOR.replace("learning_rate", "bad_luck") + MUTANT, "lr.toml:6: expected: found 'bad_luck'"),
        (OPERATOR.replace("version = 1", "version = 7") + MUTANT, "lr.toml:2: schema_version: found 7"),
        (OPERATOR.replace('"training"', '"astrology"') + MUTANT, "oracle: found 'astrology'"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in mistake for mistake in mistakes(tmp_path, text)), mistakes(tmp_path, text)


def test_no_operator_has_the_name_of_the_correct_migrations(tmp_path: Path) -> None:
    assert "choose another" in mistakes(tmp_path, MUTANT, CLEAN)[0]


def test_the_line_of_a_later_mutant_is_its_own(tmp_path: Path) -> None:
    (found,) = mistakes(tmp_path, MUTANT + MUTANT.replace('"cpu"', '"tpu"'))
    assert found.startswith(f"{tmp_path / 'lr.toml'}:16: mutant.1.target")


def test_what_cannot_be_expressed_needs_no_place_and_no_cause(tmp_path: Path) -> None:
    text = OPERATOR.replace("expected", "# expected") + "[[mutant]]\ninexpressible = 'one process here'\n"
    (operator,) = operators(tmp_path, {"lr": text})
    assert operator.mutant[0].inexpressible == "one process here"


def test_targets_of_projects_that_are_not_loaded_are_not_judged(tmp_path: Path) -> None:
    write_operators(tmp_path, {"lr": MUTANT.replace("tiny", "other").replace("cpu", "anything")})
    assert len(load_operators(tmp_path, KNOWN)) == 1


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no such folder"):
        load_operators(tmp_path / "nowhere", KNOWN)


_SCALARS = st.one_of(st.integers(-3, 3), st.booleans(), st.text("ab.\"'\n[", max_size=4))
_VALUES: Any = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
)


@given(
    key=st.sampled_from(
        [*Operator.model_fields, "mutant.workload", "mutant.edits", "mutant.colour", "colour"]
    ),
    value=_VALUES,
)
def test_any_value_of_any_key_is_an_operator_or_a_mistake_and_never_an_error_of_ours(
    tmp_path: Path, key: str, value: Any
) -> None:

    def toml(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in item.items()) + "}"
        if isinstance(item, list):
            return "[" + ", ".join(map(toml, item)) + "]"
        return json.dumps(item)

    table, _, name = key.rpartition(".")
    head = [line for line in OPERATOR.splitlines() if line.split(" = ")[0] != key]
    rest = [line for line in MUTANT.splitlines() if line.split(" = ")[0] != name or not table]
    line = f"{name} = {toml(value)}"
    text = "\n".join([*head, *([] if table else [line]), *rest, *([line] if table else [])])
    file = tmp_path / "lr.toml"
    file.write_text(text.replace("NAME", "lr"))
    operator, problems = read_operator(file, KNOWN)
    assert (operator is None) == bool(problems)
