import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agentmig.cli import reference
from agentmig.cli.reference import ExpiryError
from agentmig.errors import AgentmigError
from agentmig.supervisor.reference import make
from agentmig.verification.reference_cache import Entry, entries
from agentmig.verification.reference_inspection import detectable
from agentmig.verification.reference_key import write_document
from agentmig.verification.references import GoalReference
from tests.verification.untouched import Untouched, manifest, measured


class Shell:
    """The command as a person uses it, on a project without torch and a cache of its own."""

    def __init__(self, folder: Path):
        self.untouched = Untouched(folder)
        self.folder = folder
        self.root = folder / "cache" / "references"

    def __call__(self, *arguments: str, answer: str = "") -> Result:
        return CliRunner().invoke(reference.app, list(arguments), input=answer)

    def good(self, command: str, *arguments: str) -> str:
        """What a command prints about the project's workload, which must end well."""
        done = self(command, str(self.untouched.file), *arguments)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    def document(self, command: str, *arguments: str) -> dict[str, Any]:
        """The document that it prints for programs."""
        read: dict[str, Any] = json.loads(self.good(command, *arguments, "--json"))
        return read

    def make(self) -> None:
        """Measure the goal."""
        self.good("make", "--goal-only", "--no-isolation")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("AGENTMIG_CACHE", str(tmp_path / "cache"))
    return Shell(tmp_path)


def test_make_says_what_it_takes_and_then_what_there_is(shell: Shell) -> None:
    said = shell.good("make", "--no-isolation", "--target", "two")
    assert "to make: goal, record 2 float64, record 2 production, calibration 2: 6 trainings" in said
    assert "reference: training 2 of 3 (seed 1002)" in said
    assert "goal: accuracy 0.901 over 3 seeds, standard deviation 0.001" in said
    assert "record 4" not in said
    again = shell.good("make", "--no-isolation")
    assert "there: goal, record 2 float64" in again and "3 trainings" in again
    assert "everything is there already" in shell.good("make", "--no-isolation")
    shell.untouched.change("{seed} {out}", "{seed}  {out}")
    with_earlier = shell.good("make", "--no-isolation", "--goal-only")
    assert "earlier results of this workload took" in with_earlier
    assert "s for a training and evaluation; about" in with_earlier


def test_make_prints_one_document_for_programs_and_the_end_alone_when_quiet(shell: Shell) -> None:
    document = shell.document("make", "--no-isolation", "--goal-only")
    assert document["goal"]["values"] == {"1001": 0.9, "1002": 0.901, "1003": 0.902}
    assert document["schema_version"] == 1
    quiet = shell.good("make", "--no-isolation", "--quiet")
    assert quiet.startswith("reference of tiny") and "training 1" not in quiet and "to make" not in quiet


