"""A small model of data-parallel SGD in numpy, which writes what the probe would write.

Each replica computes the gradient of a softmax regression on its own share of the batch; reduction, clipping, update and
every fault are done on those numbers, so that the rules on causes face true arithmetic.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agentmig.verification.records import Handshake
from agentmig.verification.traces import RankTrace, World

Array = np.ndarray[Any, np.dtype[np.float64]]
FEATURES, CLASSES = 6, 4


@dataclass(frozen=True)
class Program:
    """How a program trains; the defaults are the reference's.

    Attributes:
        path: what happens to gradients after backward: `mean` and `sum` reduce, `clip` clips.
        passes: micro-batches that are accumulated in a step.
        divisor: by which the loss of a micro-batch is divided; None: by their number.
        smoothing: of the labels: another loss function.
        rounding: relative size of random rounding in every gradient.
    """

    world: int = 4
    batch: int = 8
    steps: int = 8
    path: tuple[str, ...] = ("mean", "clip")
    max_norm: float = 0.2
    norm_type: float = 2.0
    rate: Callable[[int], float] = lambda step: 0.5
    momentum: float = 0.9
    weight_decay: float = 5e-4
    optimizer: str = "SGD"
    zero_grad: bool = True
    passes: int = 1
    divisor: float | None = None
    loss_factor: float = 1.0
    loss_scale: float = 1.0
    smoothing: float = 0.0
    frozen: bool = False
    updates: bool = True
    update_factor: float = 1.0
    gradient_noise: float = 0.0
    noise_from: int = 0
    training: bool = True
    samples: int | None = None
    dtype: str = "float64"
    rounding: float = 0.0
    nan_at: int | None = None
    seed: int = 0
    sees_order: bool = True


def with_changes(**changes: Any) -> Program:
    """The reference with changes."""
    return replace(Program(), **changes)


@dataclass
class Replica:
    """One rank's state."""

    weights: Array
    bias: Array
    momentum: Array
    gradient: Array
    trace: RankTrace


def train(program: Program, reference: World | None = None) -> World:
    """Train, and give what the probe would have seen; `reference` (a result of this function) is matched."""
    data = np.random.default_rng(7)
    world = World(Path("nowhere"))
    start = np.random.default_rng(3).normal(size=(FEATURES, CLASSES))
    shape = start.size + CLASSES
    replicas = []
    for rank in range(program.world):
        world.ranks[rank] = RankTrace(rank)
        world.handshakes[rank] = Handshake(rank=rank, world_size=program.world, pid=rank + 100)
        replicas.append(
            Replica(start.copy(), np.zeros(CLASSES), np.zeros(shape), np.zeros(shape), world.ranks[rank])
        )
        world.ranks[rank].add(_optimizer(program, shape))
    kept: list[list[tuple[Array, Array, Array]]] = []
    for step in range(program.steps):
        inputs = data.normal(size=(program.world, program.batch, FEATURES))
        labels: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = data.integers(
            CLASSES, size=(program.world, program.batch)
        )
        row, tensors = _step(program, replicas, inputs, labels, step)
        kept.append(tensors)
        for rank, replica in enumerate(replicas):
            errors = _errors(reference, step, rank, tensors[rank])
            replica.trace.add(row[rank] | errors)
    for replica in replicas:
        replica.trace.add(_end(program))
    _TENSORS[id(world)] = (world, kept)
    return world


_TENSORS: dict[int, tuple[World, list[list[tuple[Array, Array, Array]]]]] = {}


def _step(
    program: Program,
    replicas: list[Replica],
    inputs: Array,
    labels: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    step: int,
) -> tuple[list[dict[str, Any]], list[tuple[Array, Array, Array]]]:
    losses, order = [], ["backward"]
    for rank, replica in enumerate(replicas):
        if program.zero_grad:
            replica.gradient = np.zeros_like(replica.gradient)
        loss = 0.0
        for x, y in zip(_split(inputs[rank], program), _split(labels[rank], program), strict=True):
            value, gradient = _loss(program, replica, x, y.astype(int))
            factor = program.loss_factor / (program.passes if program.divisor is None else program.divisor)
            loss += value * factor
            replica.gradient = replica.gradient + gradient * factor * program.loss_scale
        losses.append(float("nan") if program.nan_at == step else loss)
    clips: list[list[dict[str, Any]]] = [[] for _ in replicas]
    for action in program.path:
        if action in ("mean", "sum"):
            total = np.sum([replica.gradient for replica in replicas], axis=0)
            for replica in replicas:
                replica.gradient = total / program.world if action == "mean" else total.copy()
            order += ["all_reduce"] if order[-1] != "all_reduce" else []
        elif action == "unscale":
            for replica in replicas:
                replica.gradient = replica.gradient / program.loss_scale
        else:
            for rank, replica in enumerate(replicas):
                norm = float(np.linalg.norm(replica.gradient, program.norm_type))
                clips[rank].append(
                    {"max_norm": program.max_norm, "norm_type": program.norm_type, "norm_before": norm}
                )
                replica.gradient = replica.gradient * min(1.0, program.max_norm / norm)
            order += ["clip"]
    rows, tensors = [], []
    for rank, replica in enumerate(replicas):
        if program.rounding:
            # The same rounding on every replica, as deterministic kernels make it.
            noise = np.random.default_rng((program.seed, step))
            replica.gradient = replica.gradient * (
                1 + program.rounding * noise.normal(size=replica.gradient.shape)
            )
        if program.gradient_noise and step >= program.noise_from:
            replica.gradient = replica.gradient + program.gradient_noise * np.sin(
                np.arange(replica.gradient.size)
            )
        update = _update(program, replica, step)
        weights = np.concatenate([replica.weights.ravel(), replica.bias])
        tensors.append((replica.gradient.copy(), update, weights))
        row = {
            "kind": "step",
            "step": step,
            "optimizer": 0,
            "time": 10.0 + step,
            "loss": "nan" if np.isnan(losses[rank]) else losses[rank],
            "backwards": program.passes,
            "loss_scale": program.loss_scale,
            "grad_norm": float(np.linalg.norm(replica.gradient)),
            "clips": clips[rank],
            "order": order if program.sees_order else ["backward"],
            "lr": [program.rate(step)],
            "update_norm": float(np.linalg.norm(update)),
            "param_norm": float(np.linalg.norm(weights)),
            "training": program.training,
            "samples": program.batch if program.samples is None else program.samples,
            "batch": f"{program.seed:04x}{rank:04x}{step:08x}",
            "rows": [f"{program.seed}-{rank}-{step}-{index}" for index in range(program.batch)],
        }
        rows.append(row)
    return rows, tensors


