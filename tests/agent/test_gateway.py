"""The proxy is tried with the replay endpoint in the service's place."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentmig.agent.gateway import Gateway, open_gateway
from agentmig.agent.service import AgentError, Service, service_from
from agentmig.execution.isolation import Isolation, choose_isolation
from agentmig.journal.events import Turn, Usage
from agentmig.replay.serving import loopback_socket, serve
from tests.agent.scene import Scene, bash, turn

REQUEST = {
    "model": "m",
    "max_tokens": 9,
    "stream": True,
    "tools": [{"name": "Bash"}],
    "messages": [{"role": "user", "content": "go"}],
}


@asynccontextmanager
async def upstream(app: Starlette, api_key: str = "the-key") -> AsyncIterator[Service]:
    listener = loopback_socket()
    async with serve(app, listener):
        yield Service(api_key, f"http://127.0.0.1:{listener.getsockname()[1]}")


def test_a_live_session_goes_through_the_proxy_from_behind_the_wall(tmp_path: Path) -> None:
    scene = Scene(tmp_path, choose_isolation(allow_none=False))
    service = scene.endpoint(
        turn("I work.", bash("env"), output=70), turn("Done.", refuse="the-key", output=5)
    )

    async def scenario() -> str:
        async with upstream(service.app) as live, open_gateway(scene.isolation, live) as gateway:
            return (await scene.session(gateway).converse("go")).reason

    assert asyncio.run(scenario()) == "turn_ended"
    assert service.failure is None
    assert sum((event.usage for event in scene.of(Turn)), Usage()) == service.usage == Usage(output=75)


def test_the_key_is_put_in_on_the_way_and_only_messages_pass() -> None:
    seen: list[dict[str, str]] = []

    async def answer(request: Request) -> Response:
        seen.append({**request.headers, "query": request.url.query})
        return JSONResponse({"ok": json.loads(await request.body())["model"]}, 529, {"retry-after": "7"})

    async def scenario() -> list[httpx2.Response]:
        app = Starlette(routes=[Route("/{path:path}", answer, methods=["POST", "GET"])])
        async with (
            upstream(app) as live,
            open_gateway(Isolation("none"), live) as gateway,
            httpx2.AsyncClient(base_url=gateway.base_url) as cli,
        ):
            good = {"x-api-key": gateway.token, "authorization": "Bearer x", "anthropic-beta": "b"}
            return [
                await cli.post("/v1/messages?beta=true", json=REQUEST, headers=good),
                await cli.post("/v1/messages", json=REQUEST, headers={"x-api-key": "guess"}),
                await cli.post("/v1/messages/batches", json=REQUEST, headers=good),
                await cli.get("/v1/files", headers=good),
                await cli.head("/"),
            ]

    passed, *others = asyncio.run(scenario())
    assert (passed.status_code, passed.json(), passed.headers["retry-after"]) == (529, {"ok": "m"}, "7")
    assert [response.status_code for response in others] == [401, 405, 405, 200]
    (headers,) = seen
    assert (headers["x-api-key"], headers["anthropic-beta"], headers["query"]) == (
        "the-key",
        "b",
        "beta=true",
    )
    assert "authorization" not in headers


def test_a_service_out_of_reach_is_said() -> None:
    async def scenario() -> httpx2.Response:
        listener = loopback_socket()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.close()
        async with (
            open_gateway(Isolation("none"), Service("k", address)) as gateway,
            httpx2.AsyncClient(base_url=gateway.base_url) as cli,
        ):
            return await cli.post("/v1/messages", json=REQUEST, headers={"x-api-key": gateway.token})

    response = asyncio.run(scenario())
    assert response.status_code == 502
    assert "can't be reached" in response.json()["error"]["message"]


def test_without_a_key_and_a_script_there_is_a_clear_error() -> None:
    with pytest.raises(AgentError, match=r"ANTHROPIC_API_KEY is not set.*--play"):
        service_from({})
    assert service_from({"ANTHROPIC_API_KEY": "k"}) == Service("k", "https://api.anthropic.com")
    assert service_from({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://x"}).base_url == "http://x"


def test_a_gateway_without_a_script_never_fails_by_it() -> None:
    assert Gateway("http://x", "t", None, None).failure is None
