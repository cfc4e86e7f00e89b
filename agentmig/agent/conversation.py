"""What happens between a message of ours and the end of the agent's turn, and what is made of it.

`Conversation` turns the CLI's messages into events, answers the guard hook, watches over our tools, and
decides when the stretch must stop. Starting and ending processes is the business of `session`.
"""

import json
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, Message, ResultMessage, SystemMessage

from agentmig.agent.guard import judge
from agentmig.agent.responses import Response, Responses, usage_usd
from agentmig.agent.tools import ToolReply
from agentmig.journal.events import SessionStarted, ToolDenied, Turn, Usage
from agentmig.spec.prices import PriceBook

Reason = Literal["turn_ended", "limit", "idle", "error"]
OnEvent = Callable[..., object]
"""Shaped as `Journal.append`: the event's class, then its fields by name."""
MayContinue = Callable[[], str | None]
"""Asked before each tool call and after each response: None, or why the session must stop."""

_RECORDING_S = 30.0
_RESPONSES_AFTER_THE_END = 3
_SHOWN = 2000


@dataclass(frozen=True)
class Stop:
    """Why we ended a stretch that the agent would have gone on with."""

    reason: Reason
    detail: str


@dataclass(frozen=True)
class Terms:
    """What a conversation is held under.

    Attributes:
        cwd: the agent's worktree.
        config_dir: the CLI's configuration folder.
        protected: paths and globs that must not change.
        prices: what responses are counted with.
        on_event: takes each event, before anything follows from it.
        may_continue: see `MayContinue`.
    """

    cwd: Path
    config_dir: Path
    protected: Sequence[str]
    prices: PriceBook
    on_event: OnEvent
    may_continue: MayContinue


class Conversation:
    """One stretch, as it goes on.

    Attributes:
        session: id of the session; of the one that is resumed until the CLI has named the new one.
        started: the CLI has named the session.
        model: the model that answered last, by its own word.
        turns: how many distinct responses there were.
        usage: their tokens.
        result: the CLI's own closing message.
        stop: set when the stretch must end; `stopping` is then set too.
        failure: an exception of our own side (a journal that can't be written, a broken tool); raised at the
            end.
        active: when something was last heard of the agent, on anyio's clock.
    """

    def __init__(self, terms: Terms, prompt: str, resumed: str | None):
        self.session = resumed or ""
        self.started = False
        self.model: str | None = None
        self.turns = 0
        self.usage = Usage()
        self.result: ResultMessage | None = None
        self.stop: Stop | None = None
        self.stopping = anyio.Event()
        self.failure: Exception | None = None
        self.active = anyio.current_time()
        self._terms = terms
        self._prompt = prompt
        self._resumed = resumed
        self._responses = Responses()
        self._recorded: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self._denied: set[str] = set()
        self._tools_running = 0
        self._turn_over = False
        self._after_the_end = 0

    def silence(self) -> float:
        """Seconds since the agent was last heard of; 0 while one of our tools works for it."""
        return 0.0 if self._tools_running else anyio.current_time() - self.active

    def halt(self, reason: Reason, detail: str) -> None:
        """End the stretch; the first reason stays."""
        self.stop = self.stop or Stop(reason, detail)
        self.stopping.set()

    def fail(self, error: Exception) -> None:
        """End the stretch because our own side is broken."""
        self.failure = self.failure or error
        self.halt("error", f"agentmig itself failed: {error}")

    def take(self, message: Message) -> None:
        """Take in a message of the CLI."""
        self.active = anyio.current_time()
        try:
            self._take(message)
        except Exception as error:
            self.fail(error)
            raise

    def close(self) -> None:
        """Record the responses that were cut off; the CLI says nothing more."""
        for response in self._responses.flush():
            self._record(response)

    async def guard(self, call: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        """The PreToolUse hook: every tool call passes through it."""
        assert call["hook_event_name"] == "PreToolUse"
        self.active = anyio.current_time()
        # The CLI starts tools while the response is still coming; the response is put on record first. A
        # connection that broke meanwhile must not hold the tool for ever.
        with anyio.move_on_after(_RECORDING_S):
            await self._recorded[call["tool_use_id"]].wait()
        try:
            reason = self._objection(call["tool_name"], call["tool_input"])
            if reason is None:
                return {}
            self._denied.add(call["tool_use_id"])
            self._deny(call["tool_name"], call["tool_input"], reason)
        except Exception as error:
            self.fail(error)
            raise
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }

    async def around(self, call: Awaitable[ToolReply]) -> ToolReply:
        """Run one of our tools; its failure ends the stretch, for the model can't do anything about it."""
        self._tools_running += 1
        try:
            reply = await call
        except Exception as error:
            self.fail(error)
            raise
        finally:
            self._tools_running -= 1
            self.active = anyio.current_time()
        self._turn_over = self._turn_over or reply.ends_turn
        return reply

    def _take(self, message: Message) -> None:
        if isinstance(message, SystemMessage) and message.subtype == "init" and not self.started:
            self._start(message.data)
        for response in self._responses.take(message):
            self._record(response)
        if isinstance(message, ResultMessage):
            self.result = message
            for denial in message.permission_denials or []:
                if denial["tool_use_id"] not in self._denied:
                    self._deny(
                        denial["tool_name"], denial["tool_input"], "Claude Code's own permission rules"
                    )

    def _objection(self, name: str, given: Mapping[str, Any]) -> str | None:
        if self._turn_over:
            return "Recorded; end your turn now. Nothing further is done in this turn."
        if self.stop is None and (reason := self._terms.may_continue()) is not None:
            self.halt("limit", reason)
        if self.stop is not None:
            return f"The session is being stopped: {self.stop.detail}"
        return judge(name, given, self._terms.cwd, self._terms.protected)

    def _deny(self, tool: str, given: Mapping[str, Any], reason: str) -> None:
        text = json.dumps(given, ensure_ascii=False)
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        self._terms.on_event(ToolDenied, tool=tool, reason=reason, input=shown)

    def _start(self, data: Mapping[str, Any]) -> None:
        self.session = data["session_id"]
        self.started = True
        self._terms.on_event(
            SessionStarted,
            session=self.session,
            resumed=self._resumed,
            cwd=str(self._terms.cwd),
            config_dir=str(self._terms.config_dir),
            cli_version=data.get("claude_code_version", "unknown"),
            prompt=self._prompt,
        )

    def _record(self, response: Response) -> None:
        self.turns += 1
        self.usage += response.usage
        self.model = response.model
        dollars = usage_usd(self._terms.prices, response.model, response.usage)
        self._terms.on_event(
            Turn,
            session=self.session,
            message_id=response.message_id,
            model=response.model,
            text="\n".join(response.text),
            tools=response.tools,
            usage=response.usage,
            usd=None if dollars is None else math.fsum(dollars.values()),
            usd_by_class=dollars or {},
        )
        for tool_use_id in response.tool_ids:
            self._recorded[tool_use_id].set()
        if self._turn_over:
            self._after_the_end += 1
            if self._after_the_end > _RESPONSES_AFTER_THE_END:
                self.halt(
                    "turn_ended", "the agent was told to end its turn and went on, so it was interrupted"
                )
        elif response.tools and (reason := self._terms.may_continue()) is not None:
            self.halt("limit", reason)
