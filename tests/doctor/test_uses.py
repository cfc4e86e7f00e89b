from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.doctor.uses import Use, uses
from agentmig.spec import Workload

Make = Callable[..., Workload]


def _target(workload: Workload) -> Use:
    return uses(workload)[1]


@pytest.mark.parametrize(
    ("backend", "emulated", "demand"),
    [
        ("xla", "true", ("torch_xla", "CPU")),
        ("xla", "false", ("torch_xla", "TPU")),
        ("torch_tpu", "true", ("torch", "CPU")),
        ("torch_tpu", "false", ("torch_tpu", "TPU")),
        ("cuda", "true", ("torch", "CPU")),
        ("cuda", "false", ("cuda", "GPU")),
        ("cpu", "false", ("torch", "CPU")),
    ],
)
def test_what_a_target_really_runs_on(
    workload: Make, backend: str, emulated: str, demand: tuple[str, str]
) -> None:
    assert _target(workload(backend=f'"{backend}"', emulated=emulated)).demand == demand


def test_the_reference_comes_first_and_asks_for_what_it_names(workload: Make) -> None:
    reference = uses(workload())[0]
    assert (reference.name, reference.demand) == ("reference", ("torch", "CPU"))
    reference = uses(workload(tail='[reference.env]\nA = "b"'))[0]
    assert reference.lacking is None


def test_an_emulated_target_is_plainly_called_so(workload: Make) -> None:
    found = _target(workload()).examine()
    assert found.state == "ok" and found.seen.startswith("EMULATED xla")


@pytest.mark.skipif(Path("/dev/accel0").exists(), reason="this machine has a TPU")
def test_hardware_that_is_not_here_is_missing(workload: Make) -> None:
    found = _target(workload(emulated="false")).examine()
    assert found.state == "missing" and "no v5e" in found.seen
    assert "targets.xla.emulated = true" in found.fix


def test_another_machine_is_not_this_one(workload: Make) -> None:
    made = workload(emulated='true\nmachine = "box"', tail='[machines.box]\nkind = "ssh"\nhost = "box"')
    found = _target(made).examine()
    assert found.state == "missing" and 'targets.xla.machine = "local"' in found.fix


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="this machine has a GPU")
def test_a_reference_on_a_gpu_can_not_be_measured_without_one(
    workload_file: Callable[[str], Path], minimal: str
) -> None:
    from agentmig.spec import load_workload

    text = minimal.replace(
        '[reference]\nenvironment = "base"', '[reference]\nenvironment = "base"\naccelerator = "a100"'
    )
    reference = uses(load_workload(workload_file(text)))[0]
    found = reference.examine()
    assert reference.demand == ("cuda", "GPU")
    assert found.state == "missing" and "emulated" not in found.seen
    assert found.fix.endswith('reference.accelerator = "cpu"')
