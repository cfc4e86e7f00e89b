import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentmig.cli.main import COMMANDS, command
from agentmig.journal import Journal
from agentmig.journal.events import MigrationFinished, MigrationStarted
from tests.journal.builders import put
from tests.tiny import agentmig, environment, tiny


def _finished(cwd: Path, verdict: str = "rejected") -> None:
    with Journal(cwd / ".agentmig" / "runs" / "20260101-000000-tiny-0000") as journal:
        put(journal, MigrationStarted)
        put(journal, MigrationFinished, verdict=verdict, reason="no")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_line_in_the_list_is_the_first_of_its_own_help(name: str) -> None:
    help_ = command(name).help
    assert inspect.cleandoc(help_).splitlines()[0] == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_people_read_programs_can_read_too(name: str) -> None:
    made = command(name)
    leaves = list(made.commands.values()) if hasattr(made, "commands") else [made]
    for leaf in leaves:
        assert "--json" in {option for parameter in leaf.params for option in parameter.opts}, leaf.name


def test_the_list_of_commands_needs_none_of_their_libraries(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['agentmig', '--help']\n"
        "from agentmig.cli.main import app\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'anthropic', 'matplotlib', 'claude_agent_sdk', 'pydantic'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "heavy: []" in done.stdout, done.stdout + done.stderr
    for name in COMMANDS:
        assert f" {name} " in done.stdout


def test_the_version(tmp_path: Path) -> None:
    assert agentmig(tmp_path, "--version").stdout.startswith("agentmig ")


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["show", "--nosuch"], ["verify"], ["study", "--format", "nosuch"]]
)
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: list[str]) -> None:
    done = agentmig(tmp_path, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("verdict", "code"), [("accepted", 0), ("rejected", 1), ("stopped", 1), ("waiting", 3)]
)
def test_show_ends_with_the_verdicts_code_where_that_is_asked_for(
    tmp_path: Path, verdict: str, code: int
) -> None:
    _finished(tmp_path, verdict)
    assert agentmig(tmp_path, "show", "--exit-code").returncode == code
    assert agentmig(tmp_path, "show").returncode == 0


def test_no_color_means_no_colour_even_where_one_is_forced(tmp_path: Path) -> None:
    _finished(tmp_path)
    forced = agentmig(tmp_path, "show", env=environment(FORCE_COLOR="1", TERM="xterm-256color"))
    assert "\x1b[" in forced.stdout
    plain = agentmig(tmp_path, "show", env=environment(FORCE_COLOR="1", NO_COLOR="1", TERM="xterm-256color"))
    assert "\x1b[3" not in plain.stdout and "\x1b[1;3" not in plain.stdout


def _completed(cwd: Path, words: str) -> list[str]:
    env = environment(
        _AGENTMIG_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split(" ")) - 1)
    )
    program = "from agentmig.cli.main import app; app(prog_name='agentmig')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout.split()


def test_the_shell_completes_commands_runs_and_targets(tmp_path: Path) -> None:
    _finished(tmp_path)
    folder = tiny(tmp_path / "project", Path(sys.executable))
    assert set(_completed(tmp_path, "agentmig re")) == {"reference", "resume", "report"}
    assert _completed(tmp_path, "agentmig show 2026") == ["20260101-000000-tiny-0000"]
    assert _completed(tmp_path, "agentmig reference ex")
    assert _completed(tmp_path, f"agentmig plan {folder.name} --target c") == ["cpu"]


def test_settings_with_a_mistake_stop_a_command_and_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "agentmig.toml").write_text("quiet = 7\n")
    done = agentmig(tmp_path, "show")
    assert done.returncode == 2
    assert "agentmig.toml" in done.stderr and "quiet" in done.stderr and "Traceback" not in done.stderr


def test_runs_lie_where_the_settings_say(tmp_path: Path) -> None:
    _finished(tmp_path)
    (tmp_path / ".agentmig" / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "agentmig.toml").write_text('runs = "elsewhere"\n')
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert json.loads(agentmig(deep, "show", "--json").stdout)["verdict"] == "rejected"
