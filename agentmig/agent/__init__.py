"""Claude Code as the migrating agent: its session, the three tools it gets from us, its guard, prompts and
usage.

`gateway` is what the CLI talks to instead of the network, `launch` starts the CLI behind the wall, `session`
holds one stretch of conversation, `responses` counts what the model said, `tools` and `guard` are what it may
do, `transcript` keeps a copy of its own record, `reaping` sees to it that nothing is left of it, `prompts`
renders what it is told.
"""

from agentmig.agent.gateway import Gateway, Service, open_gateway, service_from
from agentmig.agent.launch import Places
from agentmig.agent.prompts import render
from agentmig.agent.session import Ended, Session, SessionSettings
from agentmig.agent.tools import Toolbox, ToolReply

__all__ = [
    "Ended",
    "Gateway",
    "Places",
    "Service",
    "Session",
    "SessionSettings",
    "ToolReply",
    "Toolbox",
    "open_gateway",
    "render",
    "service_from",
]
