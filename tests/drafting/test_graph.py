from agentmig.drafting.graph import Project
from tests.drafting.programs import tree_of

FILES = {
    "jobs/train.py": "import torch\nfrom pkg.model import Net\nfrom pkg import data\nimport helper\nimport json\n",
    "jobs/helper.py": "try:\n    import wandb\nexcept ImportError:\n    wandb = None\n",
    "pkg/__init__.py": "",
    "pkg/model.py": "import torch\nfrom .layers import Layer\nfrom torch.utils.tensorboard import SummaryWriter\n",
    "pkg/layers.py": "import numpy as np\n",
    "pkg/data.py": "import model\n",
}


def test_a_program_reaches_what_it_imports() -> None:
    reach = Project(tree_of(FILES)).reach("jobs/train.py")
    assert {module.path for module in reach.modules} == {*FILES}
    assert reach.main.path == "jobs/train.py"
    assert reach.roots == [""]
    assert set(reach.packages) == {"torch", "numpy", "wandb", "tensorboard", "model"}
    assert "wandb" not in reach.certain and "numpy" in reach.certain
    assert str(reach.packages["numpy"]) == "pkg/layers.py:1"


def test_the_number_of_modules_is_bounded() -> None:
    files = {f"m{n}.py": f"import m{n + 1}\n" for n in range(50)}
    assert len(Project(tree_of(files)).reach("m0.py", most=10).modules) == 10


def test_classes_that_hydra_makes_are_reached() -> None:
    files = {
        "train.py": "import hydra\n",
        "src/models/net.py": "import torch\n",
        "configs/model.yaml": "_target_: src.models.net.Net\n",
    }
    assert [m.path for m in Project(tree_of(files)).reach("train.py").modules] == [
        "train.py",
        "src/models/net.py",
    ]


def test_imports_in_a_circle_end() -> None:
    files = {"a.py": "import b\n", "b.py": "import a\nfrom . import a\n"}
    assert len(Project(tree_of(files)).reach("a.py").modules) == 2
