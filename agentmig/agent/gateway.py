"""What the CLI talks to: the played script, or a proxy that reaches Anthropic's service and nothing else.

Behind the wall the CLI has no network. A Unix socket is bound in, and a forwarder inside listens on its
loopback. The API key stays out here: the CLI gets a token that only this gateway knows, and the proxy puts
the key in its place.
"""

import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agentmig.agent.service import Service
from agentmig.execution.isolation import Isolation
from agentmig.replay.endpoint import Endpoint
from agentmig.replay.serving import loopback_socket, serve, unix_socket
from agentmig.replay.wire import error_body

PORT_INSIDE = 4180
"""Where the forwarder listens inside; free, because the sandbox has a network of its own."""

_HOP_BY_HOP = {"connection", "host", "keep-alive", "content-length", "transfer-encoding", "te", "upgrade"}
_CREDENTIALS = {"x-api-key", "authorization"}


@dataclass(frozen=True)
class Gateway:
    """An open gateway.

    Attributes:
        base_url: what the CLI is told; behind the wall, the forwarder's address.
        token: what the CLI sends as its key.
        socket: the Unix socket that is bound in; None without isolation.
        endpoint: the script that is played; None for the live service.
    """

    base_url: str
    token: str
    socket: Path | None
    endpoint: Endpoint | None

    @property
    def failure(self) -> str | None:
        """Why the script can't go on, in words for people; None while all is well."""
        return self.endpoint.failure if self.endpoint else None


@asynccontextmanager
async def open_gateway(isolation: Isolation, words: Endpoint | Service) -> AsyncIterator[Gateway]:
    """Serve the model's words to the CLI for as long as the block runs: all sessions of one migration.

    Args:
        isolation: decides between a Unix socket (behind the wall) and a loopback port.
        words: the endpoint that plays a script, or the live service.
    """
    token = secrets.token_urlsafe(24)
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=900), trust_env=True) as client:
        endpoint = words if isinstance(words, Endpoint) else None
        app = words.app if isinstance(words, Endpoint) else _proxy(words, token, client)
        if isolation.mode == "none":
            listener = loopback_socket()
            async with serve(app, listener):
                yield Gateway(f"http://127.0.0.1:{listener.getsockname()[1]}", token, None, endpoint)
        else:
            # A folder of its own, because a socket's path must be short and a run's folder may lie deep.
            with tempfile.TemporaryDirectory(prefix="agentmig-") as folder:
                path = Path(folder).resolve() / "model"
                async with serve(app, unix_socket(path)):
                    yield Gateway(f"http://127.0.0.1:{PORT_INSIDE}", token, path, endpoint)


def _proxy(service: Service, token: str, client: httpx2.AsyncClient) -> Starlette:
    """Pass on the Messages requests alone: with the key, an agent must not reach files or batches."""

    async def forward(request: Request) -> Response:
        if not secrets.compare_digest(request.headers.get("x-api-key", ""), token):
            return JSONResponse(
                error_body("invalid_request_error", "agentmig: not a session of this run"), 401
            )
        headers = {
            name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP | _CREDENTIALS
        }
        outgoing = client.build_request(
            request.method,
            service.base_url.rstrip("/") + request.url.path,
            params=request.url.query,
            headers={**headers, "x-api-key": service.api_key},
            content=await request.body(),
        )
        try:
            answer = await client.send(outgoing, stream=True)
        except httpx2.TransportError as error:
            text = f"agentmig: {service.base_url} can't be reached: {error or type(error).__name__}"
            return JSONResponse(error_body("api_error", text), 502)
        return StreamingResponse(
            answer.aiter_raw(),
            status_code=answer.status_code,
            headers={name: value for name, value in answer.headers.items() if name not in _HOP_BY_HOP},
            background=BackgroundTask(answer.aclose),
        )

    async def greet(request: Request) -> Response:
        return Response(status_code=200)

    return Starlette(
        routes=[
            Route("/v1/messages", forward, methods=["POST"]),
            Route("/v1/messages/count_tokens", forward, methods=["POST"]),
            Route("/{path:path}", greet, methods=["HEAD"]),
        ]
    )
