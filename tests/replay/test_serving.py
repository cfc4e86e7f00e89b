import asyncio
import stat
from pathlib import Path

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from agentmig.replay.serving import loopback_socket, serve, unix_socket


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", hello)])


def test_an_app_answers_on_a_port_and_no_longer_afterwards() -> None:
    async def scenario() -> tuple[str, bool]:
        listener = loopback_socket()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with httpx2.AsyncClient() as client:
            async with serve(APP, listener):
                text = (await client.get(url)).text
            try:
                await client.get(url)
            except httpx2.ConnectError:
                return text, True
            return text, False

    assert asyncio.run(scenario()) == ("hello", True)


def test_an_app_answers_on_a_unix_socket_of_this_user(tmp_path: Path) -> None:
    async def scenario() -> str:
        path = tmp_path / "s"
        transport = httpx2.AsyncHTTPTransport(uds=str(path))
        async with serve(APP, unix_socket(path)), httpx2.AsyncClient(transport=transport) as client:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            return (await client.get("http://inside/")).text

    assert asyncio.run(scenario()) == "hello"
