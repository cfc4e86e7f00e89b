from agentmig.drafting.graph import Project
from agentmig.drafting.launches import documented_launches
from agentmig.drafting.programs import evaluation_program, training_programs
from tests.drafting.programs import tree_of

TRAIN = "import torch\nloss.backward()\nif __name__ == '__main__':\n    main()\n"
EVALUATE = "import torch, argparse\nimport net\nmodel.load_state_dict(torch.load(p))\nif __name__ == '__main__':\n    main()\n"


def _ranked(files: dict[str, str]) -> list[str]:
    tree = tree_of(files)
    return [candidate.path for candidate in training_programs(Project(tree), documented_launches(tree), [])]


def test_the_likeliest_training_program_comes_first() -> None:
    assert (
        _ranked({"tools/train.py": TRAIN, "train.py": TRAIN, "sample.py": TRAIN, "net.py": "import torch\n"})[
            0
        ]
        == "train.py"
    )


def test_what_documents_start_counts() -> None:
    files = {"a_job.py": TRAIN, "b_job.py": TRAIN, "README.md": "python b_job.py\n"}
    assert _ranked(files) == ["b_job.py", "a_job.py"]


def test_training_through_imports_is_found() -> None:
    files = {
        "main.py": "import engine\nif __name__ == '__main__':\n    engine.go()\n",
        "engine.py": "def go():\n    loss.backward()\n",
    }
    assert _ranked(files) == ["main.py"]


def test_trainers_train_as_well() -> None:
    lightning = "import lightning as L\nL.Trainer().fit(model)\nif __name__ == '__main__':\n    pass\n"
    scaler = "optimizer.zero_grad()\nscaler(loss, optimizer)\nif __name__ == '__main__':\n    pass\n"
    assert _ranked({"fit.py": lightning}) == ["fit.py"]
    assert _ranked({"run.py": scaler}) == ["run.py"]


def test_unit_tests_and_modules_are_no_programs() -> None:
    unit = "import pytest\nimport torch\ndef test_train():\n    loss.backward()\nif __name__ == '__main__':\n    pytest.main()\n"
    assert _ranked({"test_train.py": unit, "engine.py": "def go():\n    loss.backward()\n"}) == []


def test_the_evaluation_lies_near_and_loads_a_checkpoint() -> None:
    files = {
        "train.py": TRAIN + "import net\n",
        "net.py": "import torch\n",
        "evaluate.py": EVALUATE,
        "other/evaluate.py": EVALUATE.replace("import net\n", ""),
        "eval_utils.py": "import torch\n",
        "tests/test_net.py": EVALUATE,
    }
    project = Project(tree_of(files))
    found = evaluation_program(project, project.reach("train.py"))
    assert found is not None and found.program == "evaluate.py"


def test_what_only_looks_like_an_evaluation_is_none() -> None:
    for text in ("import torch\nif __name__ == '__main__':\n    pass\n", TRAIN + "torch.load(p)\n"):
        project = Project(tree_of({"train.py": TRAIN, "evaluate.py": text}))
        assert evaluation_program(project, project.reach("train.py")) is None
