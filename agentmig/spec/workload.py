"""The workload file: a project and what success means for it.

Fields that only later runners use (ssh machines, data on several machines) are part of the schema already, so that
a file written today stays valid.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
"""A name used in paths and on the command line: lower case, digits, `-` and `_`."""

Command = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
"""A shell command line with placeholders in braces: `{seed}`, `{out}`, `{chips}`, `{checkpoint}`, `{data.NAME}`."""


class Part(BaseModel):
    """A table of the workload file; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Project(Part):
    """Where the unmigrated code is."""

    path: str = "."
    """A folder (relative to the workload file; it may be a folder inside a repository) or the URL of a repository."""
    base_commit: str = "HEAD"
    """The commit that is migrated, and against which everything is compared."""


class Environment(Part):
    """The Python environment that training code runs in."""

    kind: Literal["pip", "uv", "conda", "python", "container"]
    """`pip`, `uv`, `conda`: built and cached by agentmig; `python`: an existing interpreter; `container`: an image."""
    requirements: list[str] = []
    """Requirement lines for `pip` and `uv`, package specs for `conda`."""
    requirements_file: str | None = None
    """A requirements file of the project, relative to it; read at the base commit."""
    python: str | None = None
    """The interpreter: a path for `python`, a version or path otherwise. By default the one that runs agentmig."""
    image: str | None = None
    """The container image, by digest where possible."""
    setup: list[Command] = []
    """Commands run once after the installation, with the environment's `bin` first on PATH."""


class Step(Part):
    """A command of the project."""

    command: Command
    timeout_s: Annotated[float, Field(gt=0)] = 3600.0
    env: dict[str, str] = {}
    secrets: list[str] = []
    """Names of secrets (listed at the top) whose values this command gets."""


class Train(Step):
    """How the project trains."""

    checkpoint: str = "{out}/model.pt"
    """The file that a finished training leaves, and that `evaluate` reads."""


class Evaluate(Step):
    """How the project evaluates a checkpoint; runs at the base commit, in the reference's environment."""


class Goal(Part):
    """What the project is for, as a number."""

    metric: str
    pattern: str
    """Regular expression on the evaluation's standard output; its one group is the number. The last match counts."""
    direction: Literal["maximize", "minimize"]
    margin: Annotated[float, Field(gt=0)]
    """Non-inferiority margin in the metric's own unit, declared before any migration runs."""


class Reference(Part):
    """The unmigrated code on the hardware it was written for."""

    environment: Name
    accelerator: str = "cpu"
    """A name of the price book (`a100`, `cpu`); what the reference really ran on is measured by the probe."""
    chips: Annotated[int, Field(ge=1)] = 1
    machine: Name = "local"
    seeds: Annotated[int, Field(ge=3, le=64)] = 5
    """How many seeds the goal metric of the reference is measured with."""
    env: dict[str, str] = {}


class Target(Part):
    """An intended hardware configuration."""

    backend: Literal["cpu", "cuda", "xla", "torch_tpu"]
    environment: Name
    accelerator: str
    """A name of the price book, such as `v5e`."""
    chips: Annotated[int, Field(ge=1)] = 1
    emulated: bool = False
    """True: the chips are stood in for by processes on this machine's CPU; every place that shows it says so."""
    machine: Name = "local"
    env: dict[str, str] = {}
    command: Command | None = None
    """The train command on this target, where it differs from `[train] command`."""

    @property
    def description(self) -> str:
        """The target in words; says plainly when it is emulated."""
        chips = f"{self.chips} chip{'s' if self.chips != 1 else ''}"
        if not self.emulated:
            return f"{self.backend} on {chips} of {self.accelerator}"

        def ranks(one: str, several: str) -> str:
            return f"{self.chips} {one if self.chips == 1 else several}"

        how = {
            "xla": f"{ranks('process', 'processes')} of one PJRT CPU device each, collectives bridged over gloo",
            "torch_tpu": f"{ranks('gloo rank', 'gloo ranks')} on the CPU stand in for TorchTPU",
            "cuda": f"{ranks('gloo rank', 'gloo ranks')} on the CPU stand in for CUDA",
            "cpu": f"{ranks('gloo rank', 'gloo ranks')} on the CPU",
        }[self.backend]
        return f"EMULATED {self.backend}, {chips} of {self.accelerator}: {how}"


class Semantics(Part):
    """The float64 pass: how long it is, and its tolerances, relative, over matched state and batches."""

    steps: Annotated[int, Field(ge=2)] = 40
    """Optimizer steps at the most; with shortened epochs they reach the end of a short training."""
    epoch_batches: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)] = [2, 1]
    """Batches that each pass over a DataLoader takes: from its beginning, and from its end."""
    stress: bool = True
    """Provoke on both sides what may not show by itself: clipping at half of the first norm, one large step."""
    loss: Annotated[float, Field(gt=0)] = 1e-6
    """Largest relative difference of the loss and of each norm at any step."""
    tensor: Annotated[float, Field(gt=0)] = 1e-6
    """Largest difference of any gradient, update or parameter tensor, over the reference's global norm."""


