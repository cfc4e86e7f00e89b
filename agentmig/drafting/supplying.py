"""The arguments that a program can't do without, and the data that it reads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import basename, dirname, isabs, join, normpath

from agentmig.drafting.data import Source, is_path_option
from agentmig.drafting.documented import given_in, in_every_launch
from agentmig.drafting.findings import Finding, Question, confirm, found, missing
from agentmig.drafting.launches import Launch
from agentmig.drafting.options import Option, quoted
from agentmig.drafting.survey import Program, Survey
from agentmig.spec.unfilled import MARK

_MODE = re.compile(r"^(?:mode|phase|task|action|command|cmd|stage|run_mode)$")
FOLDER_OPTION = re.compile(
    r"(?:^|[._])(?:out|output|save|checkpoint|ckpt|model|result|results|log|work|exp|run|experiment|snapshot)s?_?(?:dir|path|folder|directory|root)s?$"
    r"|^(?:out|output|outdir|outf|save|logdir|workdir|default_root_dir)$",
    re.IGNORECASE,
)
"""Names of options that choose where results go."""
_NO_DATA = re.compile(
    r"log|cache|tmp|config|\.py$|\.ya?ml$|\.toml$|readme|version|requirements|license", re.IGNORECASE
)
GPU_SWITCH = re.compile(r"^(?:use_|enable_)?(?:cuda|gpu|accel|accelerator)$")
_GENERIC = ("data", "dataset", "datasets", "path", "root", "dir")
_TRAIN_SWITCH = re.compile(r"^(?:do_train|train|is_train|training|train_mode)$")


@dataclass
class Supplies:
    """What a command needs beside its program.

    Attributes:
        before: shell commands that go first, each ending in `&&`.
        arguments: words by option flag, in the order of the options.
        data: `[data.*]` tables: name and path.
        why: comments for the command.
        data_why: comments for the data tables.
        adopted: flags of arguments that were taken over from documents.
    """

    before: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)
    data_why: dict[str, list[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    adopted: set[str] = field(default_factory=set)


def supply(
    survey: Survey,
    program: Program,
    key: str,
    skip: Sequence[str],
    folder: str,
    supplies: Supplies | None = None,
) -> Supplies:
    """The data and the required arguments of a program.

    Args:
        survey: the project.
        program: that is started.
        key: of the command in the workload file, for questions.
        skip: flags that are given otherwise.
        folder: that the program is started in.
        supplies: of another command that shares the data.
    """
    result = Supplies(data=supplies.data if supplies else {}, data_why=supplies.data_why if supplies else {})
    if folder:
        result.before.append(f"cd {quoted(folder)} &&")
    _data(survey, program, result, folder, supplies)
    training = survey.launches_of(program)
    launches = [*survey.launches_of(program, evaluating=True), *training] if supplies else training
    for option in program.options:
        if option.flag in skip or option.flag in result.arguments:
            continue
        shared = supplies is not None and (option.required or option.flag in supplies.adopted)
        if supplies is not None and shared and option.flag in supplies.arguments:
            result.arguments[option.flag] = supplies.arguments[option.flag]
        else:
            _argument(program, option, launches, key, result)
    if supplies is None:
        _adopt(survey, program, [*skip, *result.arguments], result)
    if "wandb" in survey.packages:
        result.env["WANDB_MODE"] = "disabled"
        result.why.append(
            f"WANDB_MODE: Weights & Biases ({survey.packages['wandb']}) needs the network, which runs don't have"
        )
    return result


def _argument(
    program: Program, option: Option, launches: Sequence[Launch], key: str, result: Supplies
) -> None:
    training = key.startswith("train")
    modes = [choice for choice in option.choices if choice.lower() in ("train", "training", "fit")]
    if _MODE.search(option.name) and modes and training and option.default not in modes:
        result.arguments[option.flag] = option.given_literal(modes[0])
        result.why.append(f"{option.flag}: it trains in this mode ({option.place})")
    elif (
        _TRAIN_SWITCH.search(option.name)
        and training
        and option.default is False
        and (option.switch or option.style != "flag")
    ):
        result.arguments[option.flag] = option.given("True")
        result.why.append(f"{option.flag}: it trains only with it ({option.place})")
    elif option.required and not training and FOLDER_OPTION.search(option.name):
        result.arguments[option.flag] = option.given("{out}")
    elif option.required:
        written = (given_in(launch, program.options).get(option.flag) for launch in launches)
        given = next((given for given in written if given and not is_path_option(option)), None)
        if given is not None:
            result.arguments[option.flag] = given.words
            result.adopted.add(option.flag)
            result.why.append(
                f"{option.flag}: required ({option.place}); this value is from {given.launch.place}"
            )
        else:
            result.arguments[option.flag] = option.given(MARK)
            choices = f", one of {', '.join(option.choices[:8])}" if option.choices else ""
            text = f"{option.flag} is required ({option.help or 'it says no more'}{choices}) and no document gives a value for it."
            result.why.append(f"TO FILL IN: {option.flag} is required ({option.place})")
            result.questions.append(missing(key, text, option.place))


def _adopt(survey: Survey, program: Program, skip: Sequence[str], result: Supplies) -> None:
    """Take over what every documented command gives, and say which switch of the hardware was not taken over."""
    launches = survey.launches_of(program)
    taken = [
        given
        for given in in_every_launch(launches, program.options, survey.tree)
        if given.option.flag not in skip
    ]
    for given in taken:
        result.arguments[given.option.flag] = given.words
        result.adopted.add(given.option.flag)
    if taken:
        flags = " ".join(given.option.flag for given in taken)
        result.why.append(
            f"{flags}: as in {'every' if len(launches) > 1 else 'the'} documented command ({launches[0].place})"
        )
    for option in program.options:
        if GPU_SWITCH.search(option.name) and option.switch and option.default is False:
            result.why.append(
                f"{option.flag} would switch the GPU on ({option.place}); it is left out, so that the program trains where there is none"
            )


def _data(survey: Survey, program: Program, result: Supplies, folder: str, shared: Supplies | None) -> None:
    """Where the data lies: in the checkout, or outside of it as `[data.*]`."""
    hub: list[Source] = []
    spare: list[Source] = []
    known = False
    for source in program.sources:
        required = source.option is not None and source.option.required
        if source.kind == "download" and not source.option and (not source.local or source.path is None):
            hub.append(source)
        elif source.path is None and not required and source.kind != "download":
            spare.append(source)
        elif source.path is not None and _is_tracked(survey, join(folder, source.path)):
            result.findings.append(found("data", f"{source.path}: in the repository", source.place))
            known = True
        elif source.kind != "path" or _worth_asking(program, source, shared):
            _outside(survey, source, result, folder, shared is not None)
            known = True
    if not known and spare:
        _outside(survey, spare[0], result, folder, shared is not None)
    if hub and shared is None:
        _network(hub, result)


def _is_tracked(survey: Survey, path: str) -> bool:
    """Whether a file or folder is part of what is checked out for a run."""
    inside = normpath(path)
    if isabs(inside) or inside.startswith(".."):
        return False
    tracked = survey.repository.tracked if survey.repository else survey.tree.names
    return (
        inside in tracked
        or inside == "."
        or any(name.startswith(inside + "/") for name in tracked if _is_data(name))
    )


def _is_data(name: str) -> bool:
    return not name.endswith((".py", ".md", ".sh", ".gitkeep", ".gitignore", ".ipynb", "readme.txt"))


def _worth_asking(program: Program, source: Source, shared: Supplies | None) -> bool:
    """A path in the code is data if the program itself reads it and doesn't write it; caches and logs are not."""
    if source.path is None or _NO_DATA.search(source.path):
        return False
    if shared is not None and _name(source) not in shared.data:
        return False
    saved = {
        normpath(str(piece)) for saved in program.saves for piece in saved.path if isinstance(piece, str)
    }
    return normpath(source.path) not in saved and source.place.file in {
        module.path for module in program.reach.modules[:12]
    }