def _split(values: Array, program: Program) -> list[Array]:
    """The micro-batches of a step: the whole batch in equal parts."""
    return list(np.split(values, program.passes))


def _loss(program: Program, replica: Replica, x: Array, y: Any) -> tuple[float, Array]:
    scores = x @ replica.weights + replica.bias
    scores = scores - scores.max(axis=1, keepdims=True)
    likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    wanted = (1 - program.smoothing) * np.eye(CLASSES)[y] + program.smoothing / CLASSES
    loss = float(-(wanted * np.log(likely)).sum(axis=1).mean())
    slope = (likely - wanted) / len(y)
    bias = np.zeros(CLASSES) if program.frozen else slope.sum(axis=0)
    return loss, np.concatenate([(x.T @ slope).ravel(), bias])


def _update(program: Program, replica: Replica, step: int) -> Array:
    weights = np.concatenate([replica.weights.ravel(), replica.bias])
    direction = replica.gradient + program.weight_decay * weights
    if program.optimizer == "SGD":
        replica.momentum = program.momentum * replica.momentum + direction
        update = -program.rate(step) * replica.momentum
    else:
        update = -program.rate(step) * np.sign(direction)
    update = update * program.update_factor if program.updates else np.zeros_like(update)
    weights = weights + update
    replica.weights = weights[: FEATURES * CLASSES].reshape(FEATURES, CLASSES)
    replica.bias = weights[FEATURES * CLASSES :]
    return update


def _errors(reference: World | None, step: int, rank: int, mine: tuple[Array, ...]) -> dict[str, Any]:
    if reference is None:
        return {}
    kept = _TENSORS[id(reference)][1]
    if step >= len(kept):
        return {}
    names = ("grad_error", "update_error", "param_error")
    theirs = kept[step][rank]
    return {
        name: float(np.linalg.norm(a - b) / (np.linalg.norm(b) or 1.0))
        for name, a, b in zip(names, mine, theirs, strict=True)
    }


def _optimizer(program: Program, elements: int) -> dict[str, Any]:
    trained = elements - CLASSES if program.frozen else elements
    hyper = {"lr": program.rate(0), "weight_decay": program.weight_decay, "foreach": None, "nesterov": False}
    if program.optimizer == "SGD":
        hyper["momentum"] = program.momentum
    return {
        "kind": "optimizer",
        "index": 0,
        "class": program.optimizer,
        "groups": [{"parameters": 1 if program.frozen else 2, "elements": trained, **hyper}],
        "trainable_elements": trained,
        "total_elements": elements,
        "unique_parameters": 1 if program.frozen else 2,
    }


def _end(program: Program) -> dict[str, Any]:
    return {
        "kind": "end",
        "steps": program.steps,
        "how": "stopped",
        "wall_s": float(program.steps),
        "counters": None,
        "fallback_ops": [],
        "hardware": {
            "device": "cpu",
            "device_kind": "CPU",
            "world_size": program.world,
            "parameter_dtype": program.dtype,
            "grad_dtype": program.dtype,
            "state_dtype": program.dtype,
        },
    }


def write(world: World, folder: Path) -> None:
    """Put a world on disk as the probe does."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, handshake in world.handshakes.items():
        (folder / f"handshake-{rank}.json").write_text(handshake.model_dump_json(by_alias=True))
    for rank, trace in world.ranks.items():
        lines = [{"kind": "optimizer", **info.model_dump(by_alias=True)} for info in trace.optimizers]
        lines += [{"kind": "step", **step.model_dump()} for step in trace.steps]
        lines += [{"kind": "note", **note.model_dump()} for note in trace.notes]
        lines += [{"kind": "end", **trace.end.model_dump()}] if trace.end else []
        (folder / f"trace-{rank}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def note(world: World, code: str, message: str) -> World:
    """The world with a note on rank 0."""
    world.ranks[0].add({"kind": "note", "code": code, "message": message})
    return world
