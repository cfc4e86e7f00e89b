"""The live service that speaks for the model, as the environment names it."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentmig.errors import AgentmigError

_ANTHROPIC = "https://api.anthropic.com"


class AgentError(AgentmigError):
    """The agent can't be started."""


@dataclass(frozen=True)
class Service:
    """A live Messages service and the key for it."""

    api_key: str
    base_url: str = _ANTHROPIC


def service_from(environ: Mapping[str, str]) -> Service:
    """The live service that the environment names (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`).

    Raises:
        AgentError: there is no key.
    """
    key = environ.get("ANTHROPIC_API_KEY", "")
    if not key:
        raise AgentError(
            "there is nobody to speak for the model: ANTHROPIC_API_KEY is not set. Set it to let Claude "
            "work, or name a session to play with --play transcripts/NAME"
        )
    return Service(key, environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC)
