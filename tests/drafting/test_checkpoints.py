from agentmig.drafting.checkpoints import switches
from agentmig.drafting.outputs import shown
from tests.drafting.programs import program_of

ARGS = "import torch, argparse, os\np = argparse.ArgumentParser()\np.add_argument('--out')\np.add_argument('--resume')\np.add_argument('--save-model', action='store_true')\np.add_argument('--init', default='scratch')\nargs = p.parse_args()\n"


def _saves(text: str) -> list[tuple[str, str]]:
    return [(shown(saved.path), saved.what) for saved in program_of(ARGS + text).saves]


def test_the_model_comes_before_what_is_saved_beside_it() -> None:
    text = "torch.save(optimizer.state_dict(), args.out + '/optim.pt')\ntorch.save(model.state_dict(), args.out + '/model.pt')\n"
    assert _saves(text)[0] == ("<--out>/model.pt", "model.state_dict()")


def test_a_dictionary_is_told_by_its_keys() -> None:
    text = "state = {'net': n, 'optimizer': o}\ntorch.save(state, 'c.pt')\n"
    assert _saves(text) == [("c.pt", "a dictionary with net, optimizer")]


def test_wrappers_around_torch_save_are_seen_through() -> None:
    text = "def save(*args, **kwargs):\n    torch.save(*args, **kwargs)\nsave(model, 'c.pt')\n"
    assert _saves(text) == [("c.pt", "model")]


def test_folders_of_transformers_and_accelerate() -> None:
    assert _saves("model.save_pretrained(args.out)\ntokenizer.save_pretrained(args.out)\n") == [
        ("<--out>/model.safetensors", "model.save_pretrained")
    ]


def test_options_without_which_nothing_is_saved() -> None:
    program = program_of(ARGS + "if args.save_model and rank == 0:\n    torch.save(m, 'c.pt')\n")
    assert [(option.flag, value) for option, value in switches(program.saves[0].guards, program.symbols)] == [
        ("--save-model", None)
    ]
    otherwise = program_of(ARGS + "if args.save_model:\n    pass\nelse:\n    torch.save(m, 'c.pt')\n")
    assert switches(otherwise.saves[0].guards, otherwise.symbols) == []


def test_where_checkpoints_are_loaded_and_what_opens_that() -> None:
    text = "if args.init == 'scratch':\n    pass\nelif args.init == 'resume':\n    torch.load(os.path.join(args.out, 'c.pt'))\ntorch.load(args.resume)\n"
    program = program_of(ARGS + text)
    assert [shown(loaded.path) for loaded in program.loads] == ["<--out>/c.pt", "<--resume>"]
    opened = switches(program.loads[0].guards, program.symbols)
    assert [(option.flag, value) for option, value in opened] == [("--init", "resume")]


def test_lightning_and_load_from_checkpoint() -> None:
    text = "Net.load_from_checkpoint(args.resume)\ntrainer.test(m, ckpt_path=args.resume)\ntrainer.test(m, ckpt_path='best')\n"
    assert [shown(loaded.path) for loaded in program_of(ARGS + text).loads] == ["<--resume>", "<--resume>"]
