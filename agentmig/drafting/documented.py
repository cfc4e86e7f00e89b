"""Arguments that the project's own documents give to a program."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentmig.drafting.data import is_path_option
from agentmig.drafting.launches import Launch
from agentmig.drafting.options import Option
from agentmig.drafting.tree import Tree

_PLACEHOLDER = re.compile(
    r"[$<>{}\[\]*]|\.\.\.|…|path[_-]?to|/path/|your[_-]|(?-i:^[A-Z_]{4,}$)|xxx|(?<!tcp)(?<!env)(?<!file)://",
    re.IGNORECASE,
)
_CHANGES_WITH_THE_RUN = re.compile(
    r"seed|resume|eval|output|save|log|work_?dir|exp|name|tag|project|track|wandb|verbose|debug|print|nproc|workers|gpu|cuda|device|accel$|port|local_rank|node_rank|sample|visual|plot",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Given:
    """An argument of a documented command; a switch has no value."""

    option: Option
    value: str | None
    launch: Launch

    @property
    def words(self) -> str:
        """The argument for a command in the workload file."""
        return self.option.given_literal(self.value) if self.value is not None else self.option.flag


def given_in(launch: Launch, options: Sequence[Option]) -> dict[str, Given]:
    """The options that a documented command gives, by flag; values that are no values (`<path>`, `$DATA`) are left out."""
    by_flag = {alias: option for option in options for alias in (option.flag, *option.aliases)}
    result: dict[str, Given] = {}
    words = launch.arguments
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        option = by_flag.get(flag)
        if option is None or option.style == "positional":
            continue
        if option.switch and not equals:
            result[option.flag] = Given(option, None, launch)
            continue
        if not equals and index + 1 < len(words) and option.style == "flag":
            value = words[index + 1]
        if (
            value
            and not _PLACEHOLDER.search(value)
            and (not value.startswith("-") or re.fullmatch(r"-\d+(?:\.\d+)?", value))
        ):
            result[option.flag] = Given(option, value, launch)
    return result


def in_every_launch(launches: Sequence[Launch], options: Sequence[Option], tree: Tree) -> list[Given]:
    """Arguments that say how the model is trained and that every documented command has, with the same value.

    What changes from run to run (seeds, folders, names), what chooses the hardware, and files that aren't there are left out.
    """
    if not launches:
        return []
    each = [given_in(launch, options) for launch in launches]
    return [
        given
        for flag, given in each[0].items()
        if all(flag in other and other[flag].value == given.value for other in each[1:])
        and not _CHANGES_WITH_THE_RUN.search(given.option.name)
        and not is_path_option(given.option)
        and (given.value is None or not _is_missing_file(given.value, tree))
        and given.value != str(given.option.default)
    ]


def _is_missing_file(value: str, tree: Tree) -> bool:
    """Whether a value looks like a file that the project doesn't hold."""
    looks_so = re.search(r"/|\.(?:pth?|bin|ckpt|tar|npz?|json|csv|txt|ya?ml)$", value) and "://" not in value
    return bool(looks_so) and value not in tree.names
