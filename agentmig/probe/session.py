"""One process under the probe: its parts, put together when torch is complete."""

import atexit
import os
import sys
from types import ModuleType
from typing import Any

from . import handshake, plan


class Session:
    """The probe in this process.

    Args:
        orders: the run's plan.
        torch: the module, complete.
    """

    def __init__(self, orders: plan.Plan, torch: Any) -> None:
        from . import (
            backends,
            batches,
            draws,
            finish,
            marks,
            modes,
            observe,
            precision,
            saved,
            state,
            steps,
            stress,
            trace,
        )

        self.plan = orders
        self._torch = torch
        self._backend: backends.Backend = backends.Cuda()
        who = handshake.identity(os.environ)
        self.trace = trace.Trace(orders.out, who, torch.__version__, orders.sha256)
        own_save = torch.save

        def rank() -> int:
            return self.trace.who.rank

        def backend() -> backends.Backend:
            return self._backend

        self.state = state.State(orders, self.trace, rank, backend, own_save)
        self.draws = draws.Draws(orders, self.trace, self.state, rank, own_save)
        self.feed = batches.Feed(orders, self.trace, rank, self.state, own_save, self.draws.loading)
        self.modes = modes.Modes(self.trace)
        provoked = stress.Stress(orders, self.trace, self.state.document)
        self.observer = observe.Observer(self.trace, orders.values, provoked, self._before_backward)
        self.marks = marks.Marks(self.trace, saved.Saved(orders, self.state, rank, backend, own_save))
        self._precision = precision
        self.finish = finish.Finish(orders, self.trace, backend, self._write)
        self.steps = steps.Steps(
            orders,
            self.trace,
            self.observer,
            self.state,
            self.feed,
            backend,
            self.modes,
            provoked,
            self._training,
            self.finish.stop,
        )
        self.finish.steps = self.steps

    def install(self) -> None:
        """Hook torch; become the rank, unless another process already is or this one is somebody's child."""
        if not handshake.is_child() and not self.trace.handshake_path.exists():
            self.trace.own(self.trace.who)
        self.draws.install()  # inside of what float64 puts around the same functions, which looks at its caller
        if self.plan.precision == "float64":
            self._precision.Float64(self.trace).install()
        if not self.plan.dropout:
            self._precision.no_dropout(self.modes)
        self.observer.install()
        self.steps.install()
        self.feed.install()
        self.marks.install()
        self._see_optimizers()
        self._see_ddp()
        self._forward_hook = self._torch.nn.modules.module.register_module_forward_pre_hook(self._forward)
        os.register_at_fork(after_in_child=self.trace.forked)
        atexit.register(self.finish.at_exit)

    def _see_optimizers(self) -> None:
        cls = self._torch.optim.Optimizer
        original = cls.__init__

        def init(optimizer: Any, params: Any, *args: Any, **kwargs: Any) -> None:
            if self.plan.precision == "float64":
                with self.trace.guard("optimizer in float64"):
                    params = self._widened(params)
            original(optimizer, params, *args, **kwargs)
            self.state.optimizers.add(optimizer)

        cls.__init__ = init

    def _widened(self, params: Any) -> Any:
        if isinstance(params, self._torch.Tensor):
            return params
        entries = list(params)
        for entry in entries:
            if isinstance(entry, dict):
                inner = entry["params"]
                entry["params"] = [inner] if isinstance(inner, self._torch.Tensor) else list(inner)
        tensors = [
            tensor
            for entry in entries
            for tensor in (entry["params"] if isinstance(entry, dict) else [entry])
        ]
        self._precision.widen_in_place([t[1] if isinstance(t, tuple) else t for t in tensors])
        return entries

    def _see_ddp(self) -> None:
        if self.plan.precision != "float64" or not self._torch.distributed.is_available():
            return
        cls = self._torch.nn.parallel.DistributedDataParallel
        original = cls.__init__

        def init(ddp: Any, module: Any, *args: Any, **kwargs: Any) -> None:
            with self.trace.guard("DDP in float64"):
                self._precision.widen_module(module)
            original(ddp, module, *args, **kwargs)

        cls.__init__ = init

    def _forward(self, module: Any, args: Any) -> Any:
        """Every module's forward pass; where no values are wanted, until the training's first one is found."""
        result = None
        with self.trace.guard("forward"):
            float64 = self.plan.precision == "float64"
            grad = self._torch.is_grad_enabled()
            if not self.state.settled and grad and self._outermost(module):
                if float64:
                    self._precision.widen_module(module)
                self.state.first_forward(module)
            if float64:
                result = self._precision.widen_inputs(module, args)
            if self.plan.values and self.state.is_core(module):
                if grad:
                    self.modes.saw_training(module, args)
                else:
                    self.modes.saw_evaluation(module)
            if self.state.settled and not self.plan.values and not float64:
                self._forward_hook.remove()
        return result

    def _outermost(self, module: Any) -> bool:
        """Whether this isn't a part of the module whose provisional pass is going on."""
        return not any(module is part for root in self.state.roots for part in list(root.modules())[1:])

    def _write(self) -> None:
        """Leave what was recorded."""
        self.feed.write()
        self.draws.write()

    def _before_backward(self) -> None:
        self.state.before_backward()
        self.feed.saw_backward()

    def _training(self) -> None:
        """The process trains, so it is a rank, whatever it looked like."""
        if self.trace.owner:
            return
        who = handshake.identity(os.environ)
        dist = self._torch.distributed
        if "RANK" not in os.environ and dist.is_available() and dist.is_initialized():
            size = dist.get_world_size()
            who = handshake.Identity(dist.get_rank(), dist.get_rank(), size, size)
        self.trace.own(who)

    def xla_imported(self, torch_xla: ModuleType) -> None:
        """torch_xla is complete: read its counters, and emulate its chips where the plan says so."""
        from .backends import bridge, xla

        backend = xla.Xla(torch_xla)
        self._backend = backend
        who = handshake.identity(os.environ)
        if self.plan.bridge and who.world_size > 1:
            bridge.install(torch_xla, who, backend)
        self.observer.hook_xla(torch_xla.core.xla_model)
        self.marks.hook_xla(torch_xla)
        self.trace.xla_imported(str(torch_xla.__version__))
        if self.plan.precision == "float64" and any(
            os.environ.get(v) for v in ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")
        ):
            self.trace.note(
                "narrow_cast", "XLA_USE_BF16 or XLA_DOWNCAST_BF16 makes float64 narrow on the device"
            )
        # Functions run in the reverse order: the trace must end before torch_xla tears its runtime down.
        atexit.unregister(self.finish.at_exit)
        atexit.register(self.finish.at_exit)

    def torch_tpu_imported(self) -> None:
        """torch_tpu is complete: read it."""
        from .backends import torch_tpu

        self._backend = torch_tpu.TorchTpu()


_session: Session | None = None


def torch_imported() -> None:
    """Start the probe, unless this process only launches others."""
    global _session
    if handshake.is_launcher(sys.orig_argv):
        return
    try:
        orders = plan.read()
    except plan.PlanError as error:
        # Without a plan there is no folder to write to; the missing handshake fails the verification.
        print(f"agentmig probe: {error}; this process runs unwatched", file=sys.stderr)
        return
    _session = Session(orders, sys.modules["torch"])
    with _session.trace.guard("install"):
        _session.install()


def backend_imported(name: str, module: ModuleType) -> None:
    """Go on with what belongs to a backend, once it is complete."""
    if _session is None:
        return
    with _session.trace.guard(f"import of {name}"):
        if name == "torch_xla":
            _session.xla_imported(module)
        elif name == "torch_tpu":
            _session.torch_tpu_imported()
        else:
            from .backends import xla

            xla.remember_grad_mode(module)
