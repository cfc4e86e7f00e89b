"""What a step's values tell: norms, and in a match how far this step is from the reference's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from . import compare, observe, precision
from .backends import Backend
from .modes import Modes
from .plan import Plan
from .state import State
from .trace import Trace

Tensor = Any
Optimizer = Any


@dataclass
class OpenStep:
    """A step between its two hooks: tensors are kept by the parameter's id, as names may not be known yet."""

    optimizer: Optimizer
    frame: FrameType | None
    learning_rates: list[Any]
    before: dict[int, Tensor] = field(default_factory=dict)
    grads: dict[int, Tensor] = field(default_factory=dict)
    unscale: Tensor | None = None
    own_rates: list[Any] = field(default_factory=list)

    def parameters(self) -> list[Tensor]:
        """The optimizer's parameters."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def keep_before(self) -> None:
        """Copy the parameters before the update."""
        self.before = {id(p): dense(p.detach()).clone() for p in self.parameters()}

    def keep_grads(self) -> None:
        """Copy the gradients as the optimizer is about to apply them."""
        self.grads = {id(p): dense(p.grad.detach()).clone() for p in self.parameters() if p.grad is not None}
        # A fused optimizer under a GradScaler divides by the scale inside its kernel.
        self.unscale = getattr(self.optimizer, "grad_scale", None)


def dense(tensor: Tensor) -> Tensor:
    """The part of a tensor that this rank holds, as an ordinary tensor."""
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    return tensor.to_dense() if tensor.is_sparse else tensor


def scalar(value: Any) -> Any:
    """A hyperparameter as JSON; None for a tensor on a device, which isn't read."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" and value.numel() == 1 else None
    if isinstance(value, (list, tuple)):
        return [scalar(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def clip_fields(clip: observe.Clip, norm_before: float | None) -> dict[str, Any]:
    """A clip as the trace shows it."""
    return {
        "max_norm": scalar(clip.max_norm),
        "norm_type": clip.norm_type,
        "norm_before": norm_before,
        "forced": clip.forced,
    }


def describe(optimizer: Optimizer, model: Mapping[str, Tensor]) -> dict[str, Any]:
    """Fields of an `optimizer` line: class, groups with every scalar hyperparameter, counts of elements.

    Args:
        optimizer: as it is at its first step.
        model: all parameters of the trained modules by name; the total is counted over them.
    """
    unique = {id(p): p for group in optimizer.param_groups for p in group["params"]}
    everything = {id(p): p for p in model.values()} or unique
    return {
        "class": type(optimizer).__name__,
        "groups": [
            {
                "parameters": len(group["params"]),
                "elements": sum(parameter.numel() for parameter in group["params"]),
                **{key: scalar(value) for key, value in group.items() if key != "params"},
            }
            for group in optimizer.param_groups
        ],
        "trainable_elements": sum(p.numel() for p in unique.values() if p.requires_grad),
        "total_elements": sum(p.numel() for p in everything.values()),
        "unique_parameters": len(unique),
    }


class Values:
    """Reads a step's values, all in one transfer, when the step is done.

    Args:
        plan: this run's orders.
        trace: for notes.
        state: the model by name, and the reference.
        backend: the readings of the backend in use.
        modes: in which way the model was run.
    """

    def __init__(
        self, plan: Plan, trace: Trace, state: State, backend: Callable[[], Backend], modes: Modes
    ) -> None:
        self._modes = modes
        self._plan = plan
        self._trace = trace
        self._state = state
        self._backend = backend
        self._previous: tuple[int, dict[str, Any] | None] = (-2, None)

    def read(self, count: int, step: OpenStep, interval: observe.Interval) -> dict[str, Any]:
        """Fields of the step's line; records the step, or compares it with the reference's, as the plan says.

        Args:
            count: the step's number, from 0.
            step: what was kept before the update.
            interval: what was seen since the last step.
        """
        owned = self._state.owned_by(step.optimizer)
        parameters, buffers = self._state.parameters(), self._state.buffers()
        grads = {name: step.grads[id(tensor)] for name, tensor in owned.items() if id(tensor) in step.grads}
        if self._plan.precision == "float64":
            precision.note_narrow(self._trace, owned, grads, [loss for loss, _ in interval.losses])
        asked: dict[tuple[str, Any], Tensor | None] = {
            **{("grad", name): tensor for name, tensor in grads.items()},
            **{("before", name): step.before.get(id(tensor)) for name, tensor in owned.items()},
            **{("after", name): dense(tensor.detach()) for name, tensor in owned.items()},
            **{("param", name): dense(tensor.detach()) for name, tensor in parameters.items()},
            **{("buffer", name): dense(tensor.detach()) for name, tensor in buffers.items()},
            **{("loss", position): loss for position, (loss, _) in enumerate(interval.losses)},
            **{("scale", position): scale for position, (_, scale) in enumerate(interval.losses)},
            **{("clip", position): clip.norm_before for position, clip in enumerate(interval.clips)},
            ("unscale", 0): step.unscale,
            **self._modes.tensors(),
        }
        keyed = {key: tensor for key, tensor in asked.items() if tensor is not None}
        host = dict(zip(keyed, self._backend().to_host(list(keyed.values())), strict=True))

        def part(kind: str) -> dict[Any, Tensor]:
            return {key[1]: tensor for key, tensor in host.items() if key[0] == kind}

        scales = {position: float(tensor) for position, tensor in part("scale").items()}
        losses = [float(loss) / scales.get(position, 1.0) for position, loss in part("loss").items()]
        applied = part("grad")
        if step.unscale is not None:
            applied = {name: grad / host["unscale", 0] for name, grad in applied.items()}
        before, after, norms = part("before"), part("after"), part("clip")
        update = {name: _difference(after[name], before[name]) for name in after if name in before}
        snapshot = {"names": list(parameters), "params": part("param"), "buffers": part("buffer")}
        fields: dict[str, Any] = {
            "loss": sum(losses) if losses and len(losses) == len(interval.losses) else None,
            "loss_scale": scales[max(scales)] if scales else 1.0,
            "grad_norm": compare.norm(applied.values()),
            "clips": [
                clip_fields(clip, float(norms[position]) if position in norms else None)
                for position, clip in enumerate(interval.clips)
            ],
            "update_norm": compare.norm(update.values()),
            "param_norm": compare.norm(after.values()),
            **self._modes.fields(host),
        }
        if self._plan.mode == "record":
            self._state.write_step(count, applied, snapshot)
        elif self._plan.mode == "match":
            fields |= self._errors(count, applied, update, part("param"))
        return fields

    def replay(self, count: int, step: OpenStep) -> None:
        """Let the optimizer apply the reference's gradients: what differs after the step is then its own doing."""
        reference = self._state.reference_step(count)
        if reference is None or not self._state.pairing:
            return
        owned = self._state.owned_by(step.optimizer)
        with torch.no_grad():
            for name, parameter in owned.items():
                theirs = reference["grads"].get(self._state.pairing.get(name, ""))
                if theirs is None or parameter.grad is None or parameter.grad.is_sparse:
                    continue
                scale = 1.0 if step.unscale is None else step.unscale
                parameter.grad.copy_(theirs.to(parameter.grad.device) * scale)

    def _errors(
        self,
        count: int,
        grads: Mapping[str, Tensor],
        update: Mapping[str, Tensor],
        params: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """How far this step is from the reference's: gradients, the optimizer's update, parameters after it."""
        reference = self._state.reference_step(count)
        known, earlier = self._previous
        if known != count - 1:
            earlier = self._state.reference_step(count - 1)
        self._previous = (count, reference)
        if reference is None or earlier is None or not self._state.pairing:
            return {}
        back = {theirs: ours for ours, theirs in self._state.pairing.items()}

        def as_ours(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {back[name]: tensor for name, tensor in tensors.items() if name in back}

        moved = {
            name: _difference(after, earlier["params"][name]) for name, after in reference["params"].items()
        }
        theirs = {name: tensor for name, tensor in as_ours(moved).items() if name in update}
        paired = {name: tensor for name, tensor in params.items() if name in self._state.pairing}
        grad_error, grad_worst = compare.worst(grads, as_ours(reference["grads"]))
        return {
            "grad_error": grad_error,
            "grad_worst": grad_worst,
            "update_error": compare.worst(update, theirs)[0],
            "param_error": compare.worst(paired, as_ours(reference["params"]))[0],
        }


def _difference(after: Tensor, before: Tensor) -> Tensor:
    return after.to(torch.float64) - before.to(torch.float64)
