"""How a program is started: its launcher, how many processes, and whether it needs a GPU."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import basename, dirname, isabs, join, normpath, relpath
from typing import Literal

from agentmig.drafting.cuda import CudaUse
from agentmig.drafting.findings import Finding, Place, Question, confirm, found
from agentmig.drafting.graph import Reach
from agentmig.drafting.module import argument, constant, keyword
from agentmig.drafting.options import Option, quoted
from agentmig.drafting.survey import Program, Survey

_CHIPS = 4
"""Processes of a distributed draft: enough for every fault that only several replicas show."""
_RANK = re.compile(r"""['"](?:LOCAL_RANK|RANK|WORLD_SIZE)['"]""")
_MILD_RANK = re.compile(
    r"""(?:environ\.get|getenv)\(\s*['"](?:LOCAL_RANK|RANK|WORLD_SIZE)|['"](?:LOCAL_RANK|RANK|WORLD_SIZE)['"]\s+(?:not\s+)?in\s"""
)
_STRATEGIES = [
    ("DeepSpeed", re.compile(r"^deepspeed\.initialize$")),
    ("FSDP", re.compile(r"FullyShardedDataParallel$|(?:^|\.)fully_shard$")),
    ("DDP", re.compile(r"DistributedDataParallel$")),
    ("Horovod", re.compile(r"^horovod\..*DistributedOptimizer$")),
    ("DataParallel", re.compile(r"^torch\.nn\.(?:parallel\.)?DataParallel$|(?:^|\.)DataParallel$")),
]
DEVICE = re.compile(r"^(?:device|accelerator|trainer\.accelerator|gpu_?ids?|devices?)$")


@dataclass(frozen=True)
class Start:
    """How the training program is started.

    Attributes:
        words: everything before its arguments.
        launcher: its name.
        chips: processes, which become chips.
        strategy: `none`, `DataParallel`, `DDP`, `FSDP`, …
        needs_gpu: `no`; `option`: unless an option names another device; `yes`.
        cuda: the place that needs it.
        device: the option that names the device.
        why: comments.
        env: variables that the program needs.
        folder: that the program is started in, relative to the project; `""` is the project's own.
    """

    words: str
    launcher: str
    chips: int
    strategy: str
    needs_gpu: Literal["no", "option", "yes"]
    cuda: CudaUse | None
    device: Option | None
    why: tuple[str, ...]
    env: dict[str, str]
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]
    folder: str = ""


def start(survey: Survey, program: Program) -> Start:
    """How the training program is started, and on what."""
    strategy, place = _strategy(program.reach)
    launcher, why, at = _launcher(survey, program, strategy)
    distributed = launcher in ("torchrun", "torch.distributed.launch", "accelerate launch", "deepspeed")
    needs_gpu, cuda, device = _gpu(program, launcher)
    comments = [why]
    if strategy == "DataParallel":
        comments.append(
            f"DataParallel ({place}) drives several GPUs from one process, which has no counterpart: one chip here"
        )
    if distributed:
        comments.append(f"{{chips}} becomes {_CHIPS} below, in the reference and on the target")
    folder = folder_of(survey, program)
    if folder:
        comments.append(f"cd: {program.path} reads its files relative to its own folder")
    env = search_path(program, folder)
    if env:
        comments.append(
            f"PYTHONPATH: {program.path} imports modules of the project that lie outside its own folder"
        )
    found_here = [
        found("train_program", program.path, Place(program.path, 1)),
        found("launcher", launcher, at),
        found("strategy", strategy, place),
    ]
    if cuda:
        found_here.append(
            found("device", f"{cuda.what}: needs CUDA" if needs_gpu == "yes" else cuda.what, cuda.place)
        )
    return Start(
        _words(launcher, relpath(program.path, folder or ".")),
        launcher,
        _CHIPS if distributed else 1,
        strategy,
        needs_gpu,
        cuda,
        device,
        tuple(comments),
        env,
        tuple(found_here),
        (*_others(survey, program), *_old_launcher(launcher, program)),
        folder,
    )


def search_path(program: Program, folder: str) -> dict[str, str]:
    """PYTHONPATH for modules of the project that Python wouldn't find, as seen from the folder of the start."""
    roots = [relpath(root or ".", folder or ".") for root in program.reach.roots]
    return {"PYTHONPATH": ":".join(roots)} if roots else {}


def folder_of(survey: Survey, program: Program) -> str:
    """The folder that a program has to be started in: its own, where only from there its data or its command fits."""
    folder = dirname(program.path)
    if not folder:
        return ""
    names = survey.repository.tracked if survey.repository else survey.tree.names
    paths = [normpath(source.path) for source in program.sources if source.path and not isabs(source.path)]
    if any(path in names for path in paths):
        return ""
    if any(normpath(join(folder, path)) in names for path in paths):
        return folder
    written = [launch for launch in survey.launches_of(program) if launch.written]
    documents = {dirname(launch.place.file) for launch in written if launch.written == basename(program.path)}
    return (
        folder
        if written
        and all(launch.written == basename(program.path) for launch in written)
        and documents <= {"", folder}
        else ""
    )


def _words(launcher: str, path: str) -> str:
    program = quoted(path)
    return {
        "torchrun": f"torchrun --standalone --nproc-per-node {{chips}} {program}",
        "torch.distributed.launch": f"python -m torch.distributed.launch --nproc-per-node {{chips}} {program}",
        "accelerate launch": f"accelerate launch --num_processes {{chips}} {program}",
        "deepspeed": f"deepspeed --num_gpus {{chips}} {program}",
    }.get(launcher, f"python {program}")


