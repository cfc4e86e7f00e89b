"""What a person gave to a run, as it was when the run began: kept in the run's folder, so that it can be resumed."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agentmig.errors import AgentmigError
from agentmig.policy import Policy, load_policy
from agentmig.settings import settings
from agentmig.spec import PriceBook, Workload, load_prices, load_workload

FILE = "inputs.json"


class InputsError(AgentmigError):
    """A run can't be made, or gone on with, from these inputs."""


class Inputs(BaseModel):
    """A workload with the policy and the price book that it is run with."""

    model_config = ConfigDict(frozen=True)

    workload: Workload
    policy: Policy
    prices: PriceBook

    def keep(self, folder: Path) -> None:
        """Write them into a run's folder."""
        (folder / FILE).write_text(self.model_dump_json(indent=1))


def read_inputs(
    workload: Path, only: list[str] | None = None, policy: Path | None = None, prices: Path | None = None
) -> Inputs:
    """Read and validate the files that a command names.

    Args:
        workload: the workload file, or the folder that holds a `workload.toml`.
        only: names of the targets to use; default all.
        policy: default the setting, else the policy that ships with agentmig.
        prices: default the setting, else the price book that ships with agentmig.

    Raises:
        AgentmigError: a file can't be read or holds mistakes, or there is no such target.
    """
    chosen = settings()
    return Inputs(
        workload=_restricted(load_workload(workload), only),
        policy=load_policy(policy or chosen.policy),
        prices=load_prices(prices or chosen.prices),
    )


def kept_inputs(folder: Path, workload_file: Path) -> Inputs:
    """The inputs of a run that began earlier.

    Args:
        folder: the run's folder.
        workload_file: where the workload file was, to which the project's path is relative.

    Raises:
        InputsError: they are not there, or can't be read.
    """
    file = folder / FILE
    try:
        inputs = Inputs.model_validate_json(file.read_text())
    except OSError as error:
        raise InputsError(f"{file}: {error.strerror}; this run can't be resumed, start it anew") from error
    except ValidationError as error:
        raise InputsError(
            f"{file}: damaged or from another version of agentmig ({error.errors()[0]['msg']}); "
            "this run can't be resumed, start it anew"
        ) from error
    return inputs.model_copy(update={"workload": inputs.workload.model_copy(update={"file": workload_file})})


def _restricted(workload: Workload, only: list[str] | None) -> Workload:
    if not only:
        return workload
    if unknown := sorted(set(only) - set(workload.targets)):
        raise InputsError(f"{workload.file}: no target {unknown[0]!r}; it has {', '.join(workload.targets)}")
    return workload.model_copy(update={"targets": {name: workload.targets[name] for name in only}})
