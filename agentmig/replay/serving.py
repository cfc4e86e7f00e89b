"""An ASGI application on a socket, for as long as a block of code runs."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave Ctrl-C to the program that this server is a part of."""
        yield


def unix_socket(path: Path) -> socket.socket:
    """A Unix socket for this user alone; its path must be shorter than the system's 108 bytes."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    return listener


def loopback_socket() -> socket.socket:
    """A TCP socket on a free port of 127.0.0.1."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    return listener


@asynccontextmanager
async def serve(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    """Answer requests on a bound socket until the block ends; open answers are then cut off."""
    # A request that is cut off by Ctrl-C ends in an exception, which uvicorn would print over what people are told.
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    server = _Server(config)
    listener.listen(
        64
    )  # from here on a client waits instead of being refused, so nobody has to wait for the server
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
        listener.close()
