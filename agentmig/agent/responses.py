"""Counting what the model said: one record for each distinct response, with its final usage.

One response arrives as several messages of the CLI that share an id, and the usage on them is the one of the
response's beginning. The final count comes at the end of the event stream, so responses are put together here
and given out when they are complete.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import AssistantMessage, Message, ResultMessage, StreamEvent, TextBlock, ToolUseBlock

from agentmig.journal.events import Usage
from agentmig.spec.prices import PriceBook

_SYNTHETIC = "<synthetic>"  # the CLI's own words in the model's place, such as an API error


@dataclass
class Response:
    """One response of the model, as far as it is known."""

    message_id: str
    model: str
    usage: Usage
    text: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    tool_ids: list[str] = field(default_factory=list)


class Responses:
    """Puts responses together from the CLI's messages; each message id is given out once."""

    def __init__(self) -> None:
        self._open: dict[str, Response] = {}
        self._given: set[str] = set()
        self._streaming: dict[str | None, str] = {}
        """The response that is being streamed, for the main conversation (None) and each subagent."""

    def take(self, message: Message) -> list[Response]:
        """Take in a message; returns the responses that are complete by it."""
        if isinstance(message, StreamEvent):
            return list(self._take_event(message.event, message.parent_tool_use_id))
        if isinstance(message, AssistantMessage):
            done = (
                self.flush(message.message_id) if message.message_id not in self._streaming.values() else []
            )
            self._take_blocks(message)
            return done
        return self.flush() if isinstance(message, ResultMessage) else []

    def flush(self, keep: str | None = None) -> list[Response]:
        """Give out what is open, such as a response that came without a stream, or one that was cut off."""
        done = [response for key, response in self._open.items() if key != keep]
        self._given |= {response.message_id for response in done}
        self._open = {key: response for key, response in self._open.items() if key == keep}
        return done

    def _take_event(self, event: Mapping[str, Any], parent: str | None) -> Iterator[Response]:
        if event["type"] == "message_start":
            message = event["message"]
            self._streaming[parent] = message["id"]
            if message["id"] not in self._given:
                self._open[message["id"]] = Response(
                    message["id"], message["model"], read_usage(message["usage"])
                )
        response = self._open.get(self._streaming.get(parent, ""))
        if response is None:
            return
        if event["type"] == "message_delta":
            response.usage = read_usage(event["usage"], response.usage)
        elif event["type"] == "message_stop":
            del self._open[response.message_id]
            self._given.add(response.message_id)
            yield response

    def _take_blocks(self, message: AssistantMessage) -> None:
        key = message.message_id
        if key is None or key in self._given or message.model == _SYNTHETIC:
            return
        response = self._open.setdefault(key, Response(key, message.model, read_usage(message.usage or {})))
        for block in message.content:
            if isinstance(block, TextBlock):
                response.text.append(block.text)
            elif isinstance(block, ToolUseBlock):
                response.tools.append(block.name)
                response.tool_ids.append(block.id)


def read_usage(wire: Mapping[str, Any], earlier: Usage | None = None) -> Usage:
    """Tokens by class from the service's own usage object.

    Args:
        wire: `usage` of a message, or of a `message_delta`, whose counts are cumulative and may be left out.
        earlier: what was known before; it fills in what `wire` leaves out.
    """
    before = earlier or Usage()
    written = wire.get("cache_creation_input_tokens")
    parts = wire.get("cache_creation") or {}
    hour = parts.get("ephemeral_1h_input_tokens", before.cache_write_1h)
    total = before.cache_write_5m + before.cache_write_1h if written is None else written
    return Usage(
        input=_given(wire, "input_tokens", before.input),
        output=_given(wire, "output_tokens", before.output),
        cache_read=_given(wire, "cache_read_input_tokens", before.cache_read),
        cache_write_5m=parts.get("ephemeral_5m_input_tokens", total - hour),
        cache_write_1h=hour,
    )


def usage_usd(prices: PriceBook, model: str, usage: Usage) -> dict[str, float] | None:
    """What each token class of a response costs by the price book, in US dollars; None if the book lacks the model."""
    price = prices.model(model)
    if price is None:
        return None
    return {name: getattr(usage, name) * getattr(price, name) / 1e6 for name in Usage.model_fields}


def _given(wire: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = wire.get(name)
    return otherwise if value is None else int(value)
