"""The lines that the probe writes, as typed values (schema 1 of the probe)."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Line(BaseModel):
    """One record of the probe; fields that this version doesn't know are dropped. "nan" and "inf" become floats."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Handshake(Line):
    """A rank's first sign of life."""

    schema_version: int = Field(default=1, alias="schema")
    rank: int
    local_rank: int = 0
    world_size: int
    pid: int
    ppid: int | None = None
    argv: list[str] = []
    executable: str = ""
    torch: str = ""
    torch_xla: str | None = None
    python: str = ""
    plan_sha256: str | None = None
    time: float | None = None


class Clip(Line):
    """One call of a clipping function."""

    max_norm: float | None = None
    norm_type: float = 2.0
    norm_before: float | None = None
    forced: float | None = None
    """The threshold that took the place of the program's in a provoked run."""

    @property
    def limit(self) -> float | None:
        """The threshold that was applied."""
        return self.max_norm if self.forced is None else self.forced


class Counters(Line):
    """Cumulative counts of a backend, without the probe's and the emulation's own doing; None is what it can't tell."""

    compiles: int = 0
    executions: int | None = None
    transfers_to_host: int | None = None
    fallbacks: int | None = None


class BatchShape(Line):
    """Shapes of the program's own batch and of the recorded one that took its place."""

    own: Any = None
    reference: Any = None


class Group(Line):
    """A parameter group; all scalar hyperparameters are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)

    parameters: int = 0
    elements: int = 0

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Everything but the sizes."""
        return dict(self.model_extra or {})


class OptimizerInfo(Line):
    """An optimizer as it was at its first step."""

    index: int
    name: str = Field(alias="class")
    groups: list[Group] = []
    trainable_elements: int = 0
    total_elements: int = 0
    unique_parameters: int = 0


class Step(Line):
    """The fingerprint of one optimizer step."""

    step: int
    optimizer: int = 0
    time: float | None = None
    """Seconds of the process's own clock."""
    loss: float | None = None
    backwards: int = 0
    loss_scale: float = 1.0
    grad_norm: float | None = None
    """2-norm of the gradients that the optimizer applies, on this rank."""
    clips: list[Clip] = []
    order: list[str] = []
    lr: list[float | None] = []
    update_norm: float | None = None
    param_norm: float | None = None
    grad_error: float | None = None
    grad_worst: str | None = None
    update_error: float | None = None
    param_error: float | None = None
    training: bool = True
    samples: int | None = None
    batch: str | None = None
    batch_shape: BatchShape | None = None
    rows: list[str] | None = None
    epoch: int | None = None
    """How often the training data had been begun before, where the probe tells."""
    counters: Counters | None = None
    dropout: dict[str, int] = {}
    """Calls of dropout by probability; `evaluation` counts those that were active without gradients."""
    mask: str | None = None
    """Hash of a small mask drawn in the place of the step's first dropout."""
    evaluated: list[int] = [0, 0]
    """Forward passes of the model without gradients since the last step: in evaluation and in training mode."""
    autocast: str | None = None
    inputs: str | None = None
    """Hash of what the model was fed."""

    @property
    def clip(self) -> Clip | None:
        """The last clipping before the step: the one whose result is applied."""
        return self.clips[-1] if self.clips else None

    @property
    def norm_before_clip(self) -> float | None:
        """Norm that the first clipping found, or the applied one where nothing is clipped."""
        return self.clips[0].norm_before if self.clips else self.grad_norm


class Note(Line):
    """Something that the probe could not do, or found strange."""

    code: str
    message: str = ""


class Checkpoint(Line):
    """A call that saved something; in a match, how far it is from what the reference saved at this place."""

    path: str
    time: float | None = None
    number: int | None = None
    """How often this file had been saved before; None where it wasn't compared."""
    error: float | None = None
    """The worst tensor's distance in units of its own norm."""
    worst: str | None = None
    missing: list[str] = []
    extra: list[str] = []
    shapes: list[str] = []


class Pass(Line):
    """One pass over a DataLoader: what it took from its sampler, loaded or not."""

    loader: int
    training: bool
    number: int
    batches: int = 0
    samples: int = 0
    indices: str = ""
    """Names the multiset of the indices: sums over ranks add up (modulo 2**64)."""
    order: str = ""
    complete: bool = False
    shortened: bool = False
    content: dict[str, tuple[str, str]] = {}
    """Hashes of numbers and of labels by index, of the first samples that were loaded."""


class Initial(Line):
    """The program's own weights before its first step."""

    digest: str
    tensors: dict[str, tuple[int, float, float, float]] = {}
    """Elements, mean, standard deviation and largest magnitude."""


class Seed(Line):
    """A call that seeded a generator."""

    call: str
    value: Any = None


class ProbeError(Line):
    """The probe's own failure."""

    where: str
    message: str = ""


class Hardware(Line):
    """Where the last optimizer's tensors lay."""

    device: str = "cpu"
    device_kind: str = ""
    runtime_devices: int | None = None
    world_size: int = 1
    emulated: bool = False
    spmd: bool = False
    """One process drives all devices of the runtime, where the probe tells."""
    grad_dtype: str | None = None
    parameter_dtype: str | None = None
    state_dtype: str | None = None


class End(Line):
    """The rank's last line."""

    steps: int
    how: str = "program"
    wall_s: float | None = None
    counters: Counters | None = None
    fallback_ops: list[str] = []
    hardware: Hardware = Hardware()
    backend: dict[str, Any] = {}
    """What else the backend told of itself."""
