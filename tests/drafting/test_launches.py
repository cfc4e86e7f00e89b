from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.graph import Project
from agentmig.drafting.launches import console_scripts, documented_launches
from tests.drafting.programs import tree_of

README = """\
# Train

```bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 train.py \\
    --lr 0.1 \\
    --name "a b" > log.txt
python -m torch.distributed.launch --nproc_per_node 8 tools/eval.py --test
$ accelerate launch --num_processes 4 train.py
python -u -m pkg.run --x && rm -rf y
python missing.py
```
Use `python train.py --seed 1` too.
"""


def test_commands_in_a_readme() -> None:
    tree = tree_of({"README.md": README, "train.py": "", "tools/eval.py": "", "pkg/run.py": ""})
    launches = documented_launches(tree)
    assert [
        (each.launcher, each.program, each.arguments, each.processes, each.place.line) for each in launches
    ] == [
        ("torchrun", "train.py", ("--lr", "0.1", "--name", "a b"), 2, 4),
        ("torch.distributed.launch", "tools/eval.py", ("--test",), 8, 7),
        ("accelerate launch", "train.py", (), 4, 8),
        ("python", "pkg/run.py", ("--x",), None, 9),
        ("python", "train.py", ("--seed", "1"), None, 12),
    ]


def test_commands_in_scripts_makefiles_and_docstrings() -> None:
    tree = tree_of(
        {
            "jobs/run.sh": "deepspeed train.py --deepspeed c.json\n",
            "Makefile": "train:\n\tpython3 jobs/train.py\n",
            "jobs/train.py": '"""Run:\n  python train.py --epochs 2\n"""\nprint("python train.py --no")\n',
            ".github/workflows/ci.yml": "run: python jobs/train.py --ci\n",
        }
    )
    found = {(each.launcher, each.place.file, each.arguments) for each in documented_launches(tree)}
    assert found == {
        ("deepspeed", "jobs/run.sh", ("--deepspeed", "c.json")),
        ("python", "Makefile", ()),
        ("python", "jobs/train.py", ("--epochs", "2")),
    }


def test_console_scripts_of_each_kind_of_packaging() -> None:
    files = {
        "pyproject.toml": '[project.scripts]\na = "pkg.cli:main"\n[tool.poetry.scripts]\nb = "pkg.cli:other"\n',
        "setup.cfg": "[options.entry_points]\nconsole_scripts =\n    c = pkg.cli:main\n",
        "setup.py": "setup(entry_points={'console_scripts': ['d = pkg.cli:main', 'e = gone.cli:main']})\n",
        "pkg/cli.py": "",
    }
    scripts = console_scripts(Project(tree_of(files)))
    assert [(script.name, script.program, script.function) for script in scripts] == [
        ("a", "pkg/cli.py", "main"),
        ("b", "pkg/cli.py", "other"),
        ("c", "pkg/cli.py", "main"),
        ("d", "pkg/cli.py", "main"),
    ]


@given(st.text())
def test_any_text_is_searched(text: str) -> None:
    tree = tree_of(
        {"README.md": "python train.py " + text, "pyproject.toml": text, "setup.cfg": text, "train.py": text}
    )
    documented_launches(tree)
    console_scripts(Project(tree))
