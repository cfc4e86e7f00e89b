"""Where a program's data comes from: options, paths in the code, and downloads, which runs can't make."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Literal

from agentmig.drafting.findings import Place
from agentmig.drafting.graph import Reach
from agentmig.drafting.module import Module, argument, constant, keyword
from agentmig.drafting.options import Option
from agentmig.drafting.symbolic import Opt, Symbols, Template, literal

_OPTION = re.compile(
    r"(?:^|[._])(?:data|dataset|datasets|input|train|train_data|training_data|corpus|image|images|imagenet|val|valid|test|eval)_?"
    r"(?:_?(?:dir|path|root|folder|file|files|location))s?$|^(?:train|training|valid|val|test|eval)_(?:data|set|file)$|^(?:data|dataroot|data_?set|corpus|imagenet|root|input|db_path)$|(?:^|\.)data\w*\.(?:\w+_)?(?:path|root|dir|file)s?$",
    re.IGNORECASE,
)
_PATH_WORDS = re.compile(r"path|folder|director|location|file|root|(?<![a-z])dir(?![a-z])", re.IGNORECASE)
_READS = {
    "open": (0, "file"),
    "numpy.load": (0, "file"),
    "numpy.loadtxt": (0, "fname"),
    "numpy.genfromtxt": (0, "fname"),
    "numpy.memmap": (0, "filename"),
    "numpy.fromfile": (0, "file"),
    "h5py.File": (0, "name"),
    "lmdb.open": (0, "path"),
    "scipy.io.loadmat": (0, "file_name"),
    "torchvision.datasets.ImageFolder": (0, "root"),
    "torchvision.datasets.DatasetFolder": (0, "root"),
}
_DOWNLOADS: list[tuple[re.Pattern[str], str]] = [
    (
        re.compile(r"^datasets\.load_dataset$|(?:^|\.)load_dataset_builder$"),
        "a dataset from the Hugging Face hub",
    ),
    (re.compile(r"^evaluate\.load$|^datasets\.load_metric$"), "a metric's code from the Hugging Face hub"),
    (
        re.compile(
            r"^torchtext\.datasets\.|^torchaudio\.datasets\.|^torch_geometric\.datasets\.|^ogb\..*Dataset$"
        ),
        "a dataset",
    ),
    (re.compile(r"^sklearn\.datasets\.fetch_"), "a dataset"),
    (
        re.compile(
            r"^torch\.hub\.(?:load|download_url_to_file)$|load_state_dict_from_url$|model_zoo\.load_url$"
        ),
        "weights",
    ),
    (
        re.compile(
            r"(?:hf_hub_download|snapshot_download|urlretrieve|urlopen|^gdown\.\w+|^wget\.download|^nltk\.download|^requests\.get|download_url|download_and_extract_archive)$"
        ),
        "a file",
    ),
]
_PRETRAINED = re.compile(r"\.from_pretrained$")


@dataclass(frozen=True)
class Source:
    """Data that a program reads.

    Attributes:
        kind: `option`: the command line says where; `path`: the code does; `download`: it comes from the network, and
            lands in `path` if that is known.
        path: as the program would open it; None where it can't be told.
        what: in words.
        local: for a download: it is not fetched where the data lies there already.
    """

    kind: Literal["option", "path", "download"]
    what: str
    place: Place
    path: str | None = None
    option: Option | None = None
    local: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What makes two sources the same."""
        where = self.option.flag if self.option else normpath(self.path) if self.path else self.what
        return ("option" if self.option else "path" if self.path else "download", where)


def find_data(reach: Reach, options: Sequence[Option], symbols: Symbols) -> list[Source]:
    """The data of a program, each source once: the one that tells more of two of the same."""
    found = [*_options(options), *_downloads(reach, symbols), *_paths(reach, symbols)]
    kept: dict[tuple[str, str], Source] = {}
    names = {option.name for option in options}
    for source in found:
        other = re.fullmatch(r"\$\{([^}]*)\}", source.path or "")
        if other and other.group(1) in names:
            continue  # another key of the configuration says where
        kept.setdefault(source.key, source)
    return list(kept.values())


