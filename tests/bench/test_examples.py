from pathlib import Path

import pytest

from agentmig.bench.examples import ExampleError, load_examples
from tests.bench.builders import write_example


def test_a_project_has_its_migrations_by_target(tmp_path: Path) -> None:
    (found,) = load_examples(write_example(tmp_path)).values()
    assert found.name == "tiny"
    assert list(found.migrations) == ["cpu"]


def test_a_folder_without_a_workload_file_is_no_project(tmp_path: Path) -> None:
    (write_example(tmp_path) / "notes").mkdir()
    assert list(load_examples(tmp_path)) == ["tiny"]
    with pytest.raises(ExampleError, match="no project in this folder"):
        load_examples(tmp_path / "notes")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"workload.toml": "schema_version = 1"}, "mistakes"),
        ({"migrations/tpu.patch": ""}, "tiny has no target 'tpu'; it has cpu"),
    ],
)
def test_mistakes_are_told_for_all_projects(tmp_path: Path, files: dict[str, str], words: str) -> None:
    write_example(tmp_path, files=files)
    with pytest.raises(ExampleError, match="no project 'nope'") as caught:
        load_examples(tmp_path, ["tiny", "nope"])
    assert words in str(caught.value)


def test_a_project_goes_by_its_folder(tmp_path: Path) -> None:
    write_example(tmp_path)
    (tmp_path / "tiny").rename(tmp_path / "small")
    with pytest.raises(ExampleError, match="it must be the folder's, 'small'"):
        load_examples(tmp_path)
