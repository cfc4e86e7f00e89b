import pytest

from agentmig.drafting.data import Source, find_data, is_path_option
from tests.drafting.programs import options_in, program_of

ARGS = "import argparse, os, torchvision, numpy as np\np = argparse.ArgumentParser()\np.add_argument('--data-dir', default='./data')\nargs = p.parse_args()\n"


def _sources(text: str) -> list[Source]:
    program = program_of(text)
    return find_data(program.reach, program.options, program.symbols)


@pytest.mark.parametrize(
    ("given", "is_path"),
    [
        ("'--data-dir'", True),
        ("'data'", True),
        ("'--train_file'", True),
        ("'--dataset', default='cifar10'", False),
        ("'--dataset', default='./data/x'", True),
        ("'--dataset', help='cifar10 | mnist | folder'", False),
        ("'--dataset', help='path of the data set'", True),
        ("'--data-dir', action='store_true'", False),
        ("'--data', choices=['a']", False),
        ("'--out-dir'", False),
    ],
)
def test_options_that_take_a_path_of_data(given: str, is_path: bool) -> None:
    (option,) = options_in(
        f"import argparse\np = argparse.ArgumentParser()\np.add_argument({given})\n"
    ).values()
    assert is_path_option(option) is is_path


def test_a_download_whose_place_is_an_option_is_that_option() -> None:
    (source,) = _sources(ARGS + "torchvision.datasets.MNIST(args.data_dir, download=True)\n")
    assert (source.kind, source.path) == ("option", "./data")
    assert source.option is not None and source.option.flag == "--data-dir"


def test_a_download_to_a_path_in_the_code() -> None:
    (source,) = _sources("import torchvision\ntorchvision.datasets.CIFAR10(root='./data', download=True)\n")
    assert (source.kind, source.what, source.path, source.local) == ("download", "CIFAR10", "./data", True)


@pytest.mark.parametrize(
    "text",
    [
        "import datasets\ndatasets.load_dataset('glue', 'mrpc')\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('bert-base')\n",
        "import torch\ntorch.hub.load('a/b', 'c')\n",
        "from urllib.request import urlretrieve\nurlretrieve(u, f)\n",
        "from torchvision import models\nmodels.resnet18(pretrained=True)\n",
        "import nltk\nnltk.download('punkt')\n",
    ],
)
def test_what_needs_the_network(text: str) -> None:
    (source,) = _sources(text)
    assert source.kind == "download" and source.path is None


def test_files_that_the_code_reads() -> None:
    text = (
        ARGS
        + "np.memmap(os.path.join('corpus', 'train.bin'))\nopen('names.txt')\nopen('log.txt', 'w')\nopen(f'{x}.txt')\nopen('script')\n"
    )
    assert [(source.kind, source.path) for source in _sources(text)] == [
        ("option", "./data"),
        ("path", "corpus/train.bin"),
        ("path", "names.txt"),
    ]


def test_an_address_is_a_download_and_a_reference_is_another_key() -> None:
    files = {
        "train.py": "import hydra\n@hydra.main(config_path='.', config_name='c')\ndef f(cfg): pass\n",
        "c.yaml": "data_config:\n  path: https://example.org/x.txt\npaths:\n  data_dir: data/\nset:\n  data_dir: ${paths.data_dir}\n",
    }
    program = program_of(files)
    sources = find_data(program.reach, program.options, program.symbols)
    assert [(s.kind, s.option.flag if s.option else None) for s in sources] == [
        ("download", "data_config.path"),
        ("option", "paths.data_dir"),
    ]
