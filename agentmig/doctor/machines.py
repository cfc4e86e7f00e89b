"""The machines of a workload: whether ssh gets there without a question, and what is found there."""

import shlex
import shutil
from collections.abc import Sequence

from agentmig.doctor import backends
from agentmig.doctor.backends import Facts
from agentmig.doctor.checks import Check
from agentmig.doctor.child import Ended, run
from agentmig.doctor.install import install
from agentmig.doctor.machine import ENVIRONMENT_GB
from agentmig.doctor.results import Finding, Result, broken, missing, ok, warn
from agentmig.doctor.uses import Use
from agentmig.spec.workload import Machine, Workload

_TIMEOUT_S = 20.0
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
_NODES = {"GPU": ("/dev/nvidia",), "TPU": ("/dev/accel", "/dev/vfio/"), "CPU": ("",)}


def checks(workload: Workload, asked: Sequence[Use]) -> list[Check]:
    """A check for each machine that the workload names or uses."""
    names = dict.fromkeys([*(use.as_target.machine for use in asked), *workload.machines])
    return [_check(name, workload, [use for use in asked if use.as_target.machine == name]) for name in names]


def _check(name: str, workload: Workload, asked: Sequence[Use]) -> Check:
    machine = workload.machines.get(name, Machine())

    async def look() -> Finding | list[Result]:
        if machine.kind == "local":
            return ok("this machine")
        hosts = machine.workers or ([machine.host] if machine.host else [])
        if not hosts:
            return broken("of kind ssh, without a host", f"write machines.{name}.host or .workers")
        if shutil.which("ssh") is None:
            return missing("ssh is not installed", install(["openssh-client"]))
        found = [result for host in hosts for result in await _host(name, host, workload, asked)]
        runner = warn(
            "this version runs on the machine it is started on; runs over ssh come later",
            f"until then run agentmig on {name} itself",
        )
        return [*found, runner.named(f"{name}: ssh", "machines")]

    return Check(name, "machines", look)


async def _host(name: str, host: str, workload: Workload, asked: Sequence[Use]) -> list[Result]:
    label = f"{name}: {host}"
    knock = await run(_ssh(host, ["true"]), timeout_s=_TIMEOUT_S)
    if not knock.ok:
        return [explain(host, knock).named(label, "machines")]
    found = {label: ok("reached over ssh without a question")}
    paths = [data.paths[name] for data in workload.data.values() if name in data.paths]
    for python, use in _interpreters(workload, asked).items():
        backend = use.demand[0] if use else "none"
        words = (
            ["env", f"PJRT_DEVICE={use.demand[1]}", python, "-", backend, *paths]
            if use
            else [python, "-", "none", *paths]
        )
        trial = await backends.start(_ssh(host, words), [], None)
        where = f"{label} {python}"
        if trial.facts is None:
            step = (
                f"install Python there: ssh {host} {install(['python3'])}"
                if python == "python3"
                else f"correct the path {python}"
            )
            found[where] = missing(f"{python} does not run there: {trial.ended.how}", step)
            continue
        found[where] = judge_facts(trial.facts, host, asked)
        if use:
            step = f"install it there for {python}"
            found[f"{label} {backends.LABELS[use.demand[0]]}"] = backends.judge(
                trial, *use.demand, step, step
            )
    return [finding.named(at, "machines") for at, finding in found.items()]


def _interpreters(workload: Workload, asked: Sequence[Use]) -> dict[str, Use | None]:
    """The Pythons to look for on a machine: named ones with what they train, else the one that builds environments."""
    named: dict[str, Use | None] = {}
    for use in asked:
        environment = workload.environments[use.as_target.environment]
        if environment.kind == "python" and environment.python:
            named[environment.python] = use
    return named or {"python3": None}


def _ssh(host: str, words: Sequence[str]) -> list[str]:
    # `--`: a host that begins with a dash is no option.
    return [*_SSH, "--", host, shlex.join(words)]


def judge_facts(facts: Facts, host: str, asked: Sequence[Use]) -> Finding:
    """Whether another machine has what the uses of it need."""
    nodes = f"{len(facts.nodes)} accelerator files" if facts.nodes else "no accelerator"
    seen = f"Python {facts.python}, {facts.cores} cores, {facts.free_gb:.0f} GB free at home, {nodes}"
    for use in asked:
        if not any(node.startswith(_NODES[use.demand[1]]) for node in [*facts.nodes, ""]):
            return missing(
                f"{seen}; {use.name} needs {use.as_target.accelerator}", f"correct {use.key}.machine"
            )
    if facts.unreadable:
        return missing(
            f"{seen}; not there, or not readable: {', '.join(facts.unreadable)}", f"bring the data to {host}"
        )
    if facts.free_gb < ENVIRONMENT_GB:
        return warn(f"{seen}; an environment takes about {ENVIRONMENT_GB} GB", f"free some on {host}")
    return ok(seen)


def explain(host: str, knock: Ended) -> Finding:
    """Why ssh did not get in, and what to do."""
    said = knock.output
    for sign, state, seen, step in _REASONS:
        if sign in said:
            return state(f"{seen} ({knock.last_line})", step.format(host=shlex.quote(host)))
    if knock.exit_code is None:
        return broken(f"no answer within {knock.wall_s:.0f} s", f"ssh -v {shlex.quote(host)} true")
    return broken(f"ssh: {knock.how}", f"ssh -v {shlex.quote(host)} true")


_REASONS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        broken,
        "its host key is another one than before: a new installation, or somebody in between",
        "ask who runs {host}; if the change is theirs: ssh-keygen -R {host}, then ssh {host} true",
    ),
    (
        "Host key verification failed",
        missing,
        "its host key is not known here",
        "ssh {host} true  (compare the fingerprint, answer yes)",
    ),
    (
        "UNPROTECTED PRIVATE KEY",
        broken,
        "others can read the private key, so ssh ignores it",
        "chmod 600 ~/.ssh/id_*",
    ),
    ("Bad owner or permissions", broken, "ssh ignores its configuration", "chmod 600 ~/.ssh/config"),
    (
        "Permission denied",
        missing,
        "no key that it accepts",
        "ssh-copy-id {host}  (or ssh-add the key that it knows)",
    ),
    (
        "Could not resolve hostname",
        broken,
        "no machine has this name",
        "correct the host in the workload file, or add `Host {host}` to ~/.ssh/config",
    ),
    (
        "Connection refused",
        broken,
        "no ssh server listens there",
        "start sshd there, or correct its port in ~/.ssh/config",
    ),
    ("timed out", broken, "it does not answer", "start the machine, or correct its address in ~/.ssh/config"),
    ("No route to host", broken, "there is no way to it", "connect to its network (VPN), then try again"),
)
