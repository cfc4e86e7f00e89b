"""Sessions of the real Claude Code CLI; only the model's words are played."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentmig.agent.gateway import Gateway
from agentmig.agent.tools import ToolReply
from agentmig.execution.isolation import Isolation, choose_isolation
from agentmig.journal.events import SessionEnded, SessionStarted, ToolDenied, Turn, Usage
from agentmig.replay.serving import loopback_socket, serve
from tests.agent.scene import CLAIM, Scene, Tools, bash, turn


@pytest.fixture(params=["bubblewrap", "none"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    """The same in both modes; where bubblewrap is missing, its half fails and says what to install."""
    mode = request.param
    return Scene(tmp_path, choose_isolation(allow_none=False) if mode == "bubblewrap" else Isolation("none"))


@pytest.fixture
def walled(tmp_path: Path) -> Scene:
    return Scene(tmp_path, choose_isolation(allow_none=False))


@pytest.fixture
def bare(tmp_path: Path) -> Scene:
    return Scene(tmp_path, Isolation("none"))


def test_a_session_edits_commits_and_calls_our_tool_and_leaves_nothing(scene: Scene) -> None:
    edit = {"file_path": "${worktree}/train.py", "old_string": "lr = 1", "new_string": "lr = 2"}
    endpoint = scene.endpoint(
        turn(
            "I read.", ("Read", {"file_path": "${worktree}/train.py"}), expect="Migrate", input=9, output=70
        ),
        turn(
            "I change and try.",
            ("Edit", edit),
            bash("git commit -qam change && git log --format=%an; (setsid sleep 1000 >/dev/null 2>&1 &)"),
            ("mcp__agentmig__run_on_target", {"target": "xla", "chips": 4}),
            expect="lr = 1",
            input=3,
            output=80,
            cache_read=1000,
            cache_write_5m=40,
            cache_write_1h=2,
        ),
        turn("Done.", expect="(?s)Claude Code.*no such device", output=5),
    )
    (ended,) = scene.play(endpoint, "Migrate this")
    assert (ended.reason, ended.detail, ended.text) == ("turn_ended", "", "Done.")
    assert endpoint.failure is None
    assert (scene.worktree / "train.py").read_text() == "lr = 2\n"
    assert scene.tools.calls == [("xla", 4, None)]
    turns = scene.of(Turn)
    assert [event.tools for event in turns] == [
        ["Read"],
        ["Edit", "Bash", "mcp__agentmig__run_on_target"],
        [],
    ]
    total = Usage(input=12, output=155, cache_read=1000, cache_write_5m=40, cache_write_1h=2)
    assert sum((event.usage for event in turns), Usage()) == total == endpoint.usage == ended.usage
    assert sum(event.usd for event in turns) == pytest.approx(ended.cli_usd)
    assert len({event.message_id for event in turns}) == 3
    assert ended.processes_killed == 1
    assert scene.left_over() == []
    kinds = [type(event) for event in scene.events]
    assert kinds == [SessionStarted, Turn, Turn, Turn, SessionEnded]
    lines = (scene.transcript / f"{ended.session}.jsonl").read_text().splitlines()
    copied = [json.loads(line) for line in lines]
    assert {record["message"]["id"] for record in copied if record["type"] == "assistant"} == {
        event.message_id for event in turns
    }


def test_a_resumed_session_remembers_and_counts_only_its_own_stretch(walled: Scene) -> None:
    endpoint = walled.endpoint(
        turn("First.", input=100, output=1000),
        turn("Second.", CLAIM, input=10, output=2000, expect="rejected: clipping"),
        turn("Third.", output=1),
    )
    first, second = walled.play(endpoint, "Migrate", "rejected: clipping")
    assert (first.turns, second.turns) == (1, 2)
    assert second.session != first.session
    assert second.usage == Usage(input=10, output=2001)
    for ended, event in zip((first, second), walled.of(SessionEnded), strict=True):
        turns = [known for known in walled.of(Turn) if known.session == ended.session]
        assert ended.cli_usd == event.cli_usd == pytest.approx(sum(known.usd for known in turns))
    assert [event.resumed for event in walled.of(SessionStarted)] == [None, first.session]
    history = (walled.transcript / f"{second.session}.jsonl").read_text()
    assert all(word in history for word in ("First.", "Second.", "rejected: clipping"))


def test_denials_are_recorded_and_told_to_the_agent(bare: Scene) -> None:
    endpoint = bare.endpoint(
        turn(
            "I try.",
            bash("git push origin"),
            ("Write", {"file_path": "${worktree}/evaluate.py", "content": "accuracy = 1"}),
            ("Write", {"file_path": str(bare.folder / "outside"), "content": "x"}),
        ),
        turn("I see.", expect="(?s)Nothing is pushed.*protected.*outside your worktree"),
    )
    (ended,) = bare.play(endpoint, "go")
    assert ended.reason == "turn_ended"
    assert [event.tool for event in bare.of(ToolDenied)] == ["Bash", "Write", "Write"]
    assert json.loads(bare.of(ToolDenied)[0].input)["command"] == "git push origin"
    assert not (bare.worktree / "evaluate.py").exists()
    assert not (bare.folder / "outside").exists()


def test_an_unforeseen_request_ends_the_session_with_what_was_expected(bare: Scene) -> None:
    endpoint = bare.endpoint(turn("I mend the clipping.", expect="clip"), turn("never"))
    (ended,) = bare.play(endpoint, "the loss overflowed")
    assert ended.reason == "error"
    assert ended.api_error
    assert "turn 1 of 2 can't be played: it answers only what matches 'clip'" in ended.detail
    assert "the loss overflowed" in ended.detail
    assert bare.of(SessionEnded)[0].detail == ended.detail == endpoint.failure
    assert bare.of(Turn) == []


def test_nothing_outside_is_in_reach_behind_the_wall(walled: Scene) -> None:
    (walled.folder / "run").mkdir()
    (walled.folder / "run/journal.jsonl").write_text("the verifier's seeds")
    (walled.folder / "other").mkdir()
    git = walled.folder / "project/.git"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        attempts = [
            f"(echo >/dev/tcp/127.0.0.1/{port}) 2>&1",
            f"ls {walled.folder} {walled.folder}/run",
            f"cd {git} && touch hooks/post-commit /etc/x",  # past the guard, which is only a sign
            f"echo '[alias] x = y' >> {git}/config",
            f"cat {walled.folder}/project/train.py",
            "ls -A ~",
            "echo end",
        ]
        endpoint = walled.endpoint(
            turn("I look around.", bash("; ".join(attempts))),
            turn(
                "Nothing.",
                expect="Connection refused.*hooks/post-commit'?: Read-only.*/etc/x'?: Read-only"
                ".*config: Read-only.*No such file.*end",
                refuse="journal|lr = 1|other",
            ),
        )
        (ended,) = walled.play(endpoint, "go")
    assert (ended.reason, ended.detail) == ("turn_ended", "")
    assert not list(git.glob("hooks/post-commit"))


def test_after_a_claim_no_tool_is_allowed_and_going_on_is_stopped(bare: Scene) -> None:
    endpoint = bare.endpoint(
        turn("I claim.", CLAIM),
        *(turn(f"And {number}.", bash("touch more")) for number in range(9)),
    )
    (ended,) = bare.play(endpoint, "go")
    assert ended.reason == "turn_ended"
    assert "went on" in ended.detail
    assert 5 <= ended.turns < 10  # the CLI may have one more request under way when it is interrupted
    assert not (bare.worktree / "more").exists()
    assert all("end your turn now" in event.reason for event in bare.of(ToolDenied))


def test_a_limit_stops_before_the_next_tool(bare: Scene) -> None:
    bare.may_continue = lambda: "the agent's 1 dollar is spent" if len(bare.of(Turn)) > 1 else None
    endpoint = bare.endpoint(turn("One.", bash("touch one")), turn("Two.", bash("touch two")), turn("Three."))
    (ended,) = bare.play(endpoint, "go")
    assert (ended.reason, ended.detail) == ("limit", "the agent's 1 dollar is spent")
    assert (bare.worktree / "one").exists()
    assert not (bare.worktree / "two").exists()
    assert ended.turns == 2
    assert bare.left_over() == []


def test_a_stopped_session_can_be_resumed(bare: Scene) -> None:
    bare.may_continue = lambda: "pause" if len(bare.of(Turn)) == 1 else None
    endpoint = bare.endpoint(
        turn("One.", bash("touch one")),
        turn("Two.", bash("touch two"), expect="go on"),
        turn("Three."),
    )
    stopped, ended = bare.play(endpoint, "go", "go on")
    assert (stopped.reason, ended.reason) == ("limit", "turn_ended")
    assert (bare.worktree / "two").exists()


def test_silence_ends_the_session(bare: Scene) -> None:
    async def never(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    async def scenario() -> object:
        listener = loopback_socket()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = Starlette(routes=[Route("/v1/messages", never, methods=["POST"])])
        async with serve(app, listener):
            return await bare.session(Gateway(url, "token", None, None)).converse("go")

    bare.idle_s = 3.0
    asyncio.run(scenario())
    (event,) = bare.of(SessionEnded)
    assert event.reason == "idle"
    assert "nothing was heard" in event.detail
    assert bare.left_over() == []


def test_time_in_our_own_tools_is_not_silence(bare: Scene) -> None:
    class Slow(Tools):
        async def run_on_target(self, target: str, chips: int | None, command: str | None) -> ToolReply:
            await asyncio.sleep(bare.idle_s + 2)
            return ToolReply("trained")

    bare.tools = Slow()
    bare.idle_s = 3.0
    endpoint = bare.endpoint(
        turn("I train.", ("mcp__agentmig__run_on_target", {"target": "xla"})), turn("Good.", expect="trained")
    )
    (ended,) = bare.play(endpoint, "go")
    assert ended.reason == "turn_ended"


def test_a_broken_tool_ends_the_session_and_is_raised(bare: Scene) -> None:
    def broken() -> ToolReply:
        raise OSError("no space left")

    bare.tools = Tools(broken)
    endpoint = bare.endpoint(turn("I claim.", CLAIM), *(turn("On.", bash("true")) for _ in range(9)))
    with pytest.raises(OSError, match="no space left"):
        bare.play(endpoint, "go")
    assert bare.of(SessionEnded)[0].reason == "error"
    assert bare.left_over() == []


def test_a_cancelled_session_leaves_nothing(walled: Scene) -> None:
    started = asyncio.Event()

    class Blocking(Tools):
        async def run_on_target(self, target: str, chips: int | None, command: str | None) -> ToolReply:
            started.set()
            await asyncio.Event().wait()
            return ToolReply("never")

    async def scenario() -> None:
        async with walled.playing(endpoint) as session:
            talk = asyncio.create_task(session.converse("go"))
            await started.wait()
            talk.cancel()
            with pytest.raises(asyncio.CancelledError):
                await talk

    walled.tools = Blocking()
    endpoint = walled.endpoint(turn("I train.", ("mcp__agentmig__run_on_target", {"target": "xla"})))
    asyncio.run(scenario())
    assert walled.of(SessionEnded)[0].detail.startswith("the session was cancelled")
    assert walled.left_over() == []


def test_a_cli_that_cannot_start_says_why(walled: Scene) -> None:
    async def scenario() -> object:
        gateway = Gateway("http://127.0.0.1:1", "token", None, None)
        return await walled.session(gateway).converse("go", "5f2c8c1e-0000-4000-8000-000000000000")

    asyncio.run(scenario())
    (event,) = walled.of(SessionEnded)
    assert event.reason == "error"
    assert "No conversation found" in event.detail
