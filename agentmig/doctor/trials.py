"""Which backend is tried in which interpreter: what a workload asks for, or without one, all there are."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from agentmig.doctor.backends import LABELS, Backend, judge, start
from agentmig.doctor.checks import Check
from agentmig.doctor.devices import hold, tpu_nodes
from agentmig.doctor.interpreters import Interpreter
from agentmig.doctor.results import Finding, Result, missing, not_needed, warn
from agentmig.doctor.uses import Use
from agentmig.execution.environments import Built
from agentmig.execution.launch import accelerators, environment
from agentmig.spec.workload import Workload

_PACKAGES: dict[Backend, str] = {
    "torch": "torch",
    "cuda": "a torch built for CUDA",
    "torch_xla": "torch_xla",
    "torch_tpu": "torch-tpu",
}


def for_workload(
    workload: Workload, asked: Sequence[Use], interpreters: Sequence[Interpreter]
) -> list[Check]:
    """Try what the reference and the targets need on this machine, in their environments.

    Args:
        workload: says how a run is started.
        asked: its reference and targets.
        interpreters: of its environments.
    """
    turn = (
        asyncio.Lock()
    )  # one at a time: a TPU admits no second process, and importing torch keeps a machine busy
    by_name = {interpreter.name: interpreter for interpreter in interpreters}
    needs = {
        (use.demand[0], use.as_target.environment, use.demand[1]): use
        for use in reversed(asked)
        if use.as_target.machine == "local"
    }

    def trial(use: Use) -> Check:
        name = use.as_target.environment

        async def look() -> Finding:
            async with turn:
                return await _try(workload, use, by_name.get(name))

        return Check(f"{LABELS[use.demand[0]]} on {use.demand[1]} in {name}", "backends", look)

    def unasked(backend: Backend) -> Check:
        async def look() -> Finding:
            return not_needed(f"neither the reference nor a target of {workload.name} runs on it here")

        return Check(LABELS[backend], "backends", look)

    found: list[Check] = []
    for backend in LABELS:
        here = [trial(use) for (tried, _, _), use in sorted(needs.items()) if tried == backend]
        found += here or [unasked(backend)]
    return found


async def _try(workload: Workload, use: Use, interpreter: Interpreter | None) -> Finding:
    backend, hardware = use.demand
    if use.lacking:
        return missing(f"not tried: {use.name} can't run on this machine")
    if interpreter is None:
        return missing(f"not tried: environment {use.as_target.environment} was not found")
    built = interpreter.built
    if built is None:
        untried = f"not tried: environment {interpreter.name} is not built"
        return warn(untried, interpreter.finding.fix) if interpreter.unbuilt else missing(untried)
    held = hold(tpu_nodes()) if hardware == "TPU" else None
    if held and not held.free:
        return warn(f"not tried: the TPU is {held}")
    trial = await start(
        [str(built.python)], ["-", backend], environment(workload, built, use.target, 1, None, [], {})
    )
    get = f"add {_PACKAGES[backend]} to environments.{interpreter.name}.requirements in {workload.file}"
    repair = f"rm -r {built.prefix}, then agentmig reference make {workload.file}"
    if not built.ours:
        get = repair = f"{built.python} -m pip install {_PACKAGES[backend]}"
    return judge(trial, backend, hardware, get, repair)


def for_anything(interpreters: Sequence[Interpreter]) -> list[Check]:
    """Try all backends in all interpreters; none is needed, but what is installed must not be broken."""
    turn = asyncio.Lock()

    def trial(interpreter: Interpreter, built: Built) -> Check:
        async def look() -> list[Result]:
            async with turn:
                found = await _try_all(built)
            return [
                finding.named(f"{name} in {interpreter.name}", "backends") for name, finding in found.items()
            ]

        return Check(f"backends of {interpreter.name}", "backends", look)

    return [trial(interpreter, interpreter.built) for interpreter in interpreters if interpreter.built]


async def _try_all(built: Built) -> dict[str, Finding]:
    chips = tpu_nodes()
    held = hold(chips)
    cards = [node for node in accelerators() if node.name.startswith("nvidia")]
    repair = (
        f"rm -r {built.prefix}" if built.ours else f"{built.python} -m pip install --force-reinstall torch"
    )
    found: dict[str, Finding] = {}
    for backend, label in LABELS.items():
        if backend == "cuda" and not cards:
            found[label] = not_needed("not tried: no device file /dev/nvidia*")
            continue
        if backend == "torch_tpu" and chips and not held.free:
            found[label] = warn(f"not tried: the TPU is {held}")
            continue
        env = _plain(built, backend, tpu=bool(chips) and held.free)
        trial = await start([str(built.python)], ["-", backend], env)
        found[label] = judge(trial, backend, None, "", repair)
        if backend == "torch" and (trial.facts is None or trial.facts.version is None):
            break
    return found


def _plain(built: Built, backend: Backend, tpu: bool) -> Mapping[str, str]:
    """The environment of a trial that no workload describes."""
    env = {
        "PATH": f"{built.bin}:{os.environ.get('PATH', os.defpath)}",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if backend != "torch_tpu":
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    elif not tpu:
        env["TPU_SKIP_MDS_QUERY"] = "1"  # else libtpu waits minutes for the metadata server of a cloud
    if backend == "torch_xla":
        env["PJRT_DEVICE"] = "TPU" if tpu else "CPU"
    return env