def is_path_option(option: Option) -> bool:
    """Whether an option that is called after data takes a path, and not a data set's name."""
    default = option.default
    if not _OPTION.search(option.name) or option.switch or option.choices:
        return False
    if isinstance(default, bool | int | float):
        return False
    told = bool(_PATH_WORDS.search(option.help))
    if isinstance(default, str) and default:
        return told or option.style == "positional" or bool(re.search(r"/|\.\w{2,5}$", default))
    if re.search(r"\||name of|one of|choose", option.help):
        return False
    return told or bool(_PATH_WORDS.search(option.name)) or option.name in ("data", "dataroot", "imagenet")


def _options(options: Sequence[Option]) -> Iterator[Source]:
    for option in options:
        if is_path_option(option):
            default = option.default if isinstance(option.default, str) else ""
            fetched = "://" in default
            path = default if default and not fetched else None
            yield Source(
                "download" if fetched else "option",
                f"option {option.flag}",
                option.place,
                path,
                option,
                local=fetched,
            )


def _downloads(reach: Reach, symbols: Symbols) -> Iterator[Source]:
    for module in reach.modules:
        for call in module.calls:
            called = module.called(call)
            if (
                called.startswith("torchvision.datasets.")
                and called not in _READS
                and not called.endswith(("FakeData", "VisionDataset"))
            ):
                yield _torchvision(module, call, called, symbols)
            elif called.startswith("torchvision.models.") and _asks_for_weights(call):
                yield Source("download", f"weights ({called})", module.place(call))
            elif _PRETRAINED.search(called) and call.args:
                model = symbols.evaluate(module, call.args[0])
                first = model[0] if len(model) == 1 else None
                shown = literal(model) or (first.option.flag if isinstance(first, Opt) else "")
                if shown and not shown.startswith(("/", ".")):
                    yield Source("download", f"a pretrained model ({shown})", module.place(call))
            else:
                for pattern, what in _DOWNLOADS:
                    if pattern.search(called):
                        name = constant(argument(call, 0, "path"))
                        detail = f" ({name})" if isinstance(name, str) else f" ({called})"
                        yield Source("download", what + detail, module.place(call))
                        break


def _torchvision(module: Module, call: ast.Call, called: str, symbols: Symbols) -> Source:
    root = symbols.evaluate(module, argument(call, 0, "root"))
    option, path = _where(root)
    return Source(
        "download", called.removeprefix("torchvision.datasets."), module.place(call), path, option, local=True
    )


def _asks_for_weights(call: ast.Call) -> bool:
    pretrained, weights = constant(keyword(call, "pretrained")), keyword(call, "weights")
    return pretrained is True or (
        weights is not None and constant(weights) is None and not isinstance(weights, ast.Constant)
    )


def _where(path: Template) -> tuple[Option | None, str | None]:
    """The option that a path begins with, and the path itself as far as it is literal or a default."""
    option = path[0].option if path and isinstance(path[0], Opt) else None
    text = ""
    for piece in path:
        if isinstance(piece, Opt):
            if not isinstance(piece.option.default, str):
                return option, None
            text += piece.option.default
        elif isinstance(piece, str):
            text += piece
        else:
            return option, None
    return option, text.strip() or None


def _paths(reach: Reach, symbols: Symbols) -> Iterator[Source]:
    for module in reach.modules:
        for call in module.calls:
            called = module.called(call)
            spot = _READS.get(called) or ((0, "path") if re.match(r"pandas\.read_", called) else None)
            if spot is None or not _reads(call, called):
                continue
            template = symbols.evaluate(module, argument(call, *spot))
            option, path = _where(template)
            if path and _looks_like_data(path, called):
                if option is None:
                    yield Source("path", path, module.place(call), path)
                elif is_path_option(option):
                    yield Source("option", f"option {option.flag}", option.place, path, option)


_DATA_FILE = re.compile(
    r"\.(?:bin|npy|npz|csv|tsv|txt|h5|hdf5|pkl|pickle|pt|pth|json|jsonl|parquet|mat|lmdb|mdb|content|cites|zip|gz|dat|data)$"
)


def _looks_like_data(path: str, called: str) -> bool:
    if (
        "://" in path
        or "\n" in path
        or path.startswith(("/proc", "/dev", "/sys"))
        or re.search(r"path[_/-]to", path)
    ):
        return False
    return called != "open" or bool(_DATA_FILE.search(path))


def _reads(call: ast.Call, called: str) -> bool:
    if called not in ("open", "h5py.File"):
        return True
    mode = constant(argument(call, 1, "mode"))
    return not (isinstance(mode, str) and set(mode) & set("wax"))
