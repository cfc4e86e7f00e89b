from pathlib import Path

from agentmig.drafting.evaluating import evaluation
from agentmig.drafting.goal import Aim, aim, unknown_aim
from agentmig.drafting.training import training
from tests.drafting.programs import survey_of

TRAIN = "import torch\nloss.backward()\ntorch.save(m, 'm.pt')\nif __name__ == '__main__':\n    main()\n"
EVALUATE = "import torch, argparse\np = argparse.ArgumentParser()\np.add_argument('checkpoint')\na = p.parse_args()\ntorch.load(a.checkpoint)\n"


def _aim(folder: Path, printed: str, evaluate: str | None = EVALUATE) -> Aim:
    files = {"train.py": TRAIN} if evaluate else {"train.py": TRAIN + printed}
    files |= {"evaluate.py": evaluate + printed} if evaluate else {}
    survey = survey_of(folder, files)
    assert survey.train is not None
    return aim(survey.train, evaluation(survey, survey.train, training(survey, survey.train)))


def test_the_line_that_the_evaluation_prints(tmp_path: Path) -> None:
    goal = _aim(tmp_path, "print(f'test acc: {100 * a:.1f}%')\nprint(f'test loss: {l}')\n")
    assert (goal.metric, goal.direction, goal.margin) == ("test accuracy", "maximize", 1.0)
    assert goal.pattern.startswith("test acc:")
    assert "test loss (evaluate.py:7)" in goal.why[1]
    assert [question.key for question in goal.questions] == ["goal.margin"]


def test_where_there_is_no_evaluation_the_pattern_waits(tmp_path: Path) -> None:
    goal = _aim(tmp_path, "print(f'val ppl: {p}')\n", evaluate=None)
    assert (goal.metric, goal.pattern, goal.direction) == (
        "val perplexity",
        "FILL-IN val perplexity: ([0-9.]+)",
        "minimize",
    )


def test_an_evaluation_that_prints_no_metric_is_asked_about(tmp_path: Path) -> None:
    goal = _aim(tmp_path, "print('done')\n")
    assert goal.pattern == "FILL-IN accuracy: ([0-9.]+)"
    assert [(question.key, question.kind) for question in goal.questions] == [
        ("goal.pattern", "missing"),
        ("goal.margin", "confirm"),
    ]


def test_a_guess_is_confirmed(tmp_path: Path) -> None:
    goal = _aim(tmp_path, "m = AverageMeter('Acc@1')\n")
    assert "a guess" in goal.why[0]
    assert goal.questions[0].key == "goal.pattern" and goal.questions[0].kind == "confirm"


def test_nothing_is_known() -> None:
    assert "FILL-IN" in unknown_aim().pattern
