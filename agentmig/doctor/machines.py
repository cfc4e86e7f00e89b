"""The machines of a workload: whether ssh gets there without a question, and what is found there."""

import re
import shlex
import shutil
from collections.abc import Sequence

from agentmig.doctor import backends
from agentmig.doctor.backends import Facts
from agentmig.doctor.checks import Check
from agentmig.doctor.child import Ended, run
from agentmig.doctor.install import install
from agentmig.doctor.machine import ENVIRONMENT_GB
from agentmig.doctor.results import Finding, Result, broken, missing, ok, softened, warn
from agentmig.doctor.uses import Use
from agentmig.spec.workload import Machine, Workload

_TIMEOUT_S = 20.0
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
_NODES = {"GPU": ("/dev/nvidia",), "TPU": ("/dev/accel", "/dev/vfio/"), "CPU": ("",)}


def checks(workload: Workload, asked: Sequence[Use]) -> list[Check]:
    """Checks for each machine that the workload names or uses."""
    names = dict.fromkeys([*(use.as_target.machine for use in asked), *workload.machines])
    return [check for name in names for check in _of(name, workload, asked)]


def _of(name: str, workload: Workload, asked: Sequence[Use]) -> list[Check]:
    machine = workload.machines.get(name, Machine())
    uses = [use for use in asked if use.as_target.machine == name]

    def host_check(host: str) -> Check:
        async def look() -> list[Result]:
            found = await _host(f"{name}: {host}", host, name, workload, uses)
            return [
                (finding if uses else softened(finding, "nothing runs there")).named(label, "machines")
                for label, finding in found.items()
            ]

        return Check(f"{name}: {host}", "machines", look)

    async def alone() -> Finding:
        if machine.kind == "local":
            return ok("this machine")
        if not hosts:
            lacks = broken("of kind ssh, without a host", f"write machines.{name}.host or .workers")
            return lacks if uses else softened(lacks, "nothing runs there")
        return warn("this version runs on the machine that it is started on; there are no runs over ssh")

    hosts = [] if machine.kind == "local" else machine.workers or ([machine.host] if machine.host else [])
    return [Check(name, "machines", alone), *map(host_check, hosts)]


async def _host(
    label: str, host: str, machine: str, workload: Workload, asked: Sequence[Use]
) -> dict[str, Finding]:
    if shutil.which("ssh") is None:
        return {label: missing("ssh is not installed", install(["openssh-client"]))}
    knock = await run(_ssh(host, ["true"]), timeout_s=_TIMEOUT_S)
    if not knock.ok:
        return {label: explain(host, knock)}
    found = {label: ok("reached over ssh without a question")}
    paths = [data.paths[machine] for data in workload.data.values() if machine in data.paths]
    for python, use in _interpreters(workload, asked).items():
        words = [python, "-", use.demand[0] if use else "none", *paths]
        words = ["env", f"PJRT_DEVICE={use.demand[1]}", *words] if use else words
        trial = await backends.start(_ssh(host, words), [], None)
        where = f"{label} {use.as_target.environment if use else 'Python'}"
        if trial.facts is None:
            step = (
                f"correct environments.{use.as_target.environment}.python"
                if use
                else "install Python 3 there"
            )
            found[where] = missing(f"{python} does not run there: {trial.ended.how}", f"{host}: {step}")
            continue
        found[where] = judge_facts(trial.facts, host, asked)
        if use:
            label_of = backends.LABELS[use.demand[0]]
            step = f"{host}: install {label_of} for {python}"
            found[f"{where} {label_of}"] = backends.judge(trial, *use.demand, step, step)
    return found


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
    for sign, state, seen, step in _REASONS:
        if sign in knock.output:
            forget = re.search(r"ssh-keygen -f .*", knock.output)
            words = {
                "host": shlex.quote(host),
                "forget": forget[0].strip() if forget else "ssh-keygen -R its name",
            }
            return state(f"{seen} ({knock.last_line})", step.format(**words))
    return broken(f"ssh: {knock.how}", f"ssh -v -- {shlex.quote(host)} true")


_REASONS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        broken,
        "its host key is another one than before: a new installation, or somebody in between",
        "ask who runs {host}; if the change is theirs: {forget}, then ssh {host} true",
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
        "{host}: start sshd there, or correct its port in ~/.ssh/config",
    ),
    ("timed out", broken, "it does not answer", "{host}: start it, or correct its address in ~/.ssh/config"),
    ("No route to host", broken, "there is no way to it", "{host}: connect to its network, then try again"),
)
