from pathlib import Path

import pytest

from agentmig.drafting.starting import Start, needs_launcher, start
from tests.drafting.programs import program_of, survey_of

MAIN = "import os, torch\nloss.backward()\nif __name__ == '__main__':\n    main()\n"
DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(model)\n"


def _start(folder: Path, files: dict[str, str], train: str | None = None) -> Start:
    survey = survey_of(folder, files, train)
    assert survey.train is not None
    return start(survey, survey.train)


@pytest.mark.parametrize(
    ("text", "readme", "launcher", "chips", "strategy"),
    [
        ("", "", "python", 1, "none"),
        ("", "python train.py", "python", 1, "none"),
        (DDP + "r = os.environ['RANK']\n", "", "torchrun", 4, "DDP"),
        (DDP + "r = os.environ['RANK']\n", "python -m torch.distributed.launch train.py", "torchrun", 4, "DDP"),
        (DDP, "python -m torch.distributed.launch train.py", "torch.distributed.launch", 4, "DDP"),
        ("", "torchrun --nproc_per_node 8 train.py", "torchrun", 4, "none"),
        (DDP + "torch.multiprocessing.spawn(f)\n", "", "python", 1, "DDP"),
        ("model = torch.nn.DataParallel(model)\n", "", "python", 1, "DataParallel"),
        ("from accelerate import Accelerator\na = Accelerator()\n", "", "accelerate launch", 4, "none"),
        ("import deepspeed\ndeepspeed.initialize()\n", "", "deepspeed", 4, "DeepSpeed"),
        ("import lightning as L\nL.Trainer(strategy='ddp')\n", "", "python", 1, "Lightning ddp"),
        ("from transformers import Trainer\nTrainer(m)\n", "", "python", 1, "none"),
        ("from transformers import Trainer\nTrainer(m)\n", "torchrun train.py", "torchrun", 4, "none"),
        ("from torch.distributed.fsdp import FullyShardedDataParallel\nFullyShardedDataParallel(m)\nos.environ['RANK']\n", "", "torchrun", 4, "FSDP"),
    ],
)  # fmt: skip
def test_launcher_and_strategy(
    tmp_path: Path, text: str, readme: str, launcher: str, chips: int, strategy: str
) -> None:
    begin = _start(tmp_path, {"train.py": MAIN + text, "README.md": f"```\n{readme}\n```\n"})
    assert (begin.launcher, begin.chips, begin.strategy) == (launcher, chips, strategy)
    assert ("{chips}" in begin.words) is (chips > 1)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("model.cuda()\n", "yes"),
        ("if torch.cuda.is_available():\n    model.cuda()\n", "no"),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\n",
            "option",
        ),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\nm.cuda()\n",
            "yes",
        ),
        (DDP + "os.environ['RANK']\ntorch.distributed.init_process_group('nccl')\n", "yes"),
        (DDP + "os.environ['RANK']\ntorch.distributed.init_process_group('gloo')\n", "no"),
    ],
)
def test_whether_a_gpu_is_needed(tmp_path: Path, text: str, needs: str) -> None:
    assert _start(tmp_path, {"train.py": MAIN + text}).needs_gpu == needs


def test_modules_outside_of_the_programs_folder_need_a_search_path(tmp_path: Path) -> None:
    begin = _start(tmp_path, {"jobs/train.py": MAIN + "import pkg.net\n", "pkg/net.py": ""})
    assert (begin.words, begin.env, begin.folder) == ("python jobs/train.py", {"PYTHONPATH": "."}, "")


def test_a_program_is_started_where_its_data_fits(tmp_path: Path) -> None:
    files = {"src/train.py": MAIN + "open('../data/x.csv')\nimport pkg\n", "data/x.csv": "1", "pkg.py": ""}
    begin = _start(tmp_path, files)
    assert (begin.words, begin.folder, begin.env) == ("python train.py", "src", {"PYTHONPATH": ".."})


def test_a_program_is_started_where_documents_start_it(tmp_path: Path) -> None:
    files = {"part/train.py": MAIN, "part/README.md": "python train.py\n"}
    assert _start(tmp_path, files).folder == "part"


def test_other_programs_that_train_are_named(tmp_path: Path) -> None:
    begin = _start(tmp_path, {"train.py": MAIN, "train_b.py": MAIN})
    assert "train_b.py" in begin.questions[0].text


def test_the_old_launchers_argument(tmp_path: Path) -> None:
    option = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--local_rank')\n"
    begin = _start(
        tmp_path, {"train.py": MAIN + option, "r.sh": "python -m torch.distributed.launch train.py\n"}
    )
    assert "--local-rank" in begin.questions[0].text


def test_ranks_that_a_launcher_has_to_set() -> None:
    assert needs_launcher(program_of("import os\nos.environ['RANK']\n").reach)
    assert not needs_launcher(program_of("import os\nos.environ.get('RANK', 0)\n").reach)
    assert not needs_launcher(program_of("import os\n").reach)