def _strategy(reach: Reach) -> tuple[str, Place | None]:
    for name, pattern in _STRATEGIES:
        for module in reach.modules:
            for call in module.calls:
                if pattern.search(module.called(call)):
                    return name, module.place(call)
    for module in reach.modules[:40]:
        for call in module.calls:
            if module.called(call).split(".")[-1] == "Trainer":
                given = constant(keyword(call, "strategy"))
                if isinstance(given, str):
                    return f"Lightning {given}", module.place(call)
    return "none", None


def _launcher(survey: Survey, program: Program, strategy: str) -> tuple[str, str, Place | None]:
    """The launcher, why it was chosen, and the line that says so."""
    written = [launch for launch in survey.launches_of(program) if launch.launcher != "python"]
    packages = program.reach.packages
    reads = _first_line(program.reach, _RANK)
    spawns = next(
        (
            m.place(c)
            for m in program.reach.modules
            for c in m.calls
            if m.called(c).endswith(("multiprocessing.spawn", "mp.spawn"))
        ),
        None,
    )
    if "lightning" in packages or "pytorch_lightning" in packages:
        return "python", "Lightning starts its own processes", survey.framework[1]
    if "accelerate" in packages and (written or _calls(program.reach, "Accelerator")):
        place = written[0].place if written else packages["accelerate"]
        return "accelerate launch", f"accelerate ({place}) starts one process for each chip", place
    if survey.framework[0] == "transformers Trainer":
        if any(launch.launcher in ("torchrun", "torch.distributed.launch") for launch in written):
            return (
                "torchrun",
                f"transformers' Trainer, started with several processes at {written[0].place}",
                written[0].place,
            )
        return "python", "transformers' Trainer, in one process", survey.framework[1]
    if strategy == "DeepSpeed" or any(launch.launcher == "deepspeed" for launch in written):
        return (
            "deepspeed",
            "DeepSpeed starts its own processes",
            written[0].place if written else packages.get("deepspeed"),
        )
    if written and written[0].launcher in ("torchrun", "torch.distributed.launch"):
        place = written[0].place
        if written[0].launcher == "torchrun" or reads:
            return (
                "torchrun",
                f"started with {written[0].launcher} at {place}; it reads its rank from the environment",
                place,
            )
        return "torch.distributed.launch", f"started so at {place}", place
    if spawns:
        return (
            "python",
            f"starts its own processes (mp.spawn, {spawns}) if its options ask for that; one process here",
            spawns,
        )
    if reads and strategy in ("DDP", "FSDP"):
        return "torchrun", f"reads its rank from the environment ({reads}), as torchrun sets it", reads
    documented = survey.launches_of(program)
    if documented:
        return "python", f"started with python at {documented[0].place}", documented[0].place
    return "python", "no document shows how it is started", None


def needs_launcher(reach: Reach) -> bool:
    """Whether a program can't start without the variables that a launcher sets."""
    text = "\n".join(module.text for module in reach.modules)
    return bool(_RANK.search(text)) and not _MILD_RANK.search(text)


def _first_line(reach: Reach, pattern: re.Pattern[str]) -> Place | None:
    for module in reach.modules:
        if match := pattern.search(module.text):
            return Place(module.path, module.text.count("\n", 0, match.start()) + 1)
    return None


def _calls(reach: Reach, name: str) -> bool:
    return any(
        module.called(call).split(".")[-1] == name for module in reach.modules[:40] for call in module.calls
    )


def _gpu(
    program: Program, launcher: str
) -> tuple[Literal["no", "option", "yes"], CudaUse | None, Option | None]:
    device = next((o for o in program.options if DEVICE.search(o.name)), None)
    hard = [use for use in program.cuda if not use.guarded]
    for module in program.reach.modules:
        for call in module.calls:
            nccl = (
                module.called(call).endswith("init_process_group")
                and constant(argument(call, 0, "backend")) == "nccl"
            )
            if nccl and launcher in ("torchrun", "torch.distributed.launch"):
                hard.append(CudaUse('"nccl"', module.place(call), False))
    named = device is not None and isinstance(device.default, str) and device.default.startswith("cuda")
    if device is not None and named:
        elsewhere = [use for use in hard if use.place != device.place]
        if not elsewhere:
            return (
                "option",
                CudaUse(f"{device.flag} is {device.default!r} by default", device.place, False),
                device,
            )
        hard = elsewhere
    if hard:
        return "yes", hard[0], device
    return "no", next(iter(program.cuda), None), device


def _old_launcher(launcher: str, program: Program) -> Iterator[Question]:
    """Torch 2 renamed the argument that its old launcher adds."""
    option = next((o for o in program.options if o.name == "local_rank"), None)
    if launcher == "torch.distributed.launch" and option and "--local-rank" not in option.aliases:
        text = f"torch 2's torch.distributed.launch adds --local-rank=N, but {option.place} only knows {option.flag}: accept both spellings, or read LOCAL_RANK and use torchrun."
        yield confirm("train.command", text, option.place)


def _others(survey: Survey, program: Program) -> Iterator[Question]:
    """A question where several programs train and none of them stands out."""
    scores = {candidate.path: candidate.score for candidate in survey.candidates}
    mine = scores.get(program.path, 0.0)
    near = [path for path, score in scores.items() if path != program.path and score > mine - 30]
    if near:
        shown = ", ".join(near[:6]) + (f" and {len(near) - 6} more" if len(near) > 6 else "")
        text = f"Is {program.path} the program to migrate? These train too: {shown}. `agentmig init PATH --train FILE` drafts for another one."
        yield confirm("train.command", text, Place(program.path, 1))
