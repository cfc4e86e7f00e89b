import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentmig.journal.events import Usage
from agentmig.replay.wire import error_body, event_stream, message


def events(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(chunk.split(b"\ndata: ")[1]) for chunk in body.split(b"\n\n") if chunk]


@given(st.text(min_size=1), st.dictionaries(st.text(), st.text() | st.integers()))
def test_text_and_input_survive_the_stream(text: str, arguments: dict[str, Any]) -> None:
    stream = events(b"".join(event_stream(message("m", text, [("Bash", arguments)], Usage(output=9)))))
    deltas = [event["delta"] for event in stream if event["type"] == "content_block_delta"]
    assert deltas[0]["text"] == text
    assert json.loads(deltas[1]["partial_json"]) == arguments


def test_the_final_count_comes_only_at_the_end() -> None:
    stream = events(b"".join(event_stream(message("m", "hi", [], Usage(input=4, output=9)))))
    assert stream[0]["message"]["usage"]["output_tokens"] == 1
    assert stream[-2]["usage"]["output_tokens"] == 9
    assert stream[-1] == {"type": "message_stop"}


def test_ids_are_distinct() -> None:
    assert message("m", "a", [], Usage()).id != message("m", "a", [], Usage()).id


def test_an_error_names_its_kind() -> None:
    body = error_body("api_error", "down")
    assert body["error"] == {"type": "api_error", "message": "down"}
