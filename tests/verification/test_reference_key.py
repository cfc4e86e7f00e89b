import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.spec import load_workload
from agentmig.verification.reference_key import (
    DocumentError,
    KeyParts,
    Manifest,
    differences,
    hash_of_folder,
    key_parts,
    read_document,
    write_document,
)
from tests.conftest import DIGITS
from tests.verification.untouched import manifest, parts

CHANGES: dict[str, Any] = {
    "tree": "d" * 40,
    "environment": "f" * 16,
    "train": {"command": "python other.py", "env": {}},
    "evaluate": {"command": "python other.py"},
    "goal": {"metric": "loss", "margin": 0.02},
    "reference": {"accelerator": "h100", "seeds": 3},
    "data": {"set": {"paths": {"local": "/here"}, "fingerprint": "sha256:2"}},
    "semantics_steps": 13,
    "epoch_batches": [3, 1],
    "stress": False,
    "numerics_steps": 13,
    "perturbation": 1e-5,
    "machine": "aarch64",
    "cores": 9,
    "probe": "e" * 64,
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_key_changes_with_each_part(name: str) -> None:
    assert parts(**{name: CHANGES[name]}).key != parts().key


@given(st.sets(st.sampled_from(sorted(CHANGES))))
def test_the_differences_of_two_keys_are_named(changed: set[str]) -> None:
    other = parts(**{name: CHANGES[name] for name in changed})
    assert {difference.part.split(".")[0] for difference in differences(other, parts())} == changed


@given(st.sets(st.sampled_from(sorted(CHANGES))))
def test_parts_that_were_written_down_have_the_same_key(changed: set[str]) -> None:
    there = parts(**{name: CHANGES[name] for name in changed})
    assert KeyParts.model_validate_json(there.model_dump_json()).key == there.key


def test_every_part_of_the_key_is_tried_here() -> None:
    assert set(CHANGES) == set(KeyParts.model_fields)


def test_a_difference_says_what_was_there_and_what_is_here() -> None:
    there = parts(train={"command": "python train.py --fast"}, cores=64)
    said = [str(difference) for difference in differences(there, parts())]
    assert said[0] == "train.command: python train.py --fast there, python train.py here"
    assert said[-1] == "the machine's cores: 64 there, 8 here"


def test_what_a_stranger_wrote_can_not_steer_the_terminal() -> None:
    there = parts(train={"command": "\x1b[2Jx"})
    assert "\x1b" not in str(differences(there, parts())[0])


def test_only_the_place_may_differ_between_machines() -> None:
    elsewhere = parts(
        cores=64,
        machine="aarch64",
        environment="0" * 16,
        data={"set": {"paths": {"local": "/there"}, "fingerprint": "sha256:1"}},
    )
    assert all(difference.is_of_the_place for difference in differences(elsewhere, parts()))
    for name in set(CHANGES) - {"cores", "machine", "environment"}:
        assert not any(d.is_of_the_place for d in differences(parts(**{name: CHANGES[name]}), parts())), name


def test_the_parts_of_a_workload(tmp_path: Path) -> None:
    workload = load_workload(DIGITS)
    there = key_parts(workload, "t", "e")
    assert there.train["command"] == workload.train.command
    assert (there.semantics_steps, there.reference["seeds"]) == (40, 4)
    assert there.key == key_parts(load_workload(DIGITS), "t", "e").key


def test_sources_are_hashed_by_place_and_content(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    first = hash_of_folder(tmp_path)
    (tmp_path / "notes.txt").write_text("not a source")
    assert hash_of_folder(tmp_path) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert hash_of_folder(tmp_path) != first


def test_a_document_is_read_back_and_damage_is_named(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    assert read_document(Manifest, file) is None
    write_document(file, manifest())
    assert read_document(Manifest, file) == manifest()
    assert list(tmp_path.iterdir()) == [file]
    raw = json.loads(file.read_text())
    file.write_text(json.dumps(raw | {"schema_version": 2}))
    with pytest.raises(DocumentError, match="schema_version"):
        read_document(Manifest, file)
    file.write_text("{")
    with pytest.raises(DocumentError, match=r"manifest\.json"):
        read_document(Manifest, file)
