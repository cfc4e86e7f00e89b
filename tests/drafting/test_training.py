from pathlib import Path

import pytest

from agentmig.drafting.training import Training, training
from tests.drafting.programs import survey_of

HEAD = "import torch, argparse, os\np = argparse.ArgumentParser()\n"
REST = "args = p.parse_args()\nloss.backward()\ntorch.save(m, 'm.pt')\n"


def _training(folder: Path, text: str, files: dict[str, str] | None = None) -> Training:
    survey = survey_of(folder, {"train.py": text, **(files or {})})
    assert survey.train is not None
    return training(survey, survey.train)


def test_the_whole_command(tmp_path: Path) -> None:
    options = (
        "p.add_argument('--seed')\np.add_argument('--data-dir', default='data/x')\np.add_argument('--out')\n"
    )
    text = HEAD + options + "args = p.parse_args()\nloss.backward()\ntorch.save(m, args.out + '/m.pt')\n"
    made = _training(tmp_path, text)
    assert made.command == "python train.py --seed {seed} --data-dir {data.x} --out {out}"
    assert made.output.checkpoint == "{out}/m.pt"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("p.add_argument('--seed')\n", " --seed {seed}"),
        ("p.add_argument('--rng')\ntorch.manual_seed(p.parse_args().rng)\n", " --rng {seed}"),
        ("torch.manual_seed(int(os.environ['SEED']))\n", "SEED={seed} python train.py"),
        ("torch.manual_seed(3)\n", "--FILL-IN-seed {seed}"),
        ("", "torch.manual_seed({seed}); runpy.run_path('train.py', run_name='__main__')"),
        ("import numpy\n", "numpy.random.seed({seed})"),
        ("torch.multiprocessing.spawn(f)\n", "--FILL-IN-seed {seed}"),
    ],
)
def test_the_seed_reaches_the_program(tmp_path: Path, text: str, part: str) -> None:
    made = _training(tmp_path, HEAD + text + REST)
    assert part in made.command
    missing = [question for question in made.questions if question.kind == "missing"]
    assert bool(missing) is ("FILL-IN" in part)


def test_a_seed_in_the_code_is_told_with_its_line(tmp_path: Path) -> None:
    made = _training(tmp_path, HEAD + "torch.manual_seed(1337 + rank)\n" + REST)
    (question,) = [question for question in made.questions if question.kind == "missing"]
    assert "train.py:3 writes the seed in the code (torch.manual_seed(1337))" in question.text
    assert (question.file, question.line) == ("train.py", 3)


def test_an_option_without_which_there_is_no_torch_optimizer(tmp_path: Path) -> None:
    text = "p.add_argument('--adam', action='store_true')\nargs = p.parse_args()\nif args.adam:\n    o = torch.optim.Adam(x)\n"
    assert "--adam" in _training(tmp_path, HEAD + text + REST).command


def test_an_endless_training_has_to_be_ended(tmp_path: Path) -> None:
    made = _training(tmp_path, HEAD + "p.add_argument('--max-steps', default=-1)\n" + REST)
    assert "--max-steps FILL-IN" in made.command
    assert any("has no end" in question.text and question.kind == "missing" for question in made.questions)


@pytest.mark.parametrize(
    ("readme", "asked"), [("", "Is 90 epochs"), ("python train.py --epochs 30\n", "Is 30 epochs")]
)
def test_a_long_training_is_asked_about(tmp_path: Path, readme: str, asked: str) -> None:
    made = _training(
        tmp_path, HEAD + "p.add_argument('--epochs', default=90)\n" + REST, {"README.md": readme}
    )
    (question,) = [question for question in made.questions if "epochs" in question.text]
    assert question.text.startswith(asked) and "--epochs N" in question.text


def test_a_program_in_a_folder_is_found_by_the_wrapper_that_seeds_it(tmp_path: Path) -> None:
    survey = survey_of(tmp_path, {"a/train.py": HEAD + REST, "README.md": "python a/train.py\n"})
    assert survey.train is not None
    assert "sys.path.insert(0, 'a')" in training(survey, survey.train).command
