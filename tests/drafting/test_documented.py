from agentmig.drafting.documented import given_in, in_every_launch
from agentmig.drafting.findings import Place
from agentmig.drafting.launches import Launch
from tests.drafting.programs import program_of, tree_of

OPTIONS = program_of(
    "import argparse\np = argparse.ArgumentParser()\n"
    + "".join(f"p.add_argument({given})\n" for given in ("'-m', '--model'", "'--lr', default=0.1", "'--seed'", "'--fast', action='store_true'", "'--init'", "'--data-dir'", "'--url'"))
).options  # fmt: skip


def _launch(*words: str) -> Launch:
    return Launch("python", "train.py", words, Place("README.md", 1))


def test_what_a_documented_command_gives() -> None:
    given = given_in(
        _launch("-m", "vit", "--lr=-1", "--fast", "--init", "$INIT", "--unknown", "x", "pos"), OPTIONS
    )
    assert [each.words for each in given.values()] == ["--model vit", "--lr -1", "--fast"]


def test_only_what_every_command_gives_is_taken_over() -> None:
    launches = [
        _launch("-m", "vit", "--lr", "0.3", "--fast", "--url", "tcp://localhost:1"),
        _launch("--model", "vit", "--lr", "0.5", "--fast", "--url", "tcp://localhost:1"),
    ]
    taken = in_every_launch(launches, OPTIONS, tree_of({}))
    assert [each.words for each in taken] == ["--model vit", "--fast", "--url tcp://localhost:1"]


def test_what_changes_from_run_to_run_is_left_to_the_draft() -> None:
    launch = _launch("--seed", "3", "--lr", "0.1", "--data-dir", "d", "--init", "gone.pth")
    assert in_every_launch([launch], OPTIONS, tree_of({})) == []
    assert [g.words for g in in_every_launch([launch], OPTIONS, tree_of({"gone.pth": ""}))] == [
        "--init gone.pth"
    ]
    assert in_every_launch([], OPTIONS, tree_of({})) == []
