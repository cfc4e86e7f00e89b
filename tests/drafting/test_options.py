from agentmig.drafting.options import quoted
from tests.drafting.programs import options_in, program_of

ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("data", metavar="DIR")
parser.add_argument("-s", "--seed", type=int, default=3, help="of everything")
parser.add_argument("--lr", dest="learning_rate", required=True)
parser.add_argument("--eval", action="store_true")
parser.add_argument("--no-amp", action="store_false", dest="amp")
parser.add_argument("--mode", choices=["train", "test"])
parser.add_argument("-net")
parser.add_argument("--on", action="store_true")
parser.set_defaults(on=True)
parser.add_argument("--bad; rm", default=1)
parser.add_argument("rest", nargs=argparse.REMAINDER)
"""


def test_argparse() -> None:
    options = options_in(ARGPARSE)
    assert set(options) == {"data", "--seed", "--lr", "--eval", "--no-amp", "--mode", "-net", "--on"}
    assert options["data"].required and options["data"].style == "positional"
    seed = options["--seed"]
    assert (seed.default, seed.name, seed.help, seed.aliases) == (
        3,
        "seed",
        "of everything",
        ("-s", "--seed"),
    )
    assert str(seed.place) == "train.py:5"
    assert options["--lr"].required and options["--lr"].name == "learning_rate"
    assert options["--eval"].switch and options["--eval"].default is False
    assert options["--no-amp"].default is True
    assert options["--on"].default is True
    assert options["--mode"].choices == ("train", "test")
    assert options["-net"].given("vgg") == "-net vgg"
    assert options["--eval"].given("True") == "--eval"


def test_parsers_of_imported_modules_count_and_those_of_other_programs_do_not() -> None:
    program = program_of(
        {
            "train.py": "from opts import get_parser\nimport other\n",
            "opts.py": "def get_parser(p):\n    p.add_argument('--seed', default=1)\n",
            "other.py": "def f(p):\n    p.add_argument('--other')\nif __name__ == '__main__':\n    f(1)\n",
        }
    )
    assert [option.flag for option in program.options] == ["--seed"]


def test_click_typer_and_fire() -> None:
    click = options_in(
        "import click\n@click.command()\n@click.option('--seed', default=1)\n@click.argument('path')\ndef f(): pass\n"
    )
    assert click["--seed"].default == 1 and click["path"].required
    typer = options_in(
        "import typer\napp = typer.Typer()\n@app.command()\ndef f(data: str, out_dir: str = typer.Option('o'), fast: bool = False): pass\n"
    )
    assert typer["data"].style == "positional"
    assert typer["--out-dir"].default == "o" and typer["--fast"].switch
    fire = options_in("import fire\ndef main(seed=1, *, out): pass\nfire.Fire(main)\n")
    assert fire["--seed"].default == 1 and fire["--out"].required


def test_dataclasses_of_tyro_and_transformers() -> None:
    fields = "from dataclasses import dataclass, field\n@dataclass\nclass Args:\n    env_id: str\n    seed: int = 1\n    fast: bool = False\n    n: int = field(default=2)\n"
    tyro = options_in(f"import tyro\n{fields}args = tyro.cli(Args)\n")
    assert tyro["--env-id"].required and tyro["--seed"].default == 1
    assert tyro["--fast"].switch and tyro["--n"].default == 2
    parser = f"from transformers import HfArgumentParser, TrainingArguments\n{fields}HfArgumentParser((Args, TrainingArguments))\n"
    assert {"--env_id", "--output_dir", "--do_train", "--max_steps"} <= set(options_in(parser))


def test_absl_flags() -> None:
    options = options_in("from absl import flags\nflags.DEFINE_integer('seed', 4, 'a seed')\n")
    assert options["--seed"].given("{seed}") == "--seed={seed}"


def test_hydra_keys_are_overrides() -> None:
    program = program_of(
        {
            "train.py": "import hydra\n@hydra.main(config_path='conf', config_name='main')\ndef f(cfg): pass\n",
            "conf/main.yaml": "seed: 1\nckpt: ???\n",
        }
    )
    seed, checkpoint = program.options
    assert seed.given("{seed}") == "seed={seed}"
    assert checkpoint.required and checkpoint.default is None


def test_constants_that_the_command_line_overrides() -> None:
    reader = "import sys\nfor arg in sys.argv[1:]:\n    key, value = arg.split('=')\n    assert key.startswith('--')\n"
    program = program_of(
        {"train.py": "out_dir = 'out'\n_x = 1\nexec(open('conf.py').read())\n", "conf.py": reader}
    )
    assert [option.given("x") for option in program.options] == ["--out_dir=x"]
    nested = f"def get():\n    C = Config()\n    C.system.seed = 3\n    return C\n{reader}"
    assert [option.flag for option in program_of(nested).options] == ["--system.seed"]
    assert program_of("out_dir = 'out'\n").options == ()


def test_words_are_safe_in_a_workload_command() -> None:
    assert quoted("a b") == "'a b'"
    assert quoted("{x}") == "'{{x}}'"
