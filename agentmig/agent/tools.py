"""The three tools that the agent gets from us; what they do is the supervisor's business (`Toolbox`)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server, tool

SERVER = "agentmig"
BUILT_IN = ("Read", "Edit", "Write", "Bash", "Glob", "Grep")
"""Claude Code's own tools that exist in a session."""
OURS = tuple(f"mcp__{SERVER}__{name}" for name in ("run_on_target", "ask_human", "claim_success"))


@dataclass(frozen=True)
class ToolReply:
    """What a tool says to the model.

    Attributes:
        text: the words.
        is_error: the call failed, so that the model sees it as a failure.
        ends_turn: the agent must end its turn now; every further tool call of the stretch is refused.
    """

    text: str
    is_error: bool = False
    ends_turn: bool = False


class Toolbox(Protocol):
    """What the tools do."""

    async def run_on_target(self, target: str, chips: int | None, command: str | None) -> ToolReply:
        """Run the migrated code on a target, with its train command or another one."""
        ...

    async def ask_human(self, question: str) -> ToolReply:
        """Put a question to the person."""
        ...

    async def claim_success(self, summary: str, commit: str | None) -> ToolReply:
        """Take down the claim that a commit is a correct migration."""
        ...


Around = Callable[[Awaitable[ToolReply]], Awaitable[ToolReply]]
"""Runs one call of a tool: it knows that one of our tools is running, and what the reply was."""


def tool_server(toolbox: Toolbox, around: Around) -> McpSdkServerConfig:
    """The in-process MCP server of the three tools."""

    async def run_on_target(given: dict[str, Any]) -> dict[str, Any]:
        call = toolbox.run_on_target(given["target"], given.get("chips"), given.get("command"))
        return _content(await around(call))

    async def ask_human(given: dict[str, Any]) -> dict[str, Any]:
        return _content(await around(toolbox.ask_human(given["question"])))

    async def claim_success(given: dict[str, Any]) -> dict[str, Any]:
        return _content(await around(toolbox.claim_success(given["summary"], given.get("commit"))))

    return create_sdk_mcp_server(
        SERVER,
        tools=[
            _tool(run_on_target, _RUN_ON_TARGET, _RUN_ON_TARGET_INPUT, ["target"]),
            _tool(ask_human, _ASK_HUMAN, _ASK_HUMAN_INPUT, ["question"]),
            _tool(claim_success, _CLAIM_SUCCESS, _CLAIM_SUCCESS_INPUT, ["summary"]),
        ],
    )


def _tool(
    handler: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    description: str,
    properties: dict[str, Any],
    required: list[str],
) -> SdkMcpTool[Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return tool(handler.__name__, description, schema)(handler)


def _content(reply: ToolReply) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": reply.text}], "is_error": reply.is_error}


_RUN_ON_TARGET = (
    "Run your worktree as it stands on one of this migration's targets, in that target's own environment. What git "
    "ignores is left out, and protected files are the original's. Without `command` the project's train command runs. "
    "The reply holds the exit code, the end of the output, the time it took, what it cost, and what the quick checks "
    "found; a run that ends without an error can still be wrong. A run that takes long ends your turn, and its result "
    "opens the next one. Use it as often as it helps and as the budget allows; only a claim is verified."
)
_RUN_ON_TARGET_INPUT = {
    "target": {"type": "string", "description": "Name of the target, as the task lists it."},
    "chips": {
        "type": "integer",
        "minimum": 1,
        "description": "Number of chips; by default the target's own. Fewer is cheaper, but what is right on "
        "one chip can be wrong on several.",
    },
    "command": {
        "type": "string",
        "description": "Shell command to run in the project's folder instead of the train command, such as a "
        "short experiment. Placeholders: {seed}, {out}, {chips}.",
    },
}
_ASK_HUMAN = (
    "Ask the person who set up this migration. Their time is counted, so ask only what you can't find out or "
    "decide yourself: access, a choice about what the project is for, an ambiguity that changes the result. "
    "State what you know, what you would do without an answer, and one clear question."
)
_ASK_HUMAN_INPUT = {"question": {"type": "string", "description": "The whole question, in plain words."}}
_CLAIM_SUCCESS = (
    "Claim that a commit is a correct migration to every target. It is then verified from a fresh clone, "
    "with seeds that you don't know, on the intended configuration; your word counts for nothing and neither "
    "do your own runs. Commit everything first. After this call, end your turn: the outcome is your next "
    "message."
)
_CLAIM_SUCCESS_INPUT = {
    "summary": {
        "type": "string",
        "description": "What you changed and why it computes the same thing as the original.",
    },
    "commit": {"type": "string", "description": "The commit to verify; by default the worktree's HEAD."},
}
