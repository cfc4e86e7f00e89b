from pathlib import Path

import pytest

from agentmig.drafting.evaluating import Evaluation, evaluation
from agentmig.drafting.training import training
from tests.drafting.programs import survey_of

HEAD = "import torch, argparse, os\np = argparse.ArgumentParser()\n"
TRAIN = HEAD + "p.add_argument('--seed')\np.add_argument('--out', default='m.pt')\n"
REST = "args = p.parse_args()\nmodel = Net()\nloss.backward()\ntorch.save(model.state_dict(), args.out)\n"
MAIN = "if __name__ == '__main__':\n    main()\n"


def _evaluation(folder: Path, files: dict[str, str]) -> Evaluation:
    survey = survey_of(folder, files)
    assert survey.train is not None
    return evaluation(survey, survey.train, training(survey, survey.train))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("p.add_argument('--checkpoint')\na = p.parse_args()\ntorch.load(a.checkpoint)\n", "python test.py --checkpoint {checkpoint}"),
        ("p.add_argument('weights')\na = p.parse_args()\ntorch.load(a.weights)\n", "python test.py {checkpoint}"),
        ("p.add_argument('--model')\na = p.parse_args()\ntorch.load(a.model)\n", "python test.py --model {checkpoint}"),
        ("torch.load('ckpt/m.pt')\n", "mkdir -p ckpt && cp {checkpoint} ckpt/m.pt && python test.py"),
        ("p.add_argument('--dir')\na = p.parse_args()\ntorch.load(os.path.join(a.dir, 'm.pt'))\n", 'python test.py --dir "$(dirname {checkpoint})"'),
        ("p.add_argument('--ckpt')\nmodel.load_state_dict(load(p))\n", "python test.py --ckpt {checkpoint}"),
        ("p.add_argument('--net', required=True)\np.add_argument('--ckpt')\na = p.parse_args()\ntorch.load(a.ckpt)\n", "python test.py --net FILL-IN --ckpt {checkpoint}"),
    ],
)  # fmt: skip
def test_a_program_of_its_own(tmp_path: Path, text: str, command: str) -> None:
    made = _evaluation(tmp_path, {"train.py": TRAIN + REST, "test.py": HEAD + text + MAIN})
    assert (made.command, made.separate) == (command, True)


@pytest.mark.parametrize(
    ("options", "text", "command"),
    [
        ("p.add_argument('--evaluate', action='store_true')\np.add_argument('--resume')\n", "torch.load(args.resume)\n", "python train.py --evaluate --resume {checkpoint}"),
        ("p.add_argument('--mode', choices=['train', 'eval'])\np.add_argument('--resume')\n", "torch.load(args.resume)\n", "python train.py --mode eval --resume {checkpoint}"),
        ("p.add_argument('--eval', action='store_true')\np.add_argument('--load', action='store_true')\n", "if args.load:\n    torch.load('x.pt')\n", "cp {checkpoint} x.pt && python train.py --eval --load"),
    ],
)  # fmt: skip
def test_the_training_program_with_an_option(tmp_path: Path, options: str, text: str, command: str) -> None:
    made = _evaluation(tmp_path, {"train.py": TRAIN + options + REST + text})
    assert (made.command, made.separate) == (command, False)


def test_what_training_needs_evaluation_gets_too(tmp_path: Path) -> None:
    options = "p.add_argument('--arch', default='a')\np.add_argument('--data-dir', required=True)\np.add_argument('--eval', action='store_true')\np.add_argument('--resume')\n"
    files = {
        "train.py": TRAIN + options + REST + "torch.load(args.resume)\n",
        "README.md": "python train.py --arch b\n",
    }
    assert (
        _evaluation(tmp_path, files).command
        == "python train.py --arch b --data-dir {data.data} --eval --resume {checkpoint}"
    )


def test_what_a_person_has_to_write_is_said_with_its_places(tmp_path: Path) -> None:
    text = TRAIN + REST + "def test(model):\n    print(f'accuracy: {a}')\n"
    made = _evaluation(tmp_path, {"train.py": text})
    assert made.command == "python FILL-IN-evaluate.py --checkpoint {checkpoint}"
    (question,) = made.questions
    for part in ("model (train.py:6)", "train.py:8", "model.state_dict()", "test (train.py:9)", "`test accuracy: 0.5`", "Importing train.py would train"):  # fmt: skip
        assert part in question.text


def test_an_option_that_evaluates_without_a_checkpoint_is_none(tmp_path: Path) -> None:
    made = _evaluation(
        tmp_path, {"train.py": TRAIN + "p.add_argument('--eval', action='store_true')\n" + REST}
    )
    assert made.program is None
