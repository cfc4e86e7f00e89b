"""Who this process is: a rank that may train, a launcher, or somebody's child; and the file that says so."""

import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import SCHEMA

LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
LAUNCHER_SCRIPTS = ("torchrun", "accelerate", "deepspeed")
_OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True)
class Identity:
    """A process's place in its world."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int


def identity(environ: Mapping[str, str]) -> Identity:
    """Read the place that torchrun (or a launcher like it) gave to this process; alone by default."""
    rank = int(environ.get("RANK", "0"))
    world = int(environ.get("WORLD_SIZE", "1"))
    return Identity(
        rank=rank,
        local_rank=int(environ.get("LOCAL_RANK", str(rank))),
        world_size=world,
        local_world_size=int(environ.get("LOCAL_WORLD_SIZE", str(world))),
    )


def program(orig_argv: Sequence[str]) -> tuple[str, str]:
    """What the interpreter was told to run.

    Args:
        orig_argv: `sys.orig_argv`.

    Returns:
        A kind (`module`, `script`, `command` or `none`) and its name (the module's, the script's path, or empty).
    """
    words = list(orig_argv[1:])
    while words:
        word = words.pop(0)
        if word in _OPTIONS_WITH_VALUE:
            words = words[1:]
        elif word.startswith("--") or word == "-":
            continue
        elif word.startswith("-"):
            # Letters may be joined ("-um"); m and c take the rest of the word, or the next one.
            for position, letter in enumerate(word[1:], start=2):
                if letter == "m":
                    return "module", word[position:] or (words[0] if words else "")
                if letter == "c":
                    return "command", ""
                if letter in "WX":
                    break
        else:
            return "script", word
    return "none", ""


def is_launcher(orig_argv: Sequence[str]) -> bool:
    """Whether the process only starts the ranks (torchrun imports torch too)."""
    kind, name = program(orig_argv)
    if kind == "module":
        return name in LAUNCHER_MODULES
    return kind == "script" and Path(name).name in LAUNCHER_SCRIPTS


def is_child() -> bool:
    """Whether multiprocessing started this process: a DataLoader's worker, or a rank that the program spawned."""
    return multiprocessing.parent_process() is not None


def record(who: Identity, torch_version: str, xla_version: str | None, plan_sha256: str) -> dict[str, Any]:
    """The handshake's content."""
    return {
        "schema": SCHEMA,
        "rank": who.rank,
        "local_rank": who.local_rank,
        "world_size": who.world_size,
        "role": "rank",
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "argv": list(sys.orig_argv),
        "executable": sys.executable,
        "torch": torch_version,
        "torch_xla": xla_version,
        "python": platform.python_version(),
        "plan_sha256": plan_sha256,
        "time": time.time(),
    }


def write(out: Path, content: Mapping[str, Any]) -> None:
    """Write (or replace, in one go) the handshake of the rank in `content`."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"handshake-{content['rank']}.json"
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(path)
