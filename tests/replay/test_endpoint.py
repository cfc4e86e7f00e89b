from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, BadRequestError
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from agentmig.journal.events import Usage
from agentmig.replay.endpoint import Endpoint, newest_user_text
from agentmig.replay.script import Manifest, Script, ScriptedTurn, ToolCall

TOOLS: Any = [{"name": "Bash", "input_schema": {"type": "object"}}]


def endpoint(*turns: ScriptedTurn) -> Endpoint:
    manifest = Manifest(origin="authored", workload="w", model="claude-sonnet-4-5", cli="2.1.332")
    return Endpoint(Script(manifest=manifest, turn=list(turns), file=Path("/t/s/session.toml")), Path("/w"))


def says(text: str, expect: str | None = None, **tokens: int) -> ScriptedTurn:
    return ScriptedTurn(text=text, expect=expect, usage=Usage(**tokens))


def client(served: Endpoint) -> Anthropic:
    """Anthropic's own client, so that what it can't read would be noticed."""
    http = TestClient(served.app, base_url="http://service")
    return Anthropic(api_key="k", base_url="http://service", http_client=http, max_retries=0)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def ask(served: Endpoint, *messages: Any) -> Any:
    return client(served).messages.create(model="asked", max_tokens=9, messages=list(messages), tools=TOOLS)


def test_a_turn_is_streamed_as_the_service_would(tmp_path: Path) -> None:
    call = ToolCall(name="Bash", input={"command": "ls ${worktree}"})
    tokens = Usage(input=3, output=50, cache_read=7, cache_write_5m=11, cache_write_1h=2)
    served = endpoint(ScriptedTurn(text="I look.", tool=[call], usage=tokens))
    with client(served).messages.stream(
        model="m", max_tokens=9, messages=[user("go")], tools=TOOLS
    ) as stream:
        kinds = [event.type for event in stream if event.type in ("message_start", "message_delta")]
        said = stream.get_final_message()
    assert kinds == ["message_start", "message_delta"]
    assert [block.type for block in said.content] == ["text", "tool_use"]
    assert said.content[1].input == {"command": "ls /w"}  # type: ignore[union-attr]
    assert said.id.startswith("msg_")
    assert said.stop_reason == "tool_use"
    assert (said.usage.input_tokens, said.usage.output_tokens) == (3, 50)
    assert said.usage.cache_creation_input_tokens == 13
    assert served.usage == tokens


def test_the_same_request_gets_the_same_turn_and_a_longer_one_the_next() -> None:
    served = endpoint(says("one", input=10), says("two", input=20))
    first = ask(served, user("go"))
    assert ask(served, user("go")).id == first.id
    second = ask(served, user("go"), assistant("one"), user("on"))
    assert second.content[0].text == "two"
    assert second.id != first.id
    assert (served.played, served.left, served.usage) == (2, 0, Usage(input=30))


def test_a_request_without_tools_is_no_turn() -> None:
    served = endpoint(says("one"))
    answer = client(served).messages.create(model="m", max_tokens=9, messages=[user("a title, please")])
    assert answer.usage.input_tokens == 0
    assert (served.side_requests, served.played) == (1, 0)


def test_an_unforeseen_request_is_refused_and_remembered() -> None:
    served = endpoint(says("I mend the clipping.", expect="clip"))
    with pytest.raises(BadRequestError, match="turn 1 of 1 can't be played") as caught:
        ask(served, user("old: clip"), assistant("x"), user("the loss overflowed"))
    assert served.failure is not None
    assert "it answers only what matches 'clip'" in served.failure
    assert "'the loss overflowed'" in served.failure
    assert caught.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(BadRequestError):  # not even what would fit: the session has left its script
        ask(served, user("clip"))
    assert served.played == 0


def test_the_end_of_the_script_is_said() -> None:
    served = endpoint(says("one"))
    ask(served, user("go"))
    with pytest.raises(BadRequestError, match="no turn left after turn 1"):
        ask(served, user("go"), assistant("one"), user("more"))


def test_other_requests_of_the_cli_are_answered() -> None:
    served = TestClient(endpoint(says("one")).app)
    assert served.head("/").status_code == 200
    assert served.post("/v1/messages/count_tokens", json={"messages": []}).json()["input_tokens"] > 0


def test_only_what_the_user_sent_since_the_last_response_is_heard() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "1", "content": "plain"},
        {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "block"}]},
        {"type": "tool_result", "tool_use_id": "3"},
        {"type": "image", "source": {}},
        {"type": "text", "text": "and words"},
    ]
    results.append({"type": "text", "text": "<system-reminder>\nthe CLI's own\n</system-reminder>\n"})
    messages = [user("old"), assistant("reply"), {"role": "user", "content": results}]
    assert newest_user_text([*messages, {"role": "system", "content": "unheard"}, user("last")]) == (
        "plain\nblock\nand words\nlast"
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5), st.data())
def test_totals_are_those_of_the_distinct_turns_however_often_they_are_asked(
    tokens: list[tuple[int, int]], data: st.DataObject
) -> None:
    served = endpoint(*(says(f"turn {n}", input=a, output=b) for n, (a, b) in enumerate(tokens)))
    messages: list[Any] = [user("go")]
    ids = set()
    for number in range(len(tokens)):
        for _ in range(data.draw(st.integers(1, 3))):
            answer = served.answer({"tools": TOOLS, "messages": messages})
            assert answer is not None
            ids.add(answer.id)
        messages = [*messages, assistant(f"turn {number}"), user("on")]
    assert len(ids) == served.played == len(tokens)
    assert served.usage == Usage(input=sum(a for a, _ in tokens), output=sum(b for _, b in tokens))
