"""The workload file: its mistakes, its reference and targets, its data, secrets and prices on this machine."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentmig.doctor.checks import Check, Look
from agentmig.doctor.results import Finding, Result, broken, missing, not_needed, ok, warn
from agentmig.doctor.uses import Use
from agentmig.settings import Settings
from agentmig.spec import PriceBook, SpecError, load_prices
from agentmig.spec.workload import Workload

_STEPS = {
    "(file)": "name a workload file that can be read; `agentmig init` drafts one",
    "(syntax)": "correct the TOML of the workload file",
}


def mistakes(error: SpecError) -> list[Result]:
    """A result for each mistake in the file."""
    found = []
    for problem in error.problems:
        place = f"{problem.file}:{problem.line}" if problem.line else str(problem.file)
        seen = f"{place}: found {problem.found}; {problem.allowed}"
        step = _STEPS.get(problem.key, f"correct {problem.key} in {place}")
        found.append(broken(seen, step).named(problem.key.strip("()"), "workload"))
    return found


def checks(workload: Workload, asked: Sequence[Use], settings: Settings | None) -> list[Check]:
    """What the workload file asks of this machine, beside its environments.

    Args:
        workload: the file.
        asked: its reference and targets.
        settings: for the price book; None where they have mistakes.
    """

    async def hardware() -> list[Result]:
        return [use.examine().named(use.name, "workload") for use in asked]

    async def data() -> list[Result]:
        found = judge_data(workload, sorted({use.as_target.machine for use in asked}))
        return [finding.named(name, "workload") for name, finding in found.items()]

    async def secrets() -> Finding:
        return judge_secrets(workload, os.environ)

    async def prices() -> Finding:
        return judge_prices(workload, asked, load_prices(settings.prices if settings else None))

    named: dict[str, Look] = {
        "reference and targets": hardware,
        "data": data,
        "secrets": secrets,
        "prices": prices,
    }
    return [Check(name, "workload", look) for name, look in named.items()]


def judge_data(workload: Workload, machines: Sequence[str]) -> dict[str, Finding]:
    """Whether each data set is where the file says; only this machine is looked at.

    Args:
        workload: the file.
        machines: names of the machines that run something.
    """
    found: dict[str, Finding] = {}
    for name, data in workload.data.items():
        nowhere = [machine for machine in machines if machine not in data.paths]
        if nowhere:
            key = f"data.{name}.paths.{nowhere[0]}"
            found[f"data {name}"] = missing(
                f"no path on {', '.join(nowhere)}", f"add {key} to the workload file"
            )
        elif "local" in data.paths:
            found[f"data {name}"] = _readable(Path(data.paths["local"]), f"data.{name}.paths.local")
    return found


def _readable(path: Path, key: str) -> Finding:
    if not path.is_absolute():
        return broken(f"{path} is no whole path, and runs begin in another folder", f"write {key} from / on")
    if not os.access(path, os.F_OK):
        return missing(f"{path} is not there", f"bring the data to {path}, or correct {key}")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return broken(f"{path} can't be read", f"chmod -R u+rX {path}")
    return ok(f"{path} can be read")


def judge_secrets(workload: Workload, environ: Mapping[str, str]) -> Finding:
    """Whether the secrets that a command gets are set; only their names are told."""
    wanted = {*workload.train.secrets, *workload.evaluate.secrets, *workload.agent.secrets}
    unset = sorted(name for name in wanted if not environ.get(name))
    if unset:
        return missing(f"not set: {', '.join(unset)}", "; ".join(f"export {name}=…" for name in unset))
    if not wanted:
        return not_needed("no command gets any")
    return ok(f"set: {', '.join(sorted(wanted))}")


def judge_prices(workload: Workload, asked: Sequence[Use], book: PriceBook) -> Finding:
    """Whether tokens and hours can be turned into money."""
    used = {"cpu" if use.as_target.emulated else use.as_target.accelerator for use in asked}
    lacking = sorted(used - set(book.accelerators))
    model = workload.agent.model
    lacking += [] if book.model(model) else [model]
    if lacking:
        return warn(
            f"the price book lacks {', '.join(lacking)}: what they cost is not counted, and no budget bounds it",
            "add them to a copy of prices/default.toml, and name that as `prices` in agentmig.toml",
        )
    return ok(f"known for {', '.join([*sorted(used), model])}")