class Numerics(Part):
    """Tolerances of the teacher-forced pass in production precision: medians over the steps."""

    steps: Annotated[int, Field(ge=2)] = 12
    """Optimizer steps of the pass."""
    floor: Annotated[float, Field(gt=0)] = 1e-4
    """The tolerance is never below this relative difference."""
    factor: Annotated[float, Field(ge=1)] = 10.0
    """The tolerance is this many times the reference's own deviation when its parameters are perturbed."""
    perturbation: Annotated[float, Field(gt=0)] = 1e-6
    """Relative perturbation of the reference that calibrates it: a few units in the last place of float32."""


class GoalTest(Part):
    """The sequential non-inferiority test on the goal metric."""

    looks: list[Annotated[int, Field(ge=3, le=64)]] = [3, 5, 8]
    """Numbers of candidate seeds at which the test may decide."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Chance of accepting a worse candidate, over all looks of all claims of one migration."""
    claims: Annotated[int, Field(ge=1)] = 4
    """How many claims alpha is spread over; a later claim has no alpha left."""


class Performance(Part):
    """What makes the migration worth it; an absent bound is reported, not judged."""

    warmup_steps: Annotated[int, Field(ge=1)] = 5
    recompilations: Annotated[int, Field(ge=0)] = 0
    """Compilations allowed after the first epoch's warm-up, to the very end of the run."""
    warm_epochs: Annotated[int, Field(ge=0)] = 1
    """Later phases (evaluation, the last batch) may compile once in this many epochs."""
    transfers_per_step: Annotated[float, Field(ge=0)] = 0.5
    """Transfers from the device to the host in a steady step, beyond those of the emulation."""
    min_throughput_ratio: Annotated[float, Field(gt=0)] | None = None
    """Candidate's samples per second over the reference's."""
    max_usd_per_run: Annotated[float, Field(gt=0)] | None = None


class Acceptance(Part):
    """When a claim is accepted."""

    semantics: Semantics = Semantics()
    numerics: Numerics = Numerics()
    goal: GoalTest = GoalTest()
    performance: Performance = Performance()


class Budget(Part):
    """What a migration may spend; None is no bound."""

    agent_usd: Annotated[float, Field(gt=0)] | None = None
    compute_usd: Annotated[float, Field(gt=0)] | None = None
    turns: Annotated[int, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    wall_hours: Annotated[float, Field(gt=0)] | None = None
    human_minutes: Annotated[float, Field(gt=0)] | None = None


class Machine(Part):
    """A machine that runs training; `local` needs no entry."""

    kind: Literal["local", "ssh"] = "local"
    host: str | None = None
    """The ssh alias of a single machine."""
    workers: list[str] = []
    """The ssh aliases of a multi-host slice."""


class Data(Part):
    """A data set that lies on the machines and is not copied."""

    paths: dict[Name, str]
    """Where it lies on each machine."""
    read_only: bool = True
    fingerprint: str | None = None
    """`sha256:…` of the file, or of the sorted listing (path, size) of the folder."""
    copy_to_machine: bool = False


class Agent(Part):
    """Claude Code's settings for this workload."""

    model: str = "claude-sonnet-4-5"
    instructions: str = ""
    """Added to the task prompt: what a new colleague would have to be told."""
    tool_wait_s: Annotated[float, Field(gt=0)] = 900.0
    """A run on a target that takes longer ends the agent's turn, and its result opens the next one."""
    secrets: list[str] = []


class Workload(Part):
    """A workload file, validated."""

    schema_version: Literal[1]
    name: Name
    project: Project = Project()
    environments: Annotated[dict[Name, Environment], Field(min_length=1)]
    train: Train
    evaluate: Evaluate
    goal: Goal
    reference: Reference
    targets: Annotated[dict[Name, Target], Field(min_length=1)]
    acceptance: Acceptance = Acceptance()
    protected: list[str] = []
    """Paths and globs, relative to the project, that a migration may not change: data, evaluation, metric."""
    budget: Budget = Budget()
    agent: Agent = Agent()
    machines: dict[Name, Machine] = {}
    data: dict[Name, Data] = {}
    secrets: list[str] = []
    """Names of environment variables that are secrets: kept from the agent, attempts and verification unless listed."""

    file: Annotated[Path, Field(exclude=True)] = Path()
    """The file it was read from; set by the loader."""

    def train_command(self, target: Target | None = None) -> str:
        """The train command template of a target, or of the reference for None."""
        return target.command if target and target.command else self.train.command

    def reference_processes(self, chips: int) -> int:
        """How many processes the reference starts for so many chips: one where its command names no number."""
        return chips if "{chips}" in self.train.command else 1
