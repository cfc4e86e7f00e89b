"""Claude Code's session: stretches of conversation, each from a message of ours to the end of the agent's
turn.

The CLI is started for a stretch and gone after it, with all that it started. A later stretch resumes the
session in a fresh process and forks it, so that no two processes ever write one record.
"""

import contextlib
import json
import logging
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import anyio
import anyio.to_thread
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher

from agentmig.agent.conversation import Conversation, MayContinue, OnEvent, Reason, Terms
from agentmig.agent.gateway import Gateway
from agentmig.agent.launch import Places, write_launcher
from agentmig.agent.reaping import Stretch, agents_own
from agentmig.agent.tools import BUILT_IN, SERVER, Toolbox, tool_server
from agentmig.agent.transcript import TranscriptCopy
from agentmig.execution.isolation import Isolation
from agentmig.journal.events import SessionEnded, Usage
from agentmig.spec.prices import PriceBook

# The SDK logs what it also raises, and that becomes the detail of how a stretch ended.
logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)

_TICK_S = 0.5
_GRACE_S = 10.0
_MAX_LINE = 256 * 1024 * 1024
_SETTINGS = {"attribution": {"commit": "", "pr": ""}, "cleanupPeriodDays": 36500}


@dataclass(frozen=True)
class SessionSettings:
    """What stays the same over all stretches of a session.

    Attributes:
        places: worktree, repository and private folder.
        transcript: where the copies of Claude Code's record go.
        model: the model to ask for.
        system: added to Claude Code's own system prompt.
        protected: paths and globs, relative to the worktree, that the guard keeps from being edited.
        idle_s: silence after which the session is ended; time in our own tools doesn't count.
        env: more environment variables for the agent's processes.
    """

    places: Places
    transcript: Path
    model: str
    system: str
    protected: tuple[str, ...] = ()
    idle_s: float = 900.0
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a stretch ended. Nothing here says that the agent's work is good: only a verification does.

    Attributes:
        reason: `turn_ended`: the agent is done with this message; `limit`: `may_continue` said no; `idle`:
            nothing was heard of it; `error`: the service, the script or the CLI failed.
        session: what a later stretch resumes; empty if the CLI never started.
        detail: why, in words for people; empty if the turn just ended.
        api_error: the service (or the script in its place) answered with an error.
        model: the model that answered, by its own word; None if none did.
        turns: number of distinct responses.
        usage: their tokens.
        text: the agent's closing words.
        cli_usd: the CLI's own figure for this stretch; None if it gave none.
        processes_killed: what the agent had started and left running.
    """

    reason: Reason
    session: str
    detail: str
    api_error: bool
    model: str | None
    turns: int
    usage: Usage
    text: str
    cli_usd: float | None
    processes_killed: int


class _Why(TypedDict):
    reason: Reason
    detail: str
    api_error: bool


class Session:
    """Claude Code in one worktree, for one migration."""

    def __init__(
        self,
        settings: SessionSettings,
        *,
        gateway: Gateway,
        isolation: Isolation,
        toolbox: Toolbox,
        prices: PriceBook,
        on_event: OnEvent,
        may_continue: MayContinue,
    ):
        """Prepare a session; nothing starts before `converse`.

        Args:
            settings: what stays the same.
            gateway: what the CLI talks to; must stay open.
            isolation: how the CLI is kept apart from the machine.
            toolbox: what our three tools do.
            prices: what responses are counted with.
            on_event: takes each event, as `Journal.append` does.
            may_continue: asked before each tool call and after each response that calls one.
        """
        places = settings.places
        self._settings = settings
        self._gateway = gateway
        self._isolation = isolation
        self._toolbox = toolbox
        self._on_event = on_event
        self._terms = Terms(
            places.worktree, places.config_dir, settings.protected, prices, on_event, may_continue
        )
        self._copy = TranscriptCopy(places.config_dir, settings.transcript)

    def has(self, session: str) -> bool:
        """Whether the CLI still has its record of a session, so that it can be resumed."""
        return any(self._settings.places.config_dir.glob(f"projects/*/{session}.jsonl"))

    async def converse(self, prompt: str, resume: str | None = None) -> Ended:
        """Send a message and wait for the end of the agent's turn; no process of it is left afterwards.

        Args:
            prompt: the message, delivered word for word.
            resume: the session to go on with (`Ended.session` of the stretch before); None starts a new one.

        Raises:
            Exception: what `on_event`, `may_continue` or the toolbox raised; the session was ended first.
        """
        places = self._settings.places
        places.folder.mkdir(parents=True, exist_ok=True)
        stretch = Stretch(uuid.uuid4().hex, places.folder / "cli.pid")
        stretch.pid_file.unlink(missing_ok=True)
        talk = Conversation(self._terms, prompt, resume)
        said = deque[str](maxlen=40)
        launcher = write_launcher(places, self._isolation, self._gateway, stretch, self._settings.env)
        client = ClaudeSDKClient(self._options(talk, launcher, resume, said.append))
        before = _usd_before(places.config_dir, resume)
        trouble = "the session was cancelled"
        try:
            trouble = await self._listen(client, talk, prompt)
        finally:
            with anyio.CancelScope(shield=True):
                killed = await self._end(client, stretch, orderly=talk.result is not None)
            talk.close()
            ended = self._conclude(talk, "\n".join([trouble, *said]), before, killed)
        if talk.failure is not None:
            raise talk.failure
        return ended

    def _options(
        self, talk: Conversation, launcher: Path, resume: str | None, stderr: Callable[[str], None]
    ) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(
            cli_path=launcher,
            cwd=self._settings.places.worktree,
            model=self._settings.model,
            system_prompt={"type": "preset", "preset": "claude_code", "append": self._settings.system},
            setting_sources=[],
            settings=json.dumps(_SETTINGS),
            tools=list(BUILT_IN),
            allowed_tools=[*BUILT_IN, f"mcp__{SERVER}"],
            permission_mode="acceptEdits",
            strict_mcp_config=True,
            mcp_servers={SERVER: tool_server(self._toolbox, talk.around)},
            hooks={"PreToolUse": [HookMatcher(hooks=[talk.guard], on_failure="block", timeout=600)]},
            resume=resume,
            fork_session=resume is not None,
            include_partial_messages=True,
            verbatim_prompts=True,
            max_buffer_size=_MAX_LINE,
            stderr=stderr,
        )

    async def _listen(self, client: ClaudeSDKClient, talk: Conversation, prompt: str) -> str:
        """Hold the conversation; returns what to say if the CLI gave no result."""
        trouble = ""
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as listening:
                tasks.start_soon(self._watch, client, talk, listening)
                try:
                    await client.connect()
                    await client.query(prompt)
                    async for message in client.receive_response():
                        talk.take(message)
                    trouble = "Claude Code ended without a result"
                except Exception as error:  # the SDK raises bare exceptions for what the CLI reports
                    trouble = f"Claude Code failed: {error}"
            tasks.cancel_scope.cancel()
        return trouble

    async def _watch(self, client: ClaudeSDKClient, talk: Conversation, listening: anyio.CancelScope) -> None:
        """Copy the record as it grows, notice silence, and stop a stretch that must stop."""
        while not talk.stopping.is_set():
            with anyio.move_on_after(_TICK_S):
                await talk.stopping.wait()
            try:
                await anyio.to_thread.run_sync(self._copy.sweep)
            except OSError as error:
                talk.fail(error)
            if (silence := talk.silence()) > self._settings.idle_s:
                talk.halt("idle", f"nothing was heard of Claude Code for {silence:.0f} s")
        with anyio.move_on_after(_GRACE_S), contextlib.suppress(Exception):
            await (
                client.interrupt()
            )  # fails where the CLI is gone or not yet there; then there is nothing to stop
            await anyio.sleep(_GRACE_S)
        listening.cancel()

    async def _end(self, client: ClaudeSDKClient, stretch: Stretch, orderly: bool) -> int:
        """End every process and copy the rest of the record; returns how many the agent had left.

        A CLI that has given its result is let close its record first. Any other is ended at once: it would take the
        end of our tools for an answer and go on asking the model.
        """
        own = agents_own(await anyio.to_thread.run_sync(stretch.members))
        if not orderly:
            await anyio.to_thread.run_sync(stretch.reap)
        await client.disconnect()
        await anyio.to_thread.run_sync(stretch.reap)
        await anyio.to_thread.run_sync(self._copy.sweep, True)
        return len(own)

    def _conclude(self, talk: Conversation, trouble: str, before: float, killed: int) -> Ended:
        result = talk.result
        total = result.total_cost_usd if result else None
        ended = Ended(
            session=talk.session,
            model=talk.model,
            turns=talk.turns,
            usage=talk.usage,
            text=(result.result or "") if result else "",
            cli_usd=None if total is None else total - before,
            processes_killed=killed,
            **self._why(talk, trouble),
        )
        self._on_event(
            SessionEnded,
            session=ended.session,
            reason=ended.reason,
            detail=ended.detail,
            cli_usd=ended.cli_usd,
            processes_killed=killed,
        )
        return ended

    def _why(self, talk: Conversation, trouble: str) -> _Why:
        result = talk.result
        # An API failure can come as a "success" that is an error; a refused request leaves its status.
        api_error = result is not None and result.is_error and result.subtype == "success"
        if self._gateway.failure is not None:
            return {"reason": "error", "detail": self._gateway.failure, "api_error": True}
        if talk.stop is not None:
            return {"reason": talk.stop.reason, "detail": talk.stop.detail, "api_error": api_error}
        if result is None:
            return {"reason": "error", "detail": trouble, "api_error": False}
        if result.is_error or result.subtype != "success":
            said = result.result or "; ".join(result.errors or []) or result.subtype
            return {"reason": "error", "detail": f"Claude Code reports: {said}", "api_error": api_error}
        return {"reason": "turn_ended", "detail": "", "api_error": False}


def _usd_before(config_dir: Path, resume: str | None) -> float:
    """Where the CLI's running total stood when it last wrote the resumed session; it goes on from there."""
    total = 0.0
    for record in config_dir.glob(f"projects/*/{resume}.jsonl"):
        with record.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith('{"type":"cost-state"'):
                    total = float(json.loads(line)["totalCostUSD"])
    return total
