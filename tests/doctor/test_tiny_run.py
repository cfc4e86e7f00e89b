import asyncio
from pathlib import Path

import pytest

from agentmig.doctor.backends import judge, start


@pytest.mark.torch
def test_torch_xla_trains_one_step_on_the_cpu(xla_python: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PJRT_DEVICE": "CPU"}
    trial = asyncio.run(start([str(xla_python)], ["-", "torch_xla"], env))
    found = judge(trial, "torch_xla", "CPU", "get", "repair")
    assert found.state == "ok", found.seen
    assert trial.step is not None and trial.step.devices == 1
    assert trial.step.difference is not None and 0 < trial.step.difference < 1e-5
