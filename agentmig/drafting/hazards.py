"""What in the code is known to go wrong when it moves to another backend, with the cause a verification would name."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentmig.drafting.findings import Hazard, Place
from agentmig.drafting.module import Module, argument, constant, keyword


class _Note(Protocol):
    """Takes a hazard down."""

    def __call__(self, name: str, text: str, cause: str | None, place: Place) -> None: ...


_GPU_WORDS = re.compile(r"cuda|gpu|device|accel", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """A hazard that a dotted name gives away.

    Attributes:
        pattern: of the dotted name of a call or attribute.
    """

    name: str
    pattern: re.Pattern[str]
    text: str
    cause: str | None = None


def _rule(name: str, pattern: str, text: str, cause: str | None = None) -> Rule:
    return Rule(name, re.compile(pattern), text, cause)


_NAMES = [
    _rule(
        "GradScaler",
        r"(?:^|\.)(?:GradScaler|NativeScaler)$",
        "loss scaling is CUDA's; it stays switched on beside torch_xla, so unscale before clipping or drop it",
        "clip_on_scaled",
    ),
    _rule(
        "autocast",
        r"^torch\.cuda\.amp\.autocast$|^torch\.autocast$|^torch\.amp\.autocast$|^torch\.cuda\.amp\.custom_",
        'autocast of "cuda" does nothing on another device: the computation is in float32 there',
        "numerics_differ",
    ),
    _rule(
        "CUDA seeds",
        r"^torch\.cuda\.(?:manual_seed|manual_seed_all|set_rng_state|get_rng_state)",
        "does nothing on another device, whose generator has to be seeded by its own call",
        "seed_ignored",
    ),
    _rule(
        "CUDA streams and graphs",
        r"^torch\.cuda\.(?:Stream|stream|Event|CUDAGraph|graph|graphs|make_graphed_callables|nvtx)",
        "streams, events and graphs have no counterpart",
        "cuda_unavailable",
    ),
    _rule(
        "torch.cuda",
        r"^torch\.cuda\.(?!is_available|amp|manual_seed|device_count|is_bf16)",
        "asks the CUDA runtime",
        "cuda_unavailable",
    ),
    _rule("cuDNN flags", r"^torch\.backends\.cudnn\.", "has no effect on another backend"),
    _rule(
        "matmul precision",
        r"^torch\.set_float32_matmul_precision$|^torch\.backends\.cuda\.matmul",
        "a TPU multiplies float32 in one bfloat16 pass unless it is told otherwise",
        "numerics_differ",
    ),
    _rule(
        "attention kernels",
        r"^torch\.backends\.cuda\.(?:sdp_kernel|enable_\w*sdp)|^torch\.nn\.attention\.",
        "chooses among CUDA's attention kernels",
        "unsupported_operation",
    ),
    _rule(
        "torch.compile",
        r"^torch\.compile$|^torch\.jit\.(?:script|trace)$",
        "the compiler differs on each backend; recompilation is counted",
        "compile_error",
    ),
    _rule(
        "DataParallel",
        r"^torch\.nn\.(?:parallel\.)?DataParallel$",
        "one process for several GPUs has no counterpart: each chip needs a process",
        "idle_chips",
    ),
    _rule(
        "DistributedDataParallel",
        r"DistributedDataParallel$",
        "the reduction of gradients has to move with it: neither left out nor done twice",
        "gradients_not_reduced",
    ),
    _rule(
        "FSDP",
        r"FullyShardedDataParallel$|(?:^|\.)fully_shard$",
        "parameters are sharded: steps can be compared only where each rank's parameters match the reference's",
        "state_unmatched",
    ),
    _rule(
        "DistributedSampler",
        r"(?:^|\.)DistributedSampler$",
        "needs the target's own world size and rank",
        "same_data",
    ),
    _rule("SyncBatchNorm", r"SyncBatchNorm", "exists for CUDA alone", "unsupported_operation"),
    _rule(
        "dynamic shapes",
        r"^torch\.(?:nonzero|unique|unique_consecutive|masked_select|argwhere)$|\.nonzero$|\.masked_select$",
        "the shape of the result depends on values: compiled again each time, or computed on the host",
        "recompilation",
    ),
    _rule("whole-model pickles", r"^torch\.jit\.load$", "a compiled module carries its device"),
    _rule(
        "activation checkpointing",
        r"^torch\.utils\.checkpoint\.",
        "XLA's compiler may remove the recomputation that it asks for",
        "out_of_device_memory",
    ),
    _rule(
        "CUDA extension",
        r"^torch\.utils\.cpp_extension\.",
        "kernels for CUDA have to be written anew with operations that the target has",
        "unsupported_operation",
    ),
    _rule(
        "cost of .cpu() in a step",
        r"^torch\.cuda\.synchronize$",
        "wall times without the target's own synchronisation mean nothing",
        "host_sync",
    ),
]
_ANY_NAME = re.compile("|".join(f"(?:{rule.pattern.pattern})" for rule in _NAMES))
_PACKAGES: dict[str, tuple[str, str | None]] = {
    "apex": (
        "NVIDIA's extensions (optimizers, normalisation, mixed precision): use torch's own",
        "module_missing",
    ),
    "bitsandbytes": (
        "8-bit optimizers and layers exist for CUDA alone: their state has another number type than torch's",
        "module_missing",
    ),
    "causal_conv1d": ("CUDA kernels", "module_missing"),
    "cupy": ("arrays on CUDA", "module_missing"),
    "cuml": ("CUDA alone", "module_missing"),
    "deepspeed": (
        "its engine owns the optimizer and the reduction: both have to be written out",
        "gradients_not_reduced",
    ),
    "detectron2": ("has compiled CUDA operations", "unsupported_operation"),
    "dgl": ("its message passing is compiled for CUDA and CPU", "unsupported_operation"),
    "faiss": ("its GPU index is CUDA's", "unsupported_operation"),
    "fairscale": ("its sharding wraps CUDA collectives", "gradients_not_reduced"),
    "flash_attn": ("CUDA kernels: use torch's scaled_dot_product_attention", "module_missing"),
    "fused_dense_lib": ("CUDA kernels", "module_missing"),
    "horovod": ("its reduction has to be replaced by the target's", "gradients_not_reduced"),
    "kornia_rs": ("compiled operations", "unsupported_operation"),
    "mamba_ssm": ("CUDA kernels", "module_missing"),
    "megatron": ("its parallelism assumes NCCL", "process_group"),
    "mmcv": ("its operations are compiled for CUDA", "unsupported_operation"),
    "MinkowskiEngine": ("CUDA kernels", "module_missing"),
    "numba": ("kernels of numba.cuda run on NVIDIA GPUs alone", "unsupported_operation"),
    "nvidia": ("NVIDIA's data loading (DALI) runs on NVIDIA GPUs alone", "module_missing"),
    "pycuda": ("CUDA alone", "module_missing"),
    "pynvml": ("reads NVIDIA's driver", "cuda_unavailable"),
    "spconv": ("CUDA kernels", "module_missing"),
    "tensorrt": ("CUDA alone", "module_missing"),
    "torch_scatter": ("compiled for CUDA and CPU", "unsupported_operation"),
    "torch_sparse": ("compiled for CUDA and CPU", "unsupported_operation"),
    "torchtext": ("no longer released: there is none for torch 2.9", "module_missing"),
    "tinycudann": ("CUDA kernels", "module_missing"),
    "transformer_engine": ("FP8 kernels of NVIDIA GPUs", "module_missing"),
    "triton": ("kernels for GPUs: write them with torch operations", "unsupported_operation"),
    "unsloth": ("triton kernels", "unsupported_operation"),
    "xformers": ("CUDA kernels: use torch's scaled_dot_product_attention", "module_missing"),
}
CUDA_PACKAGES = frozenset(name for name, (_, cause) in _PACKAGES.items() if cause == "module_missing") | {
    "deepspeed",
    "triton",
    "pynvml",
}
"""Packages that can't be installed, or used, without an NVIDIA GPU."""


