import json
import sys
from pathlib import Path

from tests.tiny import agentmig, environment, tiny


def test_a_plan_says_what_how_long_and_how_much_for_people_and_programs(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "project", Path(sys.executable))
    env = environment(AGENTMIG_CACHE=str(tmp_path / "cache"))
    people = agentmig(tmp_path, "plan", folder, env=env)
    assert people.returncode == 0, people.stderr
    assert "3 times" in people.stdout and "not measured yet" in people.stdout
    assert "agent (claude" in people.stdout and "it stops at: agent_usd 5" in people.stdout
    programs = json.loads(agentmig(tmp_path, "plan", folder, "--json", env=env).stdout)
    assert programs["costs_money"] is True
    assert programs["seconds"]["high"] == sum(step["seconds"]["high"] for step in programs["steps"])
    by_hand = json.loads(agentmig(tmp_path, "plan", folder, "--verify", "--json", env=env).stdout)
    assert by_hand["agent"] is None and by_hand["costs_money"] is False
    assert not (tmp_path / ".agentmig").exists()
