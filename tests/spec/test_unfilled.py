from collections.abc import Callable
from pathlib import Path

from agentmig.spec import load_workload
from agentmig.spec.unfilled import unfilled


def test_keys_whose_values_hold_the_mark(workload_file: Callable[[str], Path], minimal: str) -> None:
    text = minimal.replace('metric = "accuracy"', 'metric = "FILL-IN accuracy"')
    text = text.replace('requirements = ["torch==2.9.0"]', 'requirements = ["FILL-IN", "x FILL-IN"]')
    text += '[data.set]\npaths = { local = "/FILL-IN/set" }\n'
    assert unfilled(load_workload(workload_file(text))) == [
        "environments.base.requirements",
        "goal.metric",
        "data.set.paths.local",
    ]


def test_a_workload_that_is_filled_in(workload_file: Callable[[str], Path], minimal: str) -> None:
    assert unfilled(load_workload(workload_file(minimal + "# FILL-IN\n"))) == []