def _outside(survey: Survey, source: Source, result: Supplies, folder: str, quiet: bool) -> None:
    """Data that a run gets from outside of the checkout: an option says where it lies, or a link puts it there."""
    name, path = _name(source), source.path or ""
    # One folder is one table, however many of its files are read.
    whole = source.kind != "path" or not dirname(path)
    where = "" if not path else normpath(path) if whole else dirname(normpath(path))
    inside = normpath(join(folder, where))
    if source.option is None and inside.startswith("../.."):
        if not quiet:
            result.questions.append(_out_of_reach(survey, source, path))
        return
    known = name in result.data
    result.data.setdefault(name, _place_on_this_machine(survey, source, where, inside, name))
    if source.option is not None:
        result.arguments[source.option.flag] = source.option.given(f"{{data.{name}}}")
        result.why.append(f"{source.option.flag}: the data ({source.option.place}), from [data.{name}] below")
    elif not isabs(where):
        command = _link(survey, name, where, inside)
        if command not in result.before:
            result.before.append(command)
            result.why.append(f"ln: {source.place} reads {path}, so the data is linked to there")
    if not quiet and not known:
        _tell(source, path, name, result)


def _place_on_this_machine(survey: Survey, source: Source, where: str, inside: str, name: str) -> str:
    """Where the data lies: where the program would look for it, if something is there that is not in the repository."""
    here = survey.root / inside
    if where and _exists(here) and not survey.tree.has_folder(inside):
        return str(here.resolve())
    return where if isabs(where) and source.option is None else f"/{MARK}/{name}"


