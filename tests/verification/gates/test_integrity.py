from collections.abc import Callable
from pathlib import Path

import pytest

from agentmig.journal.events import GateResult, Verdict
from agentmig.verification.gates.integrity import check, seeds_followed
from agentmig.verification.traces import World
from tests.verification.parallel import train, with_changes

FILES = {
    "train.py": "import torch\n",
    "evaluate.py": "print('accuracy: 0.9')\n",
    "data/labels.csv": "1,2\n",
    "conftest.py": "",
    "README.md": "digits\n",
    ".git/config": "[core]\n",
}
PROTECTED = ["evaluate.py", "data", "*.toml"]


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., GateResult]:
    for side in ("base", "candidate"):
        for name, text in FILES.items():
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def checked(
        change: Callable[[Path], object] | None = None, base: Callable[[Path], object] | None = None
    ) -> GateResult:
        if base:
            base(tmp_path / "base")
        if change:
            change(tmp_path / "candidate")
        return check("xla", tmp_path / "base", tmp_path / "candidate", PROTECTED)

    return checked


Project = Callable[..., GateResult]


def test_honest_edits_pass(project: Project) -> None:
    def edit(root: Path) -> None:
        (root / "train.py").write_text("import torch_xla\n")
        (root / "README.md").write_text("AGENTMIG_PROBE is named in prose only\n")
        (root / "device.py").write_text("x = 1\n")
        (root / ".git" / "hooks").mkdir()
        (root / ".git" / "hooks" / "post-checkout").write_text("agentmig\n")

    result = project(edit)
    assert result.verdict is Verdict.PASS
    assert result.evidence["changed"] == ["README.md", "device.py", "train.py"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda root: (root / "evaluate.py").write_text("print('accuracy: 1.0')\n"), "evaluate.py (edited)"),
        (lambda root: (root / "evaluate.py").unlink(), "evaluate.py (removed)"),
        (lambda root: (root / "evaluate.py").rename(root / "score.py"), "evaluate.py (removed)"),
        (lambda root: (root / "data" / "more.csv").write_text("1"), "data/more.csv (added)"),
        (lambda root: (root / "other.toml").write_text("1"), "other.toml (added)"),
        (lambda root: (root / "data").rename(root / "old"), "data/labels.csv (removed)"),
    ],
)
def test_protected_files(project: Project, change: Callable[[Path], object], words: str) -> None:
    result = project(change)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "protected_changed")
    assert words in result.summary


def link(name: str, to: str) -> Callable[[Path], object]:
    return lambda root: (root / name).symlink_to(to)


def write(name: str, text: str = "x = 1\n") -> Callable[[Path], object]:
    def do(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return do


@pytest.mark.parametrize(
    "change",
    [
        write("sitecustomize.py"),
        write("deep/inside/usercustomize.py"),
        write("lib/start.pth", "import os\n"),
        write("conftest.py", "import os\n"),
        write("tests/conftest.py"),
        write("torch.py"),
        write("vendor/torch_xla/__init__.py"),
        link("out", "/etc/passwd"),
        link("up", "../../secret"),
    ],
)
def test_planted_files(project: Project, change: Callable[[Path], object]) -> None:
    result = project(change)
    assert (result.verdict, result.cause) == (Verdict.FAIL, "planted_file")


def test_what_the_base_has_is_not_planted(project: Project) -> None:
    both = link("shared", "/usr/share")
    assert project(both, base=both).verdict is Verdict.PASS


def test_link_that_stays_inside_is_fine(project: Project) -> None:
    assert project(link("again.py", "train.py")).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.environ.pop('AGENTMIG_PROBE')",
        "import sys; del sys.modules['agentmig_probe']",
        "torch.optim.optimizer._global_optimizer_pre_hooks.clear()",
        "optimizer._optimizer_step_post_hooks.clear()",
        "from torch.optim.optimizer import register_optimizer_step_pre_hook",
        "sys . meta_path.pop(0)",
        "torch.nn.modules.module._global_forward_hooks.clear()",
    ],
)
def test_code_that_addresses_the_instruments(project: Project, text: str) -> None:
    result = project(write("train.py", text + "\n"))
    assert (result.verdict, result.cause) == (Verdict.FAIL, "probe_tampering")
    assert "train.py" in result.summary


def test_a_project_that_used_such_hooks_before_may_go_on(project: Project) -> None:
    text = "from torch.optim.optimizer import register_optimizer_step_pre_hook\n"
    assert project(write("new.py", text), base=write("train.py", text)).verdict is Verdict.PASS


def worlds(*seeds: int) -> dict[int, World]:
    return {number: train(with_changes(seed=seed, rounding=1e-3)) for number, seed in enumerate(seeds)}


def blind(found: dict[int, World]) -> dict[int, World]:
    for world in found.values():
        for trace in world.ranks.values():
            trace.steps = [step.model_copy(update={"loss": None}) for step in trace.steps]
    return found


def test_seeds_by_losses() -> None:
    result = seeds_followed("xla", worlds(1, 2, 3))
    assert result is not None and result.verdict is Verdict.PASS and result.evidence["compared"] == "losses"
    result = seeds_followed("xla", worlds(1, 2, 1))
    assert result is not None and result.cause == "seed_ignored" and result.evidence["same"] == [[0, 2]]


def test_seeds_by_batches_where_losses_were_not_read() -> None:
    result = seeds_followed("xla", blind(worlds(1, 2)))
    assert result is not None and result.verdict is Verdict.PASS and result.evidence["compared"] == "batches"
    result = seeds_followed("xla", blind(worlds(1, 1)))
    assert result is not None and result.cause == "seed_ignored"


def test_same_batches_with_another_metric_are_two_runs() -> None:
    result = seeds_followed("xla", blind(worlds(1, 1)), {0: 0.95, 1: 0.96})
    assert result is not None and result.verdict is Verdict.PASS
    result = seeds_followed("xla", blind(worlds(1, 1)), {0: 0.95, 1: 0.95})
    assert result is not None and result.verdict is Verdict.FAIL


def test_nothing_can_be_said_of_one_run_or_of_none_seen() -> None:
    assert seeds_followed("xla", worlds(1)) is None
    unseen = blind(worlds(1, 1))
    for world in unseen.values():
        for trace in world.ranks.values():
            trace.steps = [step.model_copy(update={"batch": None, "rows": None}) for step in trace.steps]
    assert seeds_followed("xla", unseen) is None
