"""Taking a run to float64, and dropout out of it; on the reference and the candidate alike.

Only float64 tells a wrong computation from a rounding one, so nothing may stay narrow: not a parameter, not a batch,
and not a cast that the program writes for speed or by habit (`.float()`). Each such place is noted.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from . import leaves
from .modes import Modes
from .observe import wrap
from .trace import Trace

Tensor = Any

HALF = (torch.float16, torch.bfloat16)
NARROW = (torch.float32, *HALF)
_FACTORIES = (
    "tensor", "as_tensor", "zeros", "ones", "empty", "full", "arange", "linspace", "eye",
    "zeros_like", "ones_like", "empty_like", "full_like",
)  # fmt: skip
_RANDOM = ("rand", "randn", "rand_like", "randn_like")
_AUTOCAST: tuple[str, ...] = ("device_type", "dtype", "enabled", "cache_enabled")
_SCALER: tuple[str, ...] = (
    "device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled",
)  # fmt: skip
_OURS = ("torch", "torch_xla", "agentmig_probe")


def widen(tensor: Tensor) -> Tensor:
    """The tensor in float64 if it is a narrower float, else as it is."""
    return _double(tensor) if tensor.dtype in NARROW else tensor


_double: Callable[[Tensor], Tensor] = torch.Tensor.double


def mark_narrowed(tensor: Tensor, dtype: str) -> Tensor:
    """Remember that the program wanted this tensor in half a width: it has none of it in this pass, a file would."""
    alias = tensor.detach() if tensor.is_leaf and not tensor.requires_grad else tensor
    alias._agentmig_narrowed = dtype
    return alias


def narrowed(tensor: Tensor) -> str | None:
    """The half-width type that the program wanted this tensor in."""
    return getattr(tensor, "_agentmig_narrowed", None)


def widen_in_place(tensors: Sequence[Tensor]) -> None:
    """Make parameters (or buffers) float64, keeping the objects that optimizers and modules hold."""
    for tensor in tensors:
        if tensor.dtype in NARROW:
            tensor.data = _double(tensor.data)
            if tensor.grad is not None:
                tensor.grad = _double(tensor.grad)


def widen_module(module: Any) -> None:
    """Make all float parameters and buffers of a module float64."""
    widen_in_place([*module.parameters(), *module.buffers()])


def note_narrow(
    trace: Trace, parameters: Mapping[str, Tensor], grads: Mapping[str, Tensor], losses: Any
) -> None:
    """Name what is still narrower than float64: there the comparison is only as good as its width."""
    named = [(f"parameter {name}", tensor) for name, tensor in parameters.items()]
    named += [(f"gradient of {name}", tensor) for name, tensor in grads.items()]
    named += [("the loss", loss) for loss in losses if loss is not None]
    for what, tensor in named:
        if tensor.dtype in NARROW:
            trace.note("narrow_cast", f"{what} is {tensor.dtype} in the float64 pass")


class Float64:
    """Installs float64 for a whole process."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def install(self) -> None:
        """Hook default dtype, casts, factories, autocast, loss scaling and optimizers' parameters."""
        torch.set_default_dtype(torch.float64)
        wrap(torch, "set_default_dtype", self._keep_default)
        for name in ("float", "half", "bfloat16"):
            wrap(torch.Tensor, name, self._as_double)
            wrap(torch.nn.Module, name, self._as_double)
        for owner in (torch.Tensor, torch.nn.Module):
            wrap(owner, "to", self._with_dtype)
        wrap(torch.Tensor, "type", self._with_dtype)
        for name in _FACTORIES:
            wrap(torch, name, self._with_dtype)
        for name in _RANDOM:
            wrap(torch, name, self._drawn)
        wrap(torch.amp.autocast_mode.autocast, "__init__", self._disabled)
        wrap(torch.amp.GradScaler, "__init__", self._disabled)

    def _from_program(self) -> str | None:
        """File and line of the program's own call; None where torch itself calls (its kernels know their widths)."""
        frame = sys._getframe(2)
        module = str(frame.f_globals.get("__name__", ""))
        if module.split(".")[0] in _OURS:
            return None
        return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"

    def _widened(self, place: str, what: Any) -> None:
        self._trace.note("widened", f"{what} at {place} gives float64 in this pass")

    def _keep_default(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def set_default_dtype(dtype: Any) -> None:
            place = self._from_program() if dtype in NARROW else None
            if place is not None:
                self._widened(place, dtype)
            elif dtype not in NARROW:
                original(dtype)

        return set_default_dtype

    def _as_double(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def cast(value: Any, *args: Any, **kwargs: Any) -> Any:
            place = self._from_program()
            if place is None:
                return original(value, *args, **kwargs)
            self._widened(place, f".{original.__name__}()")
            widened = value.double()
            if original.__name__ != "float" and isinstance(widened, torch.Tensor):
                widened = mark_narrowed(widened, original.__name__)
            return widened

        return cast

    def _with_dtype(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            dtype = kwargs.get("dtype")
            narrow = dtype in NARROW or any(type(arg) is torch.dtype and arg in NARROW for arg in args)
            if narrow:
                place = self._from_program()
                if place is not None:
                    given = [arg for arg in args if type(arg) is torch.dtype]
                    self._widened(place, f"{original.__name__} to a narrower float")
                    args = tuple(torch.float64 if type(a) is torch.dtype and a in NARROW else a for a in args)
                    if dtype in NARROW:
                        kwargs["dtype"] = torch.float64
                    half = next((d for d in (dtype, *given) if d in HALF), None)
                    result = original(*args, **kwargs)
                    marked = half is not None and isinstance(result, torch.Tensor)
                    return mark_narrowed(result, str(half)) if marked else result
            return original(*args, **kwargs)

        return call

    def _drawn(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            drawn = original(*args, **kwargs)  # in the width asked for: each width has its own numbers
            if kwargs.get("dtype") in NARROW:
                place = self._from_program()
                if place is not None:
                    self._widened(place, original.__name__)
                    return widen(drawn).requires_grad_(drawn.requires_grad)
            return drawn

        return draw

    def _disabled(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init(thing: Any, *args: Any, **kwargs: Any) -> None:
            names = _AUTOCAST if isinstance(thing, torch.amp.autocast_mode.autocast) else _SCALER
            given = {**dict(zip(names, args, strict=False)), **kwargs, "enabled": False}
            original(thing, **given)

        return init


def widen_inputs(module: Any, args: Any) -> Any:
    """Inputs of a module's forward pass in float64 where the module is."""
    first = next(module.parameters(), None)
    if first is None or first.dtype != torch.float64:
        return None
    if not any(tensor.dtype in NARROW for tensor in leaves.tensors(args)):
        return None
    return leaves.rebuild(args, widen)


def no_dropout(modes: Modes) -> None:
    """Make dropout the identity, in modules, functions, attention and recurrent layers.

    Args:
        modes: told what was asked for.
    """
    functional = torch.nn.functional
    modes.draw_with(functional.dropout)

    def identity(original: Callable[..., Any]) -> Callable[..., Any]:
        def dropout(input: Tensor, p: Any = 0.5, training: Any = True, *args: Any, **kwargs: Any) -> Tensor:
            modes.saw_dropout(p, kwargs.get("train", training), input)
            return input

        return dropout

    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        wrap(functional, name, identity)
    wrap(torch, "dropout", identity)

    def attention(original: Callable[..., Any]) -> Callable[..., Any]:
        def scaled_dot_product_attention(
            query: Any,
            key: Any,
            value: Any,
            attn_mask: Any = None,
            dropout_p: Any = 0.0,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            modes.saw_dropout(dropout_p, True)
            return original(query, key, value, attn_mask, 0.0, *args, **kwargs)

        return scaled_dot_product_attention

    wrap(functional, "scaled_dot_product_attention", attention)

    def recurrent(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            weights = next(index for index, arg in enumerate(args) if isinstance(arg, list))
            modes.saw_dropout(args[weights + 3], args[weights + 4])
            return original(*args[: weights + 3], 0.0, *args[weights + 4 :])

        return run

    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        wrap(torch._VF, name, recurrent)
