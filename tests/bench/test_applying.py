from pathlib import Path

import pytest

from agentmig.bench.applying import Prepared, prepare
from agentmig.bench.arms import Arm
from agentmig.bench.examples import load_examples
from agentmig.bench.manifests import CLEAN, ManifestError
from tests.bench.builders import MIGRATED, MUTANT, example, operators, patch, write_example, write_operators
from tests.execution.projects import git
from tests.tiny import TRAIN


def prepared(tmp_path: Path, texts: dict[str, str], clean: bool = False, short: bool = False) -> Prepared:
    examples = example(tmp_path / "examples")
    found = operators(tmp_path / "operators", texts)
    return prepare(examples, found, tmp_path / "projects", clean, short)


def mistakes(tmp_path: Path, texts: dict[str, str]) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        prepared(tmp_path, texts)
    return caught.value.mistakes


def text_of(made: Prepared, arm: Arm, name: str = "train.py") -> str:
    return git(made.scratch["tiny"].folder, "show", f"{arm.commit}:{name}") + "\n"


def way(line: str) -> str:
    return f'[[mutant]]\nworkload = "tiny"\ntarget = "cpu"\n{line}\n'


def test_mutants_are_changes_of_the_migrated_source(tmp_path: Path) -> None:
    made = prepared(tmp_path, {"lr": MUTANT}, clean=True)
    clean, mutant = made.arms
    assert (clean.id, clean.kind, clean.oracle) == (f"{CLEAN}.tiny.cpu", "clean", None)
    assert (mutant.id, mutant.kind, mutant.oracle) == ("lr.tiny.cpu", "fault", "training")
    assert text_of(made, clean) == MIGRATED
    assert text_of(made, mutant) == MIGRATED.replace("lr=0.5", "lr=0.7")
    assert mutant.clean == clean.commit == clean.clean
    assert [change.path for change in mutant.changes] == ["train.py"]


def test_a_change_can_be_a_patch_or_a_program(tmp_path: Path) -> None:
    folder = write_operators(tmp_path / "operators", {})
    (folder / "a.patch").write_text(patch(MIGRATED, MIGRATED.replace("range(2)", "range(1)")))
    (folder / "b.py").write_text(
        "import pathlib, sys\n(pathlib.Path(sys.argv[1]) / 'conftest.py').write_text('')\n"
    )
    made = prepared(tmp_path, {"a": way('patch = "a.patch"'), "b": way('transform = "b.py"')})
    assert text_of(made, made.arms[0]) == MIGRATED.replace("range(2)", "range(1)")
    assert [(c.path, c.how) for c in made.arms[1].changes] == [("conftest.py", "added")]


def test_all_changes_that_cannot_be_made_are_told_at_once(tmp_path: Path) -> None:
    folder = write_operators(tmp_path / "operators", {})
    (folder / "a.patch").write_text(patch(TRAIN.replace("Linear", "Conv"), TRAIN))
    (folder / "b.py").write_text("import sys\nsys.exit('nothing to find')\n")
    found = mistakes(
        tmp_path,
        {
            "a": way('patch = "a.patch"'),
            "b": way('transform = "b.py"'),
            "c": MUTANT.replace("lr=0.5", "lr=0.9"),
            "d": MUTANT.replace("train.py", "trains.py"),
            "e": MUTANT.replace('"lr=0.5"', '"torch"'),
            "f": MUTANT.replace("train.py", "../evaluate.py"),
            "g": MUTANT.replace("0.7", "0.5"),
        },
    )
    assert len(found) == 7
    words = [
        "a.toml: mutant 1 (tiny, cpu): git failed",
        "b.py: it ended with exit code 1: nothing to find",
        "train.py: the text to find occurs 0 times, not once: 'lr=0.9'",
        "trains.py: the migrated project has no such file",
        "times, not once: 'torch'",
        "../evaluate.py: the migrated project has no such file",
        "the result is the same as the correct migration itself",
    ]
    for text, mistake in zip(words, found, strict=True):
        assert text in mistake


def test_the_text_may_occur_more_than_once_where_that_is_said(tmp_path: Path) -> None:
    count = MIGRATED.count("seed")
    edit = f'edits = [{{ file = "train.py", find = "seed", replace = "grain", count = {count} }}]'
    made = prepared(tmp_path, {"a": way(edit)})
    assert text_of(made, made.arms[0]) == MIGRATED.replace("seed", "grain")


def test_two_mutants_that_are_the_same_change_are_a_mistake(tmp_path: Path) -> None:
    (found,) = mistakes(tmp_path, {"a": MUTANT, "b": MUTANT})
    assert "b.toml: mutant 1 (tiny, cpu): the result is the same as a, mutant 1" in found


def test_a_migration_that_does_not_apply(tmp_path: Path) -> None:
    examples = example(tmp_path / "examples")
    write_example(tmp_path / "examples", files={"migrations/cpu.patch": patch("a\n", "b\n")})
    with pytest.raises(ManifestError, match="doesn't apply to tiny") as caught:
        prepare(examples, operators(tmp_path / "operators", {"lr": MUTANT}), tmp_path / "projects", True)
    assert len(caught.value.mistakes) == 1


def test_several_mutants_are_numbered_whatever_is_chosen_of_them(tmp_path: Path) -> None:
    second = MUTANT.replace("0.7", "0.9") + "short = true\n"
    assert [arm.id for arm in prepared(tmp_path, {"lr": MUTANT + second}).arms] == [
        "lr.tiny.cpu.1",
        "lr.tiny.cpu.2",
    ]
    assert [arm.id for arm in prepared(tmp_path, {"lr": MUTANT + second}, short=True).arms] == [
        "lr.tiny.cpu.2"
    ]


def test_what_cannot_be_expressed_and_other_projects_are_no_arms(tmp_path: Path) -> None:
    texts = {"lr": way('inexpressible = "no"') + MUTANT}
    made = prepared(tmp_path, texts)
    assert [arm.id for arm in made.arms] == ["lr.tiny.cpu.2"]
    assert prepare({}, operators(tmp_path / "operators", texts), tmp_path / "projects", True).arms == []


def test_keys_depend_on_the_change_and_not_on_the_words_about_it(tmp_path: Path) -> None:
    (before,) = prepared(tmp_path, {"lr": MUTANT}).arms
    (words,) = prepared(tmp_path, {"lr": MUTANT + 'note = "harmless"'}).arms
    (other,) = prepared(tmp_path, {"lr": MUTANT.replace("0.7", "0.9")}).arms
    assert before.key == words.key != other.key
    write_example(tmp_path / "examples", files={"evaluate.py": "print(1)\n"})
    found = operators(tmp_path / "operators", {"lr": MUTANT})
    (elsewhere,) = prepare(load_examples(tmp_path / "examples"), found, tmp_path / "projects", False).arms
    assert elsewhere.key != before.key