def test_an_interruption_says_what_is_kept(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = make

    async def interrupted(here: Any, isolation: Any, goal_only: bool, on_note: Any, on_line: Any) -> None:
        def note(text: str) -> None:
            if "seed 1003)" in text:
                os.kill(os.getpid(), signal.SIGINT)

        await kept(here, isolation, goal_only, note, on_line)

    monkeypatch.setattr(reference, "measure", interrupted)
    done = shell("make", str(shell.untouched.file), "--no-isolation", "--json")
    assert done.exit_code == 130
    assert "interrupted; 2 of 9 trainings are kept" in done.stderr
    assert done.stdout == ""


def test_a_project_that_fails_is_an_error(shell: Shell) -> None:
    shell.untouched.change("python train.py", "echo no memory left && false #")
    done = shell("make", str(shell.untouched.file), "--no-isolation")
    assert isinstance(done.exception, AgentmigError)
    assert "no memory left" in str(done.exception)


def test_inspect_shows_the_spread_and_why_older_results_do_not_apply(shell: Shell) -> None:
    assert "missing: goal," in shell.good("inspect")
    shell.make()
    said = shell.good("inspect")
    assert "seed 1002  0.901" in said
    assert "margin 0.02 is 20 standard deviations" in said
    assert "the look of 3 seeds with a chance of 80% or more" in said
    shell.untouched.change("seeds = 3", "seeds = 4")
    other = shell.good("inspect")
    assert "other results of tiny, which don't apply" in other
    assert "reference.seeds: 3 there, 4 here" in other
    assert shell.document("inspect")["others"][0]["differences"] == ["reference.seeds: 3 there, 4 here"]


def test_a_margin_that_can_not_be_shown_is_said(shell: Shell) -> None:
    shell.untouched.change("margin = 0.02", "margin = 0.0005")
    shell.make()
    said = shell.good("inspect")
    test = shell.untouched.workload.acceptance.goal
    smallest = min(detectable([0.9, 0.901, 0.902], 0.0005, test).shown_at.values())
    assert "too small for the looks at 3, 5, 8 seeds" in said
    assert f"the smallest margin that can be shown is {smallest:.3g}" in said


def test_seeds_that_make_no_difference_are_said(shell: Shell) -> None:
    shell.make()
    (entry,) = entries(shell.root)
    goal = GoalReference.model_validate_json(entry.goal_file.read_text())
    write_document(entry.goal_file, goal.model_copy(update={"values": [0.9, 0.9, 0.9]}))
    assert "does the seed reach the training?" in shell.good("inspect")


def test_a_reference_is_carried_to_another_cache(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.make()
    file = shell.folder / "reference.tar.gz"
    said = shell.good("export", str(file))
    assert "goal" in said and "without record 2 float64" in said
    monkeypatch.setenv("AGENTMIG_CACHE", str(shell.folder / "other"))
    taken = shell.good("import", str(file))
    assert "imported from" in taken and "CPU, 1 process, the declared cpu" in taken
    refused = shell("import", str(shell.untouched.file), str(file))
    assert "--force replaces them" in str(refused.exception)
    assert shell.document("import", str(file), "--force")["goal"]["as_declared"] is True
    shell.untouched.change("margin = 0.02", "margin = 0.5")
    refused = shell("import", str(shell.untouched.file), str(file))
    assert "goal.margin: 0.02 there, 0.5 here" in str(refused.exception)
    exported = shell.folder / "second.tar.gz"
    shell.untouched.change("margin = 0.5", "margin = 0.02")
    assert shell.document("export", str(exported))["parts"] == ["goal"]


def test_what_a_stranger_wrote_is_no_markup(shell: Shell) -> None:
    shell.make()
    (entry,) = entries(shell.root)
    kept = entry.manifest()
    assert kept is not None
    train = {**kept.parts.train, "command": "[bold]run[/bold]"}
    other = kept.model_copy(update={"parts": kept.parts.model_copy(update={"train": train})})
    measured(shell.root, other)
    assert "[bold]run[/bold] there" in shell.good("inspect")


def _keys(root: Path) -> set[str]:
    return {entry.key for entry in entries(root)}


def test_expire_removes_what_is_named(shell: Shell) -> None:
    shell.make()
    mine = _keys(shell.root)
    older = measured(shell.root, manifest()).key
    stranger = measured(shell.root, manifest(cores=3).model_copy(update={"workload": "stranger"})).key
    said = shell.good("expire", "--yes")
    assert mine <= set(said.split()) and "removed 1 of them" in said
    assert _keys(shell.root) == {older, stranger}
    shell.good("expire", "--all", "--yes")
    assert _keys(shell.root) == {stranger}
    done = shell("expire", "--all", "--yes", "--json")
    document = json.loads(done.stdout)
    assert [each["key"] for each in document["removed"]] == [stranger]
    assert document["bytes"] == document["removed"][0]["bytes"] > 0
    assert list(shell.root.iterdir()) == []
    assert "no such results" in shell("expire", "--all").stdout


def test_expire_can_spare_what_is_young(shell: Shell) -> None:
    old, young = measured(shell.root, manifest()), measured(shell.root, manifest(cores=3))
    for part in [old.goal_file, *(old.folder / name for name in old.parts() if name != "goal")]:
        os.utime(part, (0, datetime(2020, 1, 1, tzinfo=UTC).timestamp()))
    shell("expire", "--all", "--older-than", "30", "--yes")
    assert _keys(shell.root) == {young.key}


def test_expire_asks_and_without_anybody_to_ask_it_refuses(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = measured(shell.root, manifest())
    assert "name a workload" in str(shell("expire").exception)
    refused = shell("expire", "--all")
    assert isinstance(refused.exception, ExpiryError) and "--yes" in str(refused.exception)
    assert entry.key in refused.stdout
    monkeypatch.setattr(reference, "_at_terminal", lambda: True)
    refused = shell("expire", "--all", answer="n\n")
    assert "nothing was removed" in str(refused.exception)
    assert _keys(shell.root) == {entry.key}
    agreed = shell("expire", "--all", "--json", answer="y\n")
    assert entry.key in agreed.stderr
    printed = agreed.stdout.partition("\n")[2]  # after the answer, which the test's terminal repeats
    assert json.loads(printed)["removed"][0]["key"] == entry.key


def test_a_running_measurement_is_not_removed(shell: Shell) -> None:
    entry = measured(shell.root, manifest())
    other = measured(shell.root, manifest(cores=3))
    with Entry(shell.root, entry.key).locked_now():
        said = shell("expire", "--all", "--yes").stdout
        assert f"kept: reference {entry.key}: another agentmig (process {os.getpid()}) works on it" in said
        assert "removed 1 of them" in said
    assert _keys(shell.root) == {entry.key}
    assert not (shell.root / f"{other.key}.lock").exists()
