from pathlib import Path

import pytest

from agentmig.drafting.supplying import Supplies, ordered, supply
from tests.drafting.programs import survey_of

HEAD = "import torch, argparse, torchvision\np = argparse.ArgumentParser()\n"
TAIL = "args = p.parse_args()\nloss.backward()\n"


def _supplies(
    folder: Path, options: str, text: str = "", files: dict[str, str] | None = None
) -> tuple[Supplies, str]:
    given = "".join(f"p.add_argument({option})\n" for option in options.split(";") if option)
    survey = survey_of(folder, {"train.py": HEAD + given + TAIL + text, **(files or {})})
    assert survey.train is not None
    made = supply(survey, survey.train, "train.command", [], "")
    return made, " ".join([*made.before, *ordered(survey.train, made.arguments)])


@pytest.mark.parametrize(
    ("options", "text", "words", "data"),
    [
        ("'--data-dir', default='./data'", "", "--data-dir {data.data}", {"data": "/FILL-IN/data"}),
        ("'data', nargs='?', default='imagenet'", "", "{data.imagenet}", {"imagenet": "/FILL-IN/imagenet"}),
        (
            "",
            "torchvision.datasets.MNIST('../data')\n",
            "ln -sfn {data.mnist} ../data &&",
            {"mnist": "/FILL-IN/mnist"},
        ),
        (
            "",
            "torchvision.datasets.MNIST('a/b')\n",
            "mkdir -p a && ln -sfn {data.b} a/b &&",
            {"b": "/FILL-IN/b"},
        ),
        ("", "open('corpus/x.txt')\n", "ln -sfn {data.corpus} corpus &&", {"corpus": "/FILL-IN/corpus"}),
        ("", "open('/no/such/x.txt')\n", "", {"such": "/no/such"}),
        ("'--data-dir'", "", "--data-dir {data.data}", {"data": "/FILL-IN/data"}),
    ],
)
def test_data_from_outside_of_the_checkout(
    tmp_path: Path, options: str, text: str, words: str, data: dict[str, str]
) -> None:
    made, command = _supplies(tmp_path, options, text)
    assert (command, made.data) == (words, data)
    marked = any("FILL-IN" in place for place in data.values())
    assert [question.key for question in made.questions] == [
        f"data.{name}.paths.local" for name in data if marked
    ]


def test_data_that_is_in_the_project_is_left_alone(tmp_path: Path) -> None:
    made, command = _supplies(
        tmp_path,
        "'--data', default='./data/x'",
        "open('names.txt')\n",
        {"data/x/a.csv": "1", "names.txt": "n"},
    )
    assert (command, made.data, made.questions) == ("", {}, [])
    assert {finding.value for finding in made.findings} == {
        "./data/x: in the repository",
        "names.txt: in the repository",
    }


def test_data_that_lies_there_uncommitted_is_named(tmp_path: Path) -> None:
    (tmp_path / "data" / "empty").mkdir(parents=True)
    made, _ = _supplies(tmp_path, "'--data-dir', default='./data/empty'")
    assert made.data == {"empty": str(tmp_path / "data" / "empty")}
    assert made.questions == []


def test_links_into_a_folder_that_is_there(tmp_path: Path) -> None:
    _, command = _supplies(tmp_path, "", "open('corpus/x.bin')\n", {"corpus/prepare.py": ""})
    assert command == "ln -sf {data.corpus}/* corpus/ &&"


def test_what_lies_too_far_out_can_not_be_linked(tmp_path: Path) -> None:
    made, command = _supplies(tmp_path, "", "torchvision.datasets.MNIST('../../data/mnist')\n")
    assert (command, made.data) == ("", {})
    assert "outside of the project" in made.questions[0].text


@pytest.mark.parametrize(
    ("options", "files", "words"),
    [
        ("'--net', required=True", {}, "--net FILL-IN"),
        ("'--net', required=True", {"README.md": "python train.py --net vgg\n"}, "--net vgg"),
        ("'--net', required=True", {"README.md": "python train.py --net <NET>\n"}, "--net FILL-IN"),
        ("'--mode', choices=['train', 'test']", {}, "--mode train"),
        ("'--mode', choices=['train', 'test'], default='train'", {}, ""),
        ("'--train', action='store_true'", {}, "--train"),
        (
            "'--lr', default=1;'-b', '--batch', default=2",
            {"README.md": "python train.py -b 64\n"},
            "--batch 64",
        ),
        ("'count'", {}, "FILL-IN"),
    ],
)
def test_arguments_that_a_command_needs(
    tmp_path: Path, options: str, files: dict[str, str], words: str
) -> None:
    made, command = _supplies(tmp_path, options, files=files)
    assert command == words
    assert bool(made.questions) is ("FILL-IN" in words)


def test_a_switch_of_the_gpu_is_told_and_left_out(tmp_path: Path) -> None:
    made, command = _supplies(
        tmp_path, "'--gpu', action='store_true'", files={"README.md": "python train.py --gpu\n"}
    )
    assert command == ""
    assert any(line.startswith("--gpu would switch the GPU on") for line in made.why)


def test_the_network_is_asked_about_once(tmp_path: Path) -> None:
    text = "import datasets\ndatasets.load_dataset('a')\ndatasets.load_dataset('b')\n"
    made, _ = _supplies(tmp_path, "", text)
    assert [(question.key, question.kind) for question in made.questions] == [("train.command", "confirm")]
    assert "no network" in made.questions[0].text


def test_weights_and_biases_are_switched_off(tmp_path: Path) -> None:
    made, _ = _supplies(tmp_path, "", "import wandb\n")
    assert made.env == {"WANDB_MODE": "disabled"}
