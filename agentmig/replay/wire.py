"""The form of a model response on the wire, built from Anthropic's own types.

Source of the event order: Anthropic's Messages API, streaming; the types are those of the `anthropic`
package.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any, Literal

from anthropic.types import (
    CacheCreation,
    ContentBlock,
    InputJSONDelta,
    Message,
    MessageDeltaUsage,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
    RawMessageStreamEvent,
    TextBlock,
    TextDelta,
    ToolUseBlock,
)
from anthropic.types import Usage as WireUsage
from anthropic.types.raw_message_delta_event import Delta

from agentmig.journal.events import Usage


def identifier(prefix: str) -> str:
    """A new identifier in the service's own style, such as `msg_…`."""
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def message(model: str, text: str, tools: list[tuple[str, dict[str, Any]]], usage: Usage) -> Message:
    """A whole response.

    Args:
        model: the model that is said to have answered.
        text: what it says; may be empty if it calls a tool.
        tools: name and input of each tool call.
        usage: tokens by class.
    """
    content: list[ContentBlock] = []
    if text:
        content.append(TextBlock(type="text", text=text))
    for name, arguments in tools:
        content.append(ToolUseBlock(type="tool_use", id=identifier("toolu"), name=name, input=arguments))
    return Message(
        id=identifier("msg"),
        type="message",
        role="assistant",
        model=model,
        content=content,
        stop_reason="tool_use" if tools else "end_turn",
        usage=WireUsage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_input_tokens=usage.cache_read,
            cache_creation_input_tokens=usage.cache_write_5m + usage.cache_write_1h,
            cache_creation=CacheCreation(
                ephemeral_5m_input_tokens=usage.cache_write_5m, ephemeral_1h_input_tokens=usage.cache_write_1h
            ),
            service_tier="standard",
        ),
    )


def event_stream(whole: Message) -> Iterator[bytes]:
    """The same response as server-sent events."""
    for event in _events(whole):
        yield f"event: {event.type}\ndata: {event.model_dump_json(exclude_unset=True)}\n\n".encode()


def error_body(
    kind: Literal["invalid_request_error", "api_error", "not_found_error"], text: str
) -> dict[str, Any]:
    """The body of an error answer."""
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": identifier("req")}


def _events(whole: Message) -> Iterator[RawMessageStreamEvent]:
    # The real service opens with the input's tokens and a first output token; the final count comes at the
    # end.
    opening = whole.usage.model_copy(update={"output_tokens": 1})
    start = whole.model_copy(update={"content": [], "stop_reason": None, "usage": opening})
    yield RawMessageStartEvent(type="message_start", message=start)
    for index, block in enumerate(whole.content):
        yield from _block_events(index, block)
    yield RawMessageDeltaEvent(
        type="message_delta",
        delta=Delta(stop_reason=whole.stop_reason, stop_sequence=None),
        usage=MessageDeltaUsage(
            input_tokens=whole.usage.input_tokens,
            output_tokens=whole.usage.output_tokens,
            cache_read_input_tokens=whole.usage.cache_read_input_tokens,
            cache_creation_input_tokens=whole.usage.cache_creation_input_tokens,
        ),
    )
    yield RawMessageStopEvent(type="message_stop")


def _block_events(index: int, block: ContentBlock) -> Iterator[RawMessageStreamEvent]:
    empty: TextBlock | ToolUseBlock
    delta: TextDelta | InputJSONDelta
    if isinstance(block, ToolUseBlock):
        empty = block.model_copy(update={"input": {}})
        delta = InputJSONDelta(type="input_json_delta", partial_json=json.dumps(block.input))
    else:
        assert isinstance(block, TextBlock)
        empty = TextBlock(type="text", text="")
        delta = TextDelta(type="text_delta", text=block.text)
    yield RawContentBlockStartEvent(type="content_block_start", index=index, content_block=empty)
    yield RawContentBlockDeltaEvent(type="content_block_delta", index=index, delta=delta)
    yield RawContentBlockStopEvent(type="content_block_stop", index=index)