@dataclass(frozen=True)
class CudaUse:
    """A place that needs CUDA; `guarded`: some condition decides whether it runs."""

    what: str
    place: Place
    guarded: bool


def cuda_uses(modules: Iterable[Module]) -> list[CudaUse]:
    """Everything that moves something to CUDA or names it as a device."""
    return [use for module in modules for use in _cuda_in(module)]


def _cuda_in(module: Module) -> Iterator[CudaUse]:
    if "cuda" not in module.text and "torch.accelerator" not in module.text:
        return
    for node in module.nodes:
        what = ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = module.called(node)
            if node.func.attr == "cuda" and not called.startswith("torch.cuda"):
                what = ".cuda()"
            elif called in (
                "torch.cuda.set_device",
                "torch.cuda.current_device",
                "torch.cuda.synchronize",
                "torch.cuda.device",
                "torch.accelerator.current_accelerator",
                "torch.accelerator.set_device_index",
            ) or (called.startswith("torch.cuda.") and called.endswith("Tensor")):
                what = called
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"cuda(:\d*)?", node.value)
        ):
            what = f'"{node.value}"' if _names_a_device(module, node) else ""
        if what:
            yield CudaUse(what, module.place(node), _is_guarded(module, node))


def _names_a_device(module: Module, node: ast.Constant) -> bool:
    """Whether a string is used as a device, not compared with one, not an option's default or help."""
    parent, name = next(module.ancestors(node), (None, ""))
    if isinstance(parent, ast.Compare | ast.Expr | ast.Dict | ast.Subscript):
        return False
    call = next((p for p, _ in module.ancestors(node) if isinstance(p, ast.Call)), None)
    if call is not None:
        called = module.called(call)
        if (
            called.split(".")[-1]
            in ("add_argument", "autocast", "GradScaler", "print", "startswith", "option", "field")
            or "Option" in called
        ):
            return False
    return not (
        isinstance(parent, ast.keyword)
        and name == "value"
        and parent.arg in ("help", "choices", "device_type")
    )


