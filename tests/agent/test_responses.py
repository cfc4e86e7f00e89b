from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, TextBlock, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st

from agentmig.agent.responses import Responses, read_usage, usage_usd
from agentmig.journal.events import Usage
from agentmig.spec.prices import PriceBook

START = {
    "input_tokens": 5,
    "output_tokens": 1,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": 9,
}
START_PARTS = {"cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 3}}


def event(kind: str, **fields: Any) -> StreamEvent:
    return StreamEvent(uuid="u", session_id="s", event={"type": kind, **fields})


def start(message_id: str) -> StreamEvent:
    usage = {**START, **START_PARTS}
    return event("message_start", message={"id": message_id, "model": "m", "usage": usage})


def delta(output: int) -> StreamEvent:
    return event("message_delta", delta={}, usage={**START, "output_tokens": output})


def said(message_id: str | None, *blocks: Any, model: str = "m") -> AssistantMessage:
    return AssistantMessage(list(blocks), model, message_id=message_id, usage=dict(START))


def result() -> ResultMessage:
    return ResultMessage("success", 1, 1, False, 1, "s")


def feed(*messages: Any) -> list[Any]:
    responses = Responses()
    return [response for message in messages for response in responses.take(message)]


def test_one_response_in_several_messages_counts_once_with_its_final_usage() -> None:
    (response,) = feed(
        start("a"),
        said("a", TextBlock("hello")),
        said("a", ToolUseBlock("t1", "Bash", {})),
        said("a", ToolUseBlock("t2", "Edit", {})),
        delta(80),
        event("message_stop"),
        result(),
    )
    assert response.usage == Usage(input=5, output=80, cache_read=7, cache_write_5m=6, cache_write_1h=3)
    assert (response.text, response.tools, response.tool_ids) == (["hello"], ["Bash", "Edit"], ["t1", "t2"])


def test_a_response_is_given_out_when_it_is_complete_and_never_again() -> None:
    responses = Responses()
    assert responses.take(start("a")) == []
    assert responses.take(said("a", TextBlock("x"))) == []
    assert responses.take(delta(2)) == []
    assert [response.message_id for response in responses.take(event("message_stop"))] == ["a"]
    assert [*responses.take(start("a")), *responses.take(said("a", TextBlock("x")))] == []
    assert [*responses.take(event("message_stop")), *responses.flush()] == []


def test_a_response_that_came_without_a_stream_counts_too() -> None:
    first, second = feed(said("a", TextBlock("x")), said("b", TextBlock("y")), result())
    assert (first.message_id, second.message_id) == ("a", "b")
    assert first.usage == Usage(input=5, output=1, cache_read=7, cache_write_5m=9)


def test_a_response_that_was_cut_off_is_given_out_at_the_end() -> None:
    responses = Responses()
    responses.take(start("a"))
    assert [response.usage.input for response in responses.flush()] == [5]


def test_the_cli_speaking_in_the_models_place_is_no_response() -> None:
    assert (
        feed(said("a", TextBlock("API Error"), model="<synthetic>"), said(None, TextBlock("?")), result())
        == []
    )


def test_cost_by_class() -> None:
    price = {
        "input": 1,
        "output": 10,
        "cache_read": 0.1,
        "cache_write_5m": 2,
        "cache_write_1h": 4,
        "source": "s",
        "date": "2026-01-01",
    }
    book = PriceBook.model_validate({"models": {"m": price}, "accelerators": {}})
    usage = Usage(input=1_000_000, output=100_000, cache_read=10, cache_write_5m=20, cache_write_1h=30)
    dollars = usage_usd(book, "m", usage)
    assert dollars is not None
    assert sum(dollars.values()) == pytest.approx(1 + 1 + 1e-6 + 40e-6 + 120e-6)
    assert dollars["cache_write_1h"] == pytest.approx(120e-6)
    assert usage_usd(book, "other", usage) is None


@given(st.builds(Usage, input=st.integers(0, 99), output=st.integers(0, 99)))
def test_what_a_delta_leaves_out_stays(before: Usage) -> None:
    assert read_usage({"output_tokens": 100}, before) == before.model_copy(update={"output": 100})


@given(st.integers(0, 99), st.integers(0, 99))
def test_cache_writes_are_never_counted_twice(five: int, hour: int) -> None:
    opening = {"cache_creation_input_tokens": five + hour}
    parts = {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
    first = read_usage({**opening, "cache_creation": parts})
    last = read_usage({**opening, "output_tokens": 1}, first)
    assert last.cache_write_5m + last.cache_write_1h == five + hour
    assert last.cache_write_1h == hour
