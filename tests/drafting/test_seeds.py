import pytest

from agentmig.drafting.seeds import Seeds, find_seeds
from tests.drafting.programs import program_of


def _seeds(text: str) -> Seeds:
    program = program_of("import os, torch, random, argparse\np = argparse.ArgumentParser()\n" + text)
    return find_seeds(program.reach, program.options, program.symbols)


@pytest.mark.parametrize(
    "flag", ["--seed", "--manualSeed", "--random-seed", "--seed_everything", "--rng_seed"]
)
def test_an_option_that_is_called_a_seed(flag: str) -> None:
    option = _seeds(f"p.add_argument('{flag}', type=int)\n").option
    assert option is not None and option.flag == flag


def test_of_several_the_one_that_reaches_a_generator() -> None:
    text = "p.add_argument('--seed')\np.add_argument('--train_seed')\nargs = p.parse_args()\ntorch.manual_seed(args.train_seed)\n"
    option = _seeds(text).option
    assert option is not None and option.flag == "--train_seed"


def test_an_option_of_another_name_that_reaches_a_generator() -> None:
    seeds = _seeds("p.add_argument('--rng')\nargs = p.parse_args()\ntorch.manual_seed(args.rng)\n")
    assert seeds.option is not None and seeds.option.flag == "--rng"
    assert seeds.lines[0].constant is None


def test_seeds_that_the_code_writes() -> None:
    seeds = _seeds("SEED = 4\ntorch.manual_seed(1337 + rank)\nrandom.seed(SEED)\n")
    assert [(line.call, line.constant, line.place.line) for line in seeds.lines] == [
        ("torch.manual_seed", "1337", 4),
        ("random.seed", "4", 5),
    ]
    assert seeds.option is None


def test_environment_variables() -> None:
    assert _seeds("s = int(os.environ['SEED'])\n").variable is not None
    assert _seeds("s = int(os.environ.get('GLOBAL_SEED', 1))\n").variable is not None
    assert _seeds("os.environ['SEED'] = '1'\nh = os.environ['PYTHONHASHSEED']\n").variable is None


def test_a_generator_of_its_own_seeds_nothing() -> None:
    assert _seeds("g = torch.Generator()\ng.manual_seed(3)\n").lines == ()