def _link(survey: Survey, name: str, where: str, inside: str) -> str:
    """The shell command that puts data where the program looks for it."""
    if survey.tree.has_folder(inside):
        return f"ln -sf {{data.{name}}}/* {quoted(where)}/ &&"
    above = dirname(inside)
    needed = above and not above.startswith("..") and not survey.tree.has_folder(above)
    parent = f"mkdir -p {quoted(dirname(where))} && " if needed else ""
    return f"{parent}ln -sfn {{data.{name}}} {quoted(where)} &&"


def _tell(source: Source, path: str, name: str, result: Supplies) -> None:
    """Say what data was found, and ask where it lies if that isn't known."""
    what = source.what if source.what == path else f"{source.what}: {path or 'no default'}"
    result.findings.append(found("data", what, source.place))
    result.data_why[name] = [f"{source.what}, read at {source.place}"]
    if MARK not in result.data[name]:
        return
    result.data_why[name].append("TO FILL IN: where it lies on this machine")
    reason = "It is not in the repository, and runs see nothing else."
    if source.kind == "download":
        reason = "It would be downloaded, but runs have no network."
    whose = f"for {source.what}" if source.option else f"of {source.what}"
    text = (
        f"Where does the data {whose} lie on this machine, in the form that {source.place} expects? {reason}"
    )
    result.questions.append(missing(f"data.{name}.paths.local", text, source.place))


def _out_of_reach(survey: Survey, source: Source, path: str) -> Question:
    """A path above the project, where a run may not write, so that nothing can be linked to it."""
    text = f"{source.place} reads {path}, which lies outside of the project, where runs have nothing: add an option for that path, or draft for a folder further up"
    if survey.repository is not None and survey.repository.folder:
        text += f" ({survey.repository.root} is the repository's)"
    return missing("train.command", f"{text}.", source.place)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _name(source: Source) -> str:
    """A table name for some data: after its folder, its option, or what it is."""
    path = normpath(source.path) if source.path else ""
    folder = dirname(path) if source.kind == "path" and dirname(path) else path
    words = [basename(folder)]
    words += [source.option.name.rsplit(".", 1)[-1]] if source.option else []
    words.append(source.what if source.kind == "download" and not source.option else "data")
    for word in words:
        plain = re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")[:40].rstrip("_")
        plain = re.sub(r"_(?:dir|path|root|folder|file)$|^[\d_]+", "", plain)
        if re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", plain) and plain not in _GENERIC:
            return plain
    return "data"


def _network(sources: Sequence[Source], result: Supplies) -> None:
    """One question for everything that comes from the network and has no place of its own."""
    listed = "; ".join(f"{source.what} at {source.place}" for source in sources[:4])
    more = f"; and {len(sources) - 4} more" if len(sources) > 4 else ""
    first = sources[0].place
    for source in sources[:20]:
        result.findings.append(found("download", source.what, source.place))
    result.questions.append(
        confirm(
            "train.command",
            f"Runs have no network, and this would be fetched if it is used: {listed}{more}. If training or evaluation uses it, put it "
            "on this machine, name the folder in a [data.NAME] table, and point the program there in both commands "
            "(for the Hugging Face hub: HF_HUB_OFFLINE=1 HF_HOME={data.NAME} before the program).",
            first,
        )
    )


def ordered(program: Program, arguments: dict[str, str]) -> Iterator[str]:
    """The arguments as words: positionals first, all in the order in which the program declares them."""
    for option in program.options:
        if option.style == "positional" and option.flag in arguments:
            yield arguments[option.flag]
    for option in program.options:
        if option.style != "positional" and option.flag in arguments:
            yield arguments[option.flag]
    known = {option.flag for option in program.options}
    for flag, words in arguments.items():
        if flag not in known:
            yield words