def _is_guarded(module: Module, node: ast.AST) -> bool:
    tests = [ast.unparse(guard.test) for guard in module.guards(node)]
    function = module.function(node)
    if function is not None:
        calls = [call for call in module.calls if module.called(call).split(".")[-1] == function.name]
        tests += [ast.unparse(guard.test) for call in calls[:3] for guard in module.guards(call)]
    within = next((p for p, _ in module.ancestors(node) if isinstance(p, ast.BoolOp | ast.Try)), None)
    return within is not None or any(_GPU_WORDS.search(test) for test in tests)


def find_hazards(
    modules: Sequence[Module], packages: dict[str, Place], cuda_sources: Sequence[str]
) -> list[Hazard]:
    """The hazards of the modules that training and evaluation reach, each kind once with its first place."""
    found: dict[str, list[tuple[str, str | None, Place]]] = {}

    def note(name: str, text: str, cause: str | None, place: Place) -> None:
        found.setdefault(name, []).append((text, cause, place))

    for use in cuda_uses(modules):
        note(
            "CUDA device",
            f"{use.what}: tensors and modules must go to the target's device",
            "cuda_unavailable",
            use.place,
        )
    clips = [place for module in modules for place in _clips(module)]
    for module in modules:
        _by_name(module, note, bool(clips))
        _in_steps(module, note)
        _by_shape(module, note)
    wrapped = "DistributedDataParallel" in found or any(
        "ddp" in module.text.lower() for module in modules[:1]
    )
    if clips and wrapped:
        note(
            "gradient clipping",
            "clip after the gradients are averaged over the replicas, as DistributedDataParallel does",
            "clip_before_reduction",
            clips[0],
        )
    for name, place in packages.items():
        if name in _PACKAGES:
            note(name, *_PACKAGES[name], place)
    for source in cuda_sources:
        note(
            "CUDA source",
            "kernels for CUDA have to be written anew with operations that the target has",
            "unsupported_operation",
            Place(source, 1),
        )
    return [
        Hazard(
            name=name,
            text=seen[0][0],
            cause=seen[0][1],
            file=seen[0][2].file,
            line=seen[0][2].line,
            count=len(seen),
        )
        for name, seen in found.items()
    ]


def _by_name(module: Module, note: _Note, clips: bool) -> None:
    lines: set[tuple[str, int]] = set()
    for node in module.nodes:
        if not isinstance(node, ast.Attribute | ast.Name) or isinstance(node.ctx, ast.Del):
            continue
        dotted = module.dotted(node)
        if "." not in dotted or not _ANY_NAME.search(dotted):
            continue
        for rule in _NAMES:
            if rule.pattern.search(dotted):
                if (rule.name, node.lineno) not in lines:
                    lines.add((rule.name, node.lineno))
                    cause = None if rule.name == "GradScaler" and not clips else rule.cause
                    note(rule.name, f"{dotted}: {rule.text}", cause, module.place(node))
                break


def _clips(module: Module) -> Iterator[Place]:
    for call in module.calls:
        if re.search(r"clip_grad_(?:norm|value)_?$", module.called(call)):
            yield module.place(call)


def _in_steps(module: Module, note: _Note) -> None:
    """Values that travel to the host in each step: inside the innermost loop that calls backward."""
    for call in module.calls:
        attribute = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if attribute not in ("item", "cpu", "numpy", "tolist"):
            continue
        loop = next(iter(module.loops(call)), None)
        every = [
            guard
            for guard in module.guards(call)
            if isinstance(guard.test, ast.Compare) and "%" in ast.unparse(guard.test)
        ]
        if (
            loop is not None
            and not every
            and any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(loop))
        ):
            note(
                "host sync in each step",
                f".{attribute}() in the training loop waits for the device in each step",
                "host_sync",
                module.place(call),
            )


def _by_shape(module: Module, note: _Note) -> None:
    for call in module.calls:
        called = module.called(call)
        if called.endswith("init_process_group"):
            backend = constant(argument(call, 0, "backend"))
            if backend == "nccl":
                note(
                    "NCCL",
                    "init_process_group asks for a backend that only NVIDIA GPUs have",
                    "process_group",
                    module.place(call),
                )
        elif (  # noqa: SIM102
            called == "torch.utils.data.DataLoader"
            or called.endswith("data.DataLoader")
            or called.endswith("dataloader.DataLoader")
        ):
            if keyword(call, "drop_last") is None and constant(keyword(call, "shuffle")) is not False:
                note(
                    "last batch",
                    "DataLoader without drop_last: the last batch may have another shape, which is compiled again",
                    "recompilation",
                    module.place(call),
                )
