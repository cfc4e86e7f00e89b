"""What a workload asks of machines: the reference and each target, and which backend each really runs on."""

from dataclasses import dataclass

from agentmig.doctor.backends import Backend, Hardware
from agentmig.doctor.results import Finding, missing, ok
from agentmig.execution.launch import LaunchError, require_hardware
from agentmig.spec.workload import Target, Workload


@dataclass(frozen=True)
class Use:
    """The reference, or a target.

    Attributes:
        name: in words.
        key: in the workload file.
        as_target: what it asks for; the reference is put as a target too.
        target: None for the reference.
    """

    name: str
    key: str
    as_target: Target
    target: Target | None

    @property
    def demand(self) -> tuple[Backend, Hardware]:
        """The backend that its processes import, and what that runs on."""
        backend, emulated = self.as_target.backend, self.as_target.emulated
        if backend == "xla":
            return "torch_xla", "CPU" if emulated else "TPU"
        if emulated or backend == "cpu":
            return "torch", "CPU"
        return ("cuda", "GPU") if backend == "cuda" else ("torch_tpu", "TPU")

    @property
    def lacking(self) -> str | None:
        """Why it can't run on this machine, whatever is installed; None where it can."""
        try:
            require_hardware(self.key.removeprefix("targets."), self.as_target)
        except LaunchError as error:
            if self.target:
                return str(error)
            return str(error).replace("targets.reference", "reference").partition("; ")[0]
        return None

    def examine(self) -> Finding:
        """Whether this machine is one for it."""
        described = self.as_target.description
        if self.lacking is None:
            return ok(described)
        if self.as_target.machine != "local":
            step = f'run agentmig on {self.as_target.machine} itself, with {self.key}.machine = "local"'
        else:
            other = "emulated = true" if self.target else 'accelerator = "cpu"'
            step = f"run agentmig on a machine with {self.as_target.accelerator}, or set {self.key}.{other}"
        return missing(f"{described}: {self.lacking}", step)


def uses(workload: Workload) -> list[Use]:
    """The reference first, then the targets."""
    reference = workload.reference
    as_target = Target(
        backend="cpu" if reference.accelerator == "cpu" else "cuda",
        environment=reference.environment,
        accelerator=reference.accelerator,
        chips=reference.chips,
        machine=reference.machine,
    )
    targets = workload.targets.items()
    return [
        Use("reference", "reference", as_target, None),
        *(Use(f"target {name}", f"targets.{name}", target, target) for name, target in targets),
    ]
