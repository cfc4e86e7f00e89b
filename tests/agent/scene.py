"""A small repository with a worktree, and a session in it: the real Claude Code CLI, played words."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from git import Repo

from agentmig.agent.gateway import Gateway, open_gateway
from agentmig.agent.launch import Places
from agentmig.agent.session import Session, SessionSettings
from agentmig.agent.tools import ToolReply
from agentmig.execution.isolation import Isolation
from agentmig.journal.events import EventBase, Usage
from agentmig.journal.store import now
from agentmig.replay.endpoint import Endpoint
from agentmig.replay.script import Manifest, Script, ScriptedTurn, ToolCall
from agentmig.spec.prices import load_prices

MODEL = "claude-sonnet-4-5"
CLAIM = ("mcp__agentmig__claim_success", {"summary": "done"})


def turn(
    text: str,
    *calls: tuple[str, dict[str, Any]],
    expect: str | None = None,
    refuse: str | None = None,
    **tokens: int,
) -> ScriptedTurn:
    """A response of the played model."""
    tools = [ToolCall(name=name, input=given) for name, given in calls]
    usage = Usage(**tokens or {"input": 1, "output": 1})
    return ScriptedTurn(text=text, tool=tools, expect=expect, refuse=refuse, usage=usage)


def bash(command: str) -> tuple[str, dict[str, Any]]:
    """A call of Bash."""
    return "Bash", {"command": command}


class Tools:
    """A toolbox that remembers its calls."""

    def __init__(self, claim: Callable[[], ToolReply] | None = None):
        self.calls: list[tuple[Any, ...]] = []
        self._claim = claim or (lambda: ToolReply("recorded, end your turn", ends_turn=True))

    async def run_on_target(self, target: str, chips: int | None, command: str | None) -> ToolReply:
        self.calls.append((target, chips, command))
        return ToolReply("exit code 1: no such device", is_error=True)

    async def ask_human(self, question: str) -> ToolReply:
        self.calls.append((question,))
        return ToolReply("the person says yes")

    async def claim_success(self, summary: str, commit: str | None) -> ToolReply:
        self.calls.append((summary, commit))
        return self._claim()


@dataclass
class Scene:
    """A worktree and what happened in it."""

    folder: Path
    isolation: Isolation
    tools: Tools = field(default_factory=Tools)
    events: list[EventBase] = field(default_factory=list)
    may_continue: Callable[[], str | None] = lambda: None
    idle_s: float = 300.0
    protected: tuple[str, ...] = ("evaluate.py",)

    def __post_init__(self) -> None:
        project = Repo.init(self.folder / "project")
        (self.folder / "project/train.py").write_text("lr = 1\n")
        project.index.add(["train.py"])
        project.index.commit("base")
        project.git.worktree("add", "-b", "migration", str(self.worktree))
        project.close()

    @property
    def worktree(self) -> Path:
        return self.folder / "worktree"

    @property
    def transcript(self) -> Path:
        return self.folder / "run/transcript"

    def record(self, kind: type[EventBase], **fields: Any) -> None:
        """Stands in for the journal: validates each event as the journal does."""
        self.events.append(kind(seq=len(self.events) + 1, time=now(), **fields))

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def session(self, gateway: Gateway) -> Session:
        places = Places(
            self.worktree,
            self.folder / "project/.git",
            self.folder / "run/agent",
            hidden=(self.folder / "run",),
        )
        return Session(
            SessionSettings(
                places=places,
                transcript=self.transcript,
                model=MODEL,
                system="You migrate.",
                protected=self.protected,
                idle_s=self.idle_s,
            ),
            gateway=gateway,
            isolation=self.isolation,
            toolbox=self.tools,
            prices=load_prices(),
            on_event=self.record,
            may_continue=self.may_continue,
        )

    def endpoint(self, *turns: ScriptedTurn) -> Endpoint:
        manifest = Manifest(origin="authored", workload="w", model=MODEL, cli="2.1.332")
        script = Script(manifest=manifest, turn=list(turns), file=Path("transcripts/t/session.toml"))
        return Endpoint(script, self.worktree)

    @asynccontextmanager
    async def playing(self, endpoint: Endpoint) -> AsyncIterator[Session]:
        async with open_gateway(self.isolation, endpoint) as gateway:
            yield self.session(gateway)

    def play(self, endpoint: Endpoint, *prompts: str) -> list[Any]:
        """Hold a conversation: each prompt resumes the session of the one before."""

        async def scenario() -> list[Any]:
            ended: list[Any] = []
            async with self.playing(endpoint) as session:
                for prompt in prompts:
                    ended.append(await session.converse(prompt, ended[-1].session if ended else None))
            return ended

        return asyncio.run(scenario())

    def left_over(self) -> list[str]:
        """Command lines of processes that still have something to do with this scene."""
        found = []
        for process in psutil.process_iter():
            try:
                line = " ".join(process.cmdline())
                if (
                    process.pid != os.getpid()
                    and str(self.folder) in f"{line} {process.environ().get('PWD', '')}"
                ):
                    found.append(line)
            except psutil.Error:
                continue
        return found
