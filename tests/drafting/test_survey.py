from pathlib import Path

import pytest

from agentmig.drafting.survey import Survey
from tests.drafting.programs import survey_of
from tests.execution.projects import project

MAIN = "loss.backward()\nif __name__ == '__main__':\n    main()\n"


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("import torch\n", "torch"),
        ("import pytorch_lightning as pl\n", "Lightning"),
        ("from transformers import Trainer\nTrainer(m)\n", "transformers Trainer"),
        ("from transformers import AutoModel\n", "torch"),
        ("import accelerate\n", "accelerate"),
    ],
)
def test_frameworks(tmp_path: Path, text: str, framework: str) -> None:
    assert survey_of(tmp_path, {"train.py": text + MAIN}).framework[0] == framework


def test_requirements_of_a_folder_may_stand_at_the_root_of_its_repository(tmp_path: Path) -> None:
    root = project(
        tmp_path / "all", {"a/b/train.py": "import torch\n" + MAIN, "requirements.txt": "torch\ntqdm\n"}
    )
    found = Survey(root / "a" / "b").requirements
    assert (found.file, str(found.lines[1].place)) == ("../../requirements.txt", "../../requirements.txt:2")


def test_documented_evaluation_is_no_training(tmp_path: Path) -> None:
    survey = survey_of(
        tmp_path,
        {"train.py": "import torch\n" + MAIN, "README.md": "python train.py --eval\n\npython train.py\n"},
    )
    assert survey.train is not None
    assert [launch.place.line for launch in survey.launches_of(survey.train)] == [3]
    assert [launch.place.line for launch in survey.launches_of(survey.train, evaluating=True)] == [1]


def test_what_can_not_be_parsed_is_named(tmp_path: Path) -> None:
    survey = survey_of(tmp_path, {"train.py": "import torch, old\n" + MAIN, "old.py": "print 'x'\n"})
    assert survey.modules
    assert survey.unreadable[0].startswith("old.py: line 1")


def test_where_torch_is_first_used(tmp_path: Path) -> None:
    assert str(survey_of(tmp_path / "a", {"x.py": "\nimport torch\n"}).uses_torch()) == "x.py:2"
    assert survey_of(tmp_path / "b", {"x.py": "import jax\n"}).uses_torch() is None
