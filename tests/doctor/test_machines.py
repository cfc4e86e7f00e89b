import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.doctor.backends import Facts
from agentmig.doctor.checks import perform
from agentmig.doctor.child import Ended
from agentmig.doctor.machines import checks, explain, judge_facts
from agentmig.doctor.results import Result
from agentmig.doctor.uses import uses
from agentmig.spec import Workload
from tests.doctor.conftest import Script

Make = Callable[..., Workload]
BOX = '[machines.box]\nkind = "ssh"\nhost = "box"'
ON_BOX = 'true\nmachine = "box"'
RUNS_IT = 'shift 6; exec sh -c "$*"'
"""An ssh that runs the command here: after four options, `--` and the host."""


def _look(workload: Workload) -> dict[str, Result]:
    return {result.name: result for result in asyncio.run(perform(checks(workload, uses(workload))))}


def test_this_machine_needs_no_ssh(workload: Make) -> None:
    found = _look(workload())
    assert {name: result.state for name, result in found.items()} == {"local": "ok"}


def test_a_machine_that_ssh_reaches_is_looked_at_there(workload: Make, script: Script) -> None:
    script("ssh", f'[ "$5" = -- ] && [ "$6" = box ] || exit 9\n{RUNS_IT}')
    found = _look(workload(emulated=ON_BOX, tail=BOX))
    assert found["box: box"].state == "ok"
    assert found["box: box Python"].state in ("ok", "warn") and "cores" in found["box: box Python"].seen
    assert found["box"].state == "warn" and "no runs over ssh" in found["box"].seen


def test_data_there_is_looked_for_too(workload: Make, script: Script) -> None:
    script("ssh", RUNS_IT)
    data = '[data.set]\npaths = { local = "/", box = "/no where/data" }'
    found = _look(workload(emulated=ON_BOX, tail=f"{BOX}\n{data}"))["box: box Python"]
    assert found.state == "missing" and "/no where/data" in found.seen


def test_a_named_interpreter_is_tried_there(workload: Make, script: Script) -> None:
    script("ssh", RUNS_IT)
    made = workload(kind='"python"\npython = "/nowhere/python"', emulated=ON_BOX, tail=BOX)
    found = _look(made)["box: box base"]
    assert found.state == "missing" and "environments.base.python" in found.fix


def test_what_ssh_says_is_explained(workload: Make, script: Script) -> None:
    script("ssh", "echo 'ann@box: Permission denied (publickey).' >&2; exit 255")
    found = _look(workload(emulated=ON_BOX, tail=BOX))["box: box"]
    assert found.state == "missing" and found.fix.startswith("ssh-copy-id box")


def test_a_machine_that_nothing_runs_on_keeps_no_run_from_beginning(workload: Make, script: Script) -> None:
    script("ssh", "exit 255")
    found = _look(workload(tail=f'{BOX}\n[machines.empty]\nkind = "ssh"'))
    assert found["box: box"].state == "warn" and "nothing runs there" in found["box: box"].seen
    assert found["empty"].state == "warn"


def test_each_worker_is_looked_at(workload: Make, script: Script) -> None:
    script("ssh", 'echo "Could not resolve hostname $6" >&2; exit 255')
    made = workload(emulated=ON_BOX, tail='[machines.box]\nkind = "ssh"\nworkers = ["w0", "w1"]')
    found = _look(made)
    assert list(found) == ["local", "box", "box: w0", "box: w1"]
    assert "Host w1" in found["box: w1"].fix


@pytest.mark.usefixtures("nothing_on_path")
def test_without_ssh_it_is_said_how_to_get_it(workload: Make) -> None:
    found = _look(workload(emulated=ON_BOX, tail=BOX))["box: box"]
    assert found.state == "missing" and "openssh-client" in found.fix


def test_a_machine_without_a_host_is_broken(workload: Make) -> None:
    found = _look(workload(emulated=ON_BOX, tail='[machines.box]\nkind = "ssh"'))["box"]
    assert found.state == "broken" and "machines.box.host" in found.fix


@pytest.mark.parametrize(
    ("output", "state", "step"),
    [
        ("Host key verification failed.", "missing", "ssh 'my box' true"),
        (
            '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n  ssh-keygen -f "/k" -R "box"\r\n'
            "Host key verification failed.",
            "broken",
            'ssh-keygen -f "/k" -R "box", then',
        ),
        ("ssh: connect to host box port 22: Connection timed out", "broken", "start it"),
        ("ssh: connect to host box port 22: Connection refused", "broken", "start sshd"),
        ("kex_exchange_identification: read: Connection reset by peer", "broken", "ssh -v -- 'my box' true"),
        ("", "broken", "ssh -v"),
    ],
)
def test_why_ssh_did_not_get_in(output: str, state: str, step: str) -> None:
    found = explain("my box", Ended(255, output, 1.0))
    assert found.state == state and step in found.fix


@given(st.text(), st.sampled_from([None, 1, 255, -9]), st.text(min_size=1))
def test_whatever_ssh_says_there_is_a_step(output: str, code: int | None, host: str) -> None:
    found = explain(host, Ended(code, output, 1.0))
    assert found.state in ("missing", "broken") and found.fix


def _facts(**more: object) -> Facts:
    values: dict[str, object] = {
        "python": "3.11",
        "executable": "/p",
        "cores": 8,
        "free_gb": 100.0,
        "nodes": [],
        "unreadable": [],
        "version": None,
    }
    return Facts.model_validate({**values, **more})


def test_another_machine_must_have_the_accelerator_and_room(workload: Make) -> None:
    real = uses(workload(emulated='false\nmachine = "box"', tail=BOX))[1:]
    assert judge_facts(_facts(), "box", real).state == "missing"
    assert judge_facts(_facts(nodes=["/dev/nvidia0"]), "box", real).state == "missing"
    assert judge_facts(_facts(nodes=["/dev/accel0"]), "box", real).state == "ok"
    assert judge_facts(_facts(nodes=["/dev/vfio/0"], free_gb=3.0), "box", real).state == "warn"
    assert judge_facts(_facts(), "box", []).state == "ok"
