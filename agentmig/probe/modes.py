"""In which way the model is run between two optimizer steps: dropout, evaluation, autocast, and what it is fed."""

from collections import Counter
from typing import Any

import torch

from . import leaves
from .trace import Trace

Tensor = Any
Module = Any

_MASK_ELEMENTS = 64
_INPUT_BYTES = 1 << 23
"""Of a step's inputs so much is kept until the step is read."""


class Modes:
    """Collects what is seen until the next step.

    Args:
        trace: for errors of our own.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._draw: Any = None
        self._forget()

    def _forget(self) -> None:
        self._dropout: Counter[str] = Counter()
        self._evaluated = [0, 0]
        self._autocast: str | None = None
        self._inputs: list[Tensor] = []
        self._bytes = 0
        self._mask: Tensor | None = None

    def saw_training(self, module: Module, args: Any) -> None:
        """The model's forward pass with gradients begins."""
        parameter = next(module.parameters(), None)
        if parameter is not None:
            kind = parameter.device.type
            if torch.is_autocast_enabled(kind):
                self._autocast = str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
        for tensor in leaves.tensors(list(args)):
            self._bytes += tensor.numel() * tensor.element_size()
            if self._bytes <= _INPUT_BYTES:
                self._inputs.append(tensor.detach())

    def saw_evaluation(self, module: Module) -> None:
        """A forward pass without gradients begins."""
        self._evaluated[any(part.training for part in module.modules() if part._parameters)] += 1

    def saw_dropout(self, p: Any, training: Any, near: Tensor | None = None) -> None:
        """Dropout was asked for; it is the identity in this run.

        Args:
            p: the probability.
            training: whether it was to be active.
            near: its input: a small mask is drawn in its stead, on the same device.
        """
        if not training or not p:
            return
        self._dropout[f"{float(p):g}" if torch.is_grad_enabled() else "evaluation"] += 1
        if near is not None and self._mask is None and self._draw is not None and torch.is_grad_enabled():
            ones = torch.ones(_MASK_ELEMENTS, device=near.device)
            with torch.no_grad():
                self._mask = self._draw(ones, 0.5, True)

    def draw_with(self, dropout: Any) -> None:
        """Tell torch's own dropout function, before it is replaced."""
        self._draw = dropout

    def tensors(self) -> dict[tuple[str, int], Tensor]:
        """What has to be read on the host: inputs and the mask."""
        found = {("input", position): tensor for position, tensor in enumerate(self._inputs)}
        return found if self._mask is None else {**found, ("mask", 0): self._mask}

    def fields(self, host: dict[Any, Tensor] | None) -> dict[str, Any]:
        """Fields of a step's line; forgets them.

        Args:
            host: copies of `tensors()` on the host by the same keys; None where no values are read.
        """
        inputs = [tensor for key, tensor in (host or {}).items() if key[0] == "input"]
        mask = (host or {}).get(("mask", 0))
        fields = {
            "dropout": dict(sorted(self._dropout.items())),
            "mask": None if mask is None else leaves.digest([leaves.content(mask)]),
            "evaluated": self._evaluated,
            "autocast": self._autocast,
            "inputs": leaves.batch_hash(inputs) if inputs else None,
        }
        self._forget()
        return fields
