"""Random numbers that the training draws in its steps (noise, masks, mixing): recorded, and given to a match.

Another device draws other numbers from the same seed, which is no fault, and no step could be compared. What datasets draw is
left out, since batches are matched as a whole; so are initial weights, which are loaded.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from .observe import wrap
from .plan import Plan
from .state import State
from .trace import Trace

Tensor = Any

_FUNCTIONS = (
    "randn", "rand", "randn_like", "rand_like", "normal", "randint", "randint_like", "bernoulli", "randperm",
    "multinomial", "poisson",
)  # fmt: skip
_METHODS = ("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "geometric_")
_NOT_THE_PROGRAM = ("torch", "torch_xla", "agentmig_probe")


class Draws:
    """Watches torch's random functions where the program itself calls them.

    Args:
        plan: whether to record or to give.
        trace: for notes.
        state: says when the training has begun; the cap on bytes.
        rank: whose draws these are.
        save: torch's own `torch.save`.
    """

    def __init__(
        self, plan: Plan, trace: Trace, state: State, rank: Callable[[], int], save: Callable[..., Any]
    ) -> None:
        self.loading = threading.local()
        self._plan = plan
        self._trace = trace
        self._state = state
        self._rank = rank
        self._save = save
        self._drawn: list[Tensor] = []
        self._reference: list[Tensor] | None = None
        self._next = 0
        self._full = False

    def install(self) -> None:
        """Hook the functions, where values are wanted at all."""
        if self._plan.mode == "watch" or not self._plan.values:
            return
        for name in _FUNCTIONS:
            wrap(torch, name, self._function)
        for name in _METHODS:
            wrap(torch.Tensor, name, self._method)

    def _wanted(self) -> bool:
        frame = sys._getframe(2)
        while str(frame.f_globals.get("__name__", "")).split(".")[0] == "agentmig_probe" and frame.f_back:
            frame = frame.f_back
        module = str(frame.f_globals.get("__name__", "")).split(".")[0]
        return (
            self._state.settled
            and torch.is_grad_enabled()
            and not getattr(self.loading, "on", False)
            and module not in _NOT_THE_PROGRAM
        )

    def _function(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            drawn = original(*args, **kwargs)
            if isinstance(drawn, torch.Tensor) and self._wanted():
                with self._trace.guard("draw"):
                    given = self._seen(drawn)
                    if given is not None:
                        drawn = given.to(device=drawn.device, dtype=drawn.dtype).requires_grad_(
                            drawn.requires_grad
                        )
            return drawn

        return draw

    def _method(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fill(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            filled = original(tensor, *args, **kwargs)
            if self._wanted():
                with self._trace.guard("draw"):
                    given = self._seen(tensor)
                    if given is not None:
                        with torch.no_grad():
                            tensor.copy_(given)
            return filled

        return fill

    def _seen(self, drawn: Tensor) -> Tensor | None:
        """Record a draw, or find what the reference drew in its place."""
        if self._plan.mode == "record":
            size = drawn.numel() * drawn.element_size()
            self._full = self._full or not self._state.afford(size, "a random draw")
            if not self._full:
                self._drawn.append(drawn.detach().to("cpu", copy=True))
            return None
        if self._reference is None:
            found = self._state.read_of_rank("draws")
            self._reference = found["draws"] if found else []
        place = self._next
        self._next += 1
        theirs = self._reference[place] if place < len(self._reference) else None
        given = None if theirs is None else self._share(theirs, drawn)
        if given is None:
            expected = "none" if theirs is None else str(tuple(theirs.shape))
            message = f"draw {place} has the shape {tuple(drawn.shape)}, the reference's: {expected}"
            self._trace.note(
                "draws_unmatched", f"{message}; random numbers of the step are the program's own"
            )
            self._next = len(self._reference)  # out of step once: what follows fits by chance only
        return given

    def _share(self, theirs: Tensor, drawn: Tensor) -> Tensor | None:
        """The reference's draw, or this replica's part of it."""
        if theirs.shape == drawn.shape:
            return theirs
        shares = self._state.shares
        if drawn.dim() and theirs.dim() and theirs.shape[0] == shares * drawn.shape[0]:
            part = theirs.chunk(shares)[self._rank()]
            return part if part.shape == drawn.shape else None
        return None

    def write(self) -> None:
        """Leave what was drawn beside the record."""
        if self._plan.mode == "record" and self._drawn:
            self._save({"draws": self._drawn}, self._plan.out / f"draws-{self._rank()}.pt")
