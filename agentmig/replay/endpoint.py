"""The endpoint that answers Claude Code with a script instead of a model.

A turn is played only to a request that it is written for. Anything else is refused with an error that the CLI
doesn't retry, and remembered, so that a session can't go on past the point where its script stopped fitting.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anthropic.types import Message
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agentmig.journal.events import Usage
from agentmig.replay import wire
from agentmig.replay.script import Script, in_worktree

_SHOWN = 600
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


class Endpoint:
    """Plays a script over all CLI processes of one migration.

    Attributes:
        app: the ASGI application to serve (`agentmig.replay.serving`).
        played: how many turns were answered so far.
        usage: the tokens of those turns.
        side_requests: how many requests without tools got a canned answer; they are no turns and cost
            nothing.
        failure: what didn't fit the script, in words for people; None while all fits.
    """

    def __init__(self, script: Script, worktree: Path, played: int = 0):
        """Make an endpoint at the script's first turn, or after those that an earlier process played.

        Args:
            script: what to play.
            worktree: what `${worktree}` stands for: the session's working directory.
            played: how many turns were played before.
        """
        self.script = script
        self.played = played
        self.usage = Usage()
        self.side_requests = 0
        self.failure: str | None = None
        self._worktree = worktree
        self._answers: dict[str, Message] = {}
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
                Route("/{path:path}", self._greeting, methods=["HEAD", "GET"]),
            ]
        )

    @property
    def left(self) -> int:
        """How many turns of the script were not played."""
        return len(self.script.turn) - self.played

    def answer(self, body: Mapping[str, Any]) -> Message | None:
        """The response to a request; None if the script doesn't foresee it, and then `failure` says why.

        The same messages get the same response however often they are sent, since the CLI repeats a request
        whose answer it lost.
        """
        if not body.get("tools"):
            self.side_requests += 1
            return wire.message(self.script.manifest.model, "Migration to TPU", [], Usage())
        messages = body["messages"]
        key = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
        if key not in self._answers:
            if self.failure is not None or (objection := self._objection(messages)) is not None:
                self.failure = self.failure or objection
                return None
            turn = self.script.turn[self.played]
            calls = [(call.name, in_worktree(call.input, self._worktree)) for call in turn.tool]
            text = in_worktree(turn.text, self._worktree)
            self._answers[key] = wire.message(self.script.manifest.model, text, calls, turn.usage)
            self.played += 1
            self.usage += turn.usage
        return self._answers[key]

    def _objection(self, messages: list[dict[str, Any]]) -> str | None:
        heard = newest_user_text(messages)
        shown = heard if len(heard) <= _SHOWN else heard[:_SHOWN] + "…"
        if self.left == 0:
            return (
                f"{self.script.file}: the script has no turn left after turn {self.played}, but Claude Code "
                f"asked for one more. What came: {shown!r}"
            )
        objection = self.script.turn[self.played].objection(heard)
        if objection is None:
            return None
        number = f"turn {self.played + 1} of {len(self.script.turn)}"
        return f"{self.script.file}: {number} can't be played: {objection}. What came: {shown!r}"

    async def _messages(self, request: Request) -> Response:
        body = await request.json()
        headers = {"request-id": wire.identifier("req")}
        response = self.answer(body)
        if response is None:
            error = wire.error_body("invalid_request_error", f"agentmig replay: {self.failure}")
            return JSONResponse(error, 400, {**headers, "x-should-retry": "false"})
        if body.get("stream"):
            return StreamingResponse(
                wire.event_stream(response), media_type="text/event-stream", headers=headers
            )
        return JSONResponse(response.model_dump(mode="json", exclude_unset=True), headers=headers)

    async def _count_tokens(self, request: Request) -> Response:
        # An estimate is all that a script can give; the CLI uses it for its context display alone.
        return JSONResponse({"input_tokens": len(await request.body()) // 4})

    async def _greeting(self, request: Request) -> Response:
        return Response(status_code=200 if request.method == "HEAD" else 404)


def newest_user_text(messages: list[dict[str, Any]]) -> str:
    """All text that the user's side sent since the last response: messages and results of tools.

    Without the reminders that the CLI puts in by itself, which change from version to version.
    """
    newest: list[str] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":  # the CLI slips in messages of the role "system" as well
            newest.append("\n".join(_texts(message["content"])))
    return _REMINDER.sub("", "\n".join(reversed(newest))).strip()


def _texts(content: str | list[dict[str, Any]]) -> list[str]:
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for block in content:
        if block["type"] == "text":
            found.append(block["text"])
        elif block["type"] == "tool_result":
            found += _texts(block.get("content") or [])
    return found
