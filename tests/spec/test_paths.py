import pytest

from agentmig.spec.paths import is_protected, protected_files


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("evaluate.py", "evaluate.py", True),
        ("data/test.csv", "data", True),
        ("data/test.csv", "data/", True),
        ("database.py", "data", False),
        ("configs/a/b.yaml", "*.yaml", True),
        ("./evaluate.py", "evaluate.py", True),
        ("train.py", "evaluate.py", False),
    ],
)
def test_files_folders_and_globs(path: str, pattern: str, expected: bool) -> None:
    assert is_protected(path, [pattern]) is expected


def test_the_protected_ones_come_sorted() -> None:
    assert protected_files(["b/x", "a", "b/w"], ["b"]) == ["b/w", "b/x"]
