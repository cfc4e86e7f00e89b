from pathlib import Path

import pytest

from agentmig.drafting.outputs import Output, output
from tests.drafting.programs import survey_of

HEAD = "import torch, argparse, os\np = argparse.ArgumentParser()\np.add_argument('--out-dir')\np.add_argument('--save', default='m.pth')\np.add_argument('--keep', action='store_true')\np.add_argument('--project', help='folder to save to')\nargs = p.parse_args()\nloss.backward()\n"


def _output(folder: Path, text: str, header: str = HEAD) -> Output:
    survey = survey_of(folder, {"train.py": header + text})
    assert survey.train is not None
    return output(survey, survey.train)


@pytest.mark.parametrize(
    ("path", "arguments", "after", "checkpoint"),
    [
        ("args.save", {"--save": "--save {out}/model.pth"}, "", "{out}/model.pth"),
        ("args.out_dir + '/m.pt'", {"--out-dir": "--out-dir {out}"}, "", "{out}/m.pt"),
        ("args.save + '.tar'", {"--save": "--save {out}/model"}, "", "{out}/model.tar"),
        ("'ckpt/m.pt'", {}, " && cp ckpt/m.pt {out}/", "{out}/m.pt"),
        ("'my model.pt'", {}, " && cp 'my model.pt' {out}/", "{out}/my_model.pt"),
        (
            "f'ckpt/m-{e}.pt'",
            {},
            ' && cp "$(ls -t ckpt/m-*.pt | head -n 1)" {out}/final.pt',
            "{out}/final.pt",
        ),
        (
            "f'{args.out_dir}/m-{e}.pt'",
            {"--out-dir": "--out-dir {out}"},
            " && cp \"$(find {out} -name 'm-*.pt' -exec ls -t {{}} + | head -n 1)\" {out}/final.pt",
            "{out}/final.pt",
        ),
        (
            "make(args.project) / 'last.pt'",
            {"--project": "--project {out}"},
            ' && cp "$(find {out} -name last.pt -exec ls -t {{}} + | head -n 1)" {out}/final.pt',
            "{out}/final.pt",
        ),
    ],
)
def test_the_checkpoint_lands_in_the_output_folder(
    tmp_path: Path, path: str, arguments: dict[str, str], after: str, checkpoint: str
) -> None:
    made = _output(tmp_path, f"torch.save(model.state_dict(), {path})\n")
    assert (made.arguments, made.after, made.checkpoint) == (arguments, after, checkpoint)


def test_a_name_that_changes_is_asked_about(tmp_path: Path) -> None:
    made = _output(tmp_path, "torch.save(m, f'm-{e}.pt')\n")
    assert [question.kind for question in made.questions] == ["confirm"]


def test_an_option_without_which_nothing_is_saved_is_given(tmp_path: Path) -> None:
    made = _output(tmp_path, "if args.keep:\n    torch.save(m, 'm.pt')\n")
    assert made.arguments == {"--keep": "--keep"}
    assert any("--keep" in line for line in made.why)


def test_a_path_that_can_not_be_told_is_asked_for(tmp_path: Path) -> None:
    made = _output(
        tmp_path,
        "torch.save(m, somewhere())\n",
        "import torch\nloss.backward()\nif __name__ == '__main__': pass\n",
    )
    assert made.checkpoint == "{out}/FILL-IN.pt"
    assert [question.kind for question in made.questions] == ["missing"]


def test_a_program_that_saves_nothing(tmp_path: Path) -> None:
    made = _output(tmp_path, "")
    assert made.checkpoint == "{out}/FILL-IN.pt"
    assert "torch.save" in made.questions[0].text


def test_trainers_save_by_themselves(tmp_path: Path) -> None:
    lightning = _output(
        tmp_path / "a", "L.Trainer().fit(m)\n", "import lightning as L\nif __name__ == '__main__': pass\n"
    )
    assert lightning.checkpoint == "{out}/final.ckpt" and "'*.ckpt'" in lightning.after
    parser = "from transformers import HfArgumentParser, Trainer, TrainingArguments\na = HfArgumentParser(TrainingArguments)\n"
    text = f"{parser}t = Trainer(m)\nt.train()\nt.save_model()\nif __name__ == '__main__': pass\n"
    hugging = _output(tmp_path / "b", "", text)
    assert (hugging.checkpoint, hugging.questions) == ("{out}/model.safetensors", ())
