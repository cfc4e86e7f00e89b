from pathlib import Path

from agentmig.drafting.asking import about_gpu, about_repository, about_watching, protected
from agentmig.drafting.evaluating import evaluation
from agentmig.drafting.starting import start
from agentmig.drafting.survey import Survey
from agentmig.drafting.training import training
from tests.drafting.programs import survey_of
from tests.execution.projects import git, pointer, project, write

TRAIN = "import torch, data\nloss.backward()\ntorch.save(m, 'm.pt')\nif __name__ == '__main__':\n    main()\n"


def test_the_gpu_of_the_reference(tmp_path: Path) -> None:
    option = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\n"
    survey = survey_of(tmp_path, {"train.py": TRAIN + option})
    assert survey.train is not None
    (question,) = about_gpu(start(survey, survey.train))
    assert question.key == "reference.accelerator" and "--device cpu" in question.text


def test_what_leaves_a_verification_without_a_verdict(tmp_path: Path) -> None:
    survey = survey_of(tmp_path, {"train.py": TRAIN})
    assert {question.text.split("(")[-1][:-2] for question in about_watching(survey.unwatched)} == {
        "batches_unmatched",
        "no_optimizer_step",
    }


def test_what_is_not_committed(tmp_path: Path) -> None:
    root = project(tmp_path / "project", {"train.py": TRAIN, "w.bin": pointer(b"1")})
    write(root, {"train.py": TRAIN + "x = 1\n", "data.py": "import torch\n"})
    survey = Survey(root)
    assert survey.train is not None  # what it imports counts
    texts = [question.text for question in about_repository(survey)]
    assert [
        part in text for part, text in zip(("train.py differ", "data.py", "w.bin"), texts, strict=True)
    ] == [True] * 3


def test_no_repository_and_no_commit(tmp_path: Path) -> None:
    survey = survey_of(tmp_path / "a", {"train.py": TRAIN})
    assert [(q.key, q.kind) for q in about_repository(survey)] == [("project.path", "missing")]
    write(tmp_path / "b", {"train.py": TRAIN})
    git(tmp_path / "b", "init", "--quiet")
    assert [q.key for q in about_repository(Survey(tmp_path / "b"))] == ["project.base_commit"]


def test_what_a_migration_may_not_change(tmp_path: Path) -> None:
    files = {
        "train.py": TRAIN + "import loaders_data\n",
        "data.py": "class Set: pass\n",
        "loaders_data.py": "from torch.utils.data import DataLoader\n",
        "data/x.csv": "1",
        "datasets/make.py": "",
        "requirements.txt": "torch\n",
        "evaluate.py": "import torch, data\ntorch.load('m.pt')\nif __name__ == '__main__':\n    pass\n",
    }
    survey = survey_of(tmp_path, files)
    assert survey.train is not None
    made = evaluation(survey, survey.train, training(survey, survey.train))
    assert set(protected(survey, survey.train, made)) == {
        "evaluate.py",
        "data.py",
        "data",
        "requirements.txt",
        "workload.toml",
    }
