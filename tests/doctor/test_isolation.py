"""The wall is tried with real processes; where bubblewrap is missing the first test fails and says so."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.doctor import isolation
from agentmig.doctor.checks import perform
from agentmig.doctor.child import Ended
from tests.doctor.conftest import Script

ALL = {"bubblewrap", "hidden files", "network", "socat"}


def test_the_wall_holds_here() -> None:
    found = asyncio.run(isolation.try_wall())
    assert {name: finding.state for name, finding in found.items()} == dict.fromkeys(ALL, "ok")


@pytest.mark.usefixtures("nothing_on_path")
def test_without_the_programs_it_is_said_how_to_get_them_and_what_going_on_without_means() -> None:
    (found,) = asyncio.run(isolation.try_wall()).values()
    assert found.state == "missing"
    assert "bubblewrap and socat are not installed" in found.seen and "your own rights" in found.seen
    assert "bubblewrap" in found.fix and "socat" in found.fix


def test_a_refused_bubblewrap_is_broken(script: Script) -> None:
    script("bwrap", "echo 'bwrap: no permissions' >&2; exit 1")
    (found,) = asyncio.run(isolation.try_wall()).values()
    assert found.state == "broken" and "bwrap: no permissions" in found.seen
    assert found.fix


def test_a_bubblewrap_that_hangs_is_broken(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_TIMEOUT_S", 0.3)
    script("bwrap", "sleep 1000")
    (found,) = asyncio.run(isolation.try_wall()).values()
    assert found.state == "broken" and "no answer" in found.seen


def test_a_wall_that_hides_nothing_is_broken(script: Script) -> None:
    # Everything after `--` is run as it is, with no wall around it.
    script("bwrap", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    found = asyncio.run(isolation.try_wall())
    assert found["hidden files"].state == "broken"
    assert found["network"].state == "broken" and "a port of this machine" in found["network"].seen


def test_a_socat_that_does_nothing_is_broken(script: Script) -> None:
    script("bwrap", "echo began; echo ended")
    assert asyncio.run(isolation.try_wall())["socat"].state == "broken"


def test_where_the_settings_agree_it_is_a_warning(script: Script) -> None:
    script("bwrap", "exit 1")
    (found,) = asyncio.run(perform([isolation.check(optional=True)]))
    assert found.state == "warn" and 'isolation = "optional"' in found.seen
    (found,) = asyncio.run(perform([isolation.check(optional=False)]))
    assert found.state == "broken"


def test_a_program_that_ends_in_the_middle_proves_nothing() -> None:
    assert isolation.judge_wall(Ended(None, "began\nforwarded\n", 1.0)).keys() == {"bubblewrap"}


@given(st.lists(st.sampled_from(["began", "read", "reached eth0", "forwarded", "ended", "", "noise"])))
def test_all_is_well_only_with_every_proof(lines: list[str]) -> None:
    found = isolation.judge_wall(Ended(0, "\n".join(lines), 1.0))
    well = all(finding.state == "ok" for finding in found.values())
    proved = {"began", "ended", "forwarded"} <= set(lines) and not {"read", "reached eth0"} & set(lines)
    assert well is proved
