"""Tables of what is known to go wrong: names of torch that CUDA alone has, and packages of others."""

import re
from dataclasses import dataclass


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


NAMES = [
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
"""Hazards that a name of torch gives away; the first that fits counts."""

PACKAGES: dict[str, tuple[str, str | None]] = {
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
CUDA_PACKAGES = frozenset(name for name, (_, cause) in PACKAGES.items() if cause == "module_missing") | {
    "deepspeed",
    "triton",
    "pynvml",
}
"""Packages that can't be installed, or used, without an NVIDIA GPU."""
