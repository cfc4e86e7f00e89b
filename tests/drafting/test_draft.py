import re
import tempfile
import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmig.drafting.draft import draft, validated
from agentmig.drafting.survey import Survey
from agentmig.spec.unfilled import unfilled
from tests.drafting.programs import survey_of
from tests.execution.projects import write

TRAIN = "import torch, argparse\np = argparse.ArgumentParser()\np.add_argument('--net', required=True)\np.add_argument('--data-dir')\na = p.parse_args()\nmodel.cuda()\ntorch.manual_seed(1)\nloss.backward()\ntorch.save(model, where())\n"


def test_every_placeholder_has_a_comment_that_says_so_and_a_question(tmp_path: Path) -> None:
    made = draft(survey_of(tmp_path, {"train.py": TRAIN}))
    keys = unfilled(validated(made.text))
    assert set(keys) == {
        "train.command",
        "train.checkpoint",
        "evaluate.command",
        "goal.pattern",
        "reference.accelerator",
        "data.data.paths.local",
    }
    lines = made.text.splitlines()
    for number, line in enumerate(lines):
        if "FILL-IN" in line and not line.startswith("#"):
            above = [each for each in lines[max(0, number - 14) : number] if each.startswith("#")]
            assert any("TO FILL IN: " in each for each in above), line
    # What goal.pattern must find is part of the question about the evaluation.
    assert set(keys) - {"goal.pattern"} <= {
        question.key for question in made.questions if question.kind == "missing"
    }
    kinds = [question.kind for question in made.questions]
    assert kinds == sorted(kinds, key=lambda kind: kind != "missing")


def test_a_project_without_a_training_program(tmp_path: Path) -> None:
    made = draft(survey_of(tmp_path, {"net.py": "import torch\n"}), "../project")
    workload = validated(made.text)
    assert workload.project.path == "../project"
    assert {"train.command", "evaluate.command", "goal.pattern"} == set(unfilled(workload))
    assert made.questions[0].key == "train.command"


def test_files_with_odd_names_stay_in_their_comments(tmp_path: Path) -> None:
    name = 'a\n[b] "{x}" \\ \x1b[31m.py'
    text = "import torch, random\nrandom.seed(1)\nloss.backward()\nif __name__ == '__main__':\n    pass\n"
    made = draft(survey_of(tmp_path, {name: text}))
    assert "\x1b" not in made.text
    assert tomllib.loads(made.text)["schema_version"] == 1
    assert "{{x}}" in validated(made.text).train.command


_WORDS = st.sampled_from(
    ["seed", "epochs", "data", "out", "x{y}", "a b", "it's", '"', "\\", "$(rm)", "\n", "é", "%s", "{}", "{0!r:>{w}}", "FILL", "../..", "/", "", "`", "#", "'''"]
)  # fmt: skip
_EXPRESSIONS = st.recursive(
    st.one_of(
        _WORDS.map(repr),
        st.sampled_from(["a", "args.out", "args.seed", "self.p", "-1", "None", "3.5", "f'{a}'"]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"os.path.join({pair[0]}, {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} + {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} % {pair[1]})"),
        inner.map(lambda value: f"{value}.format({value}, k={value})"),
        inner.map(lambda value: f"[{value}]"),
    ),
    max_leaves=6,
)
_STATEMENTS = st.one_of(
    st.tuples(_EXPRESSIONS, _EXPRESSIONS).map(lambda p: f"parser.add_argument({p[0]}, default={p[1]}, help={p[0]})"),
    _WORDS.map(lambda w: f"parser.add_argument({'--' + w!r}, required=True, choices=[{w!r}])"),
    _WORDS.map(lambda w: f"parser.add_argument({'--' + w!r}, action='store_true')"),
    _EXPRESSIONS.map(lambda e: f"torch.save(m, {e})"),
    _EXPRESSIONS.map(lambda e: f"torch.load({e})"),
    _EXPRESSIONS.map(lambda e: f"torch.manual_seed({e})"),
    _EXPRESSIONS.map(lambda e: f"a = {e}"),
    _EXPRESSIONS.map(lambda e: f"self.p = {e}"),
    st.tuples(_WORDS, _EXPRESSIONS).map(lambda p: f"print({'accuracy ' + p[0]!r}, {p[1]})"),
    _EXPRESSIONS.map(lambda e: f"torchvision.datasets.MNIST({e}, download=True)"),
    _EXPRESSIONS.map(lambda e: f"open({e})"),
    _EXPRESSIONS.map(lambda e: f"os.environ[{e}]"),
    _EXPRESSIONS.map(lambda e: f"for epoch in range({e}): loss.backward()"),
    st.sampled_from(["if args.seed: torch.save(m, 'x')", "def save(*a): torch.save(*a)", "save(1, a)", "model.cuda()", "exec(open('n.py').read())", "k, v = x.split('=')", "'--'"]),
    st.text(max_size=20),
)  # fmt: skip
_NAMES = st.sampled_from(
    ["train.py", "main.py", "evaluate.py", "test.py", "a/train.py", "a/é [b].py", "x{y}.py", "utils.py"]
)
_MORE = st.dictionaries(
    st.sampled_from(["README.md", "requirements.txt", "pyproject.toml", "setup.cfg", "environment.yml", "run.sh", "setup.py", "conf/c.yaml"]),
    st.one_of(st.text(max_size=60), st.sampled_from(["python train.py --seed 'x", "torchrun main.py -x {y} \\", "torch==1.0\n-r requirements.txt\n"])),
    max_size=3,
)  # fmt: skip
_HEAD = "import os, torch, torchvision, argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\nloss.backward()\n"


@settings(max_examples=150)
@given(
    st.dictionaries(_NAMES, st.lists(_STATEMENTS, max_size=12), min_size=1, max_size=3), _MORE, st.booleans()
)
def test_any_project_gets_a_draft_that_validates(
    files: dict[str, list[str]], more: dict[str, str], whole: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = {name: (_HEAD if whole else "") + "\n".join(lines) + "\n" for name, lines in files.items()}
        for name, text in {**texts, **more}.items():
            write(folder, {name: ""})
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
        made = draft(Survey(folder))
        workload = validated(made.text)
        missing = {question.key for question in made.questions if question.kind == "missing"}
        assert set(unfilled(workload)) - {"goal.pattern"} <= missing
        assert re.compile(workload.goal.pattern).groups == 1
