"""How a command listens: take the address first, then serve an application until a signal comes.

Knows sockets and uvicorn; knows nothing of what it serves.
"""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from starlette.types import ASGIApp

from astra_mcp.addresses import BACKLOG, bind, url_of
from astra_mcp.serving.http.connections import HEAD_SECONDS, Connection, Server
from astra_mcp.serving.http.crowd import Crowd
from astra_mcp.serving.http.drain import Drain, is_listening
from astra_mcp.serving.http.memory import keeping_house

__all__ = ["Listener", "bind", "listen", "url_of"]

KEEP_ALIVE_SECONDS = 600
"""Agents think between two calls; the usual 5 s would drop their connections."""
GRACE_SECONDS = 3
"""How long answers under way may take after the stop."""


class Listener:
    """A socket that is answered; made by :func:`listen`."""

    def __init__(self, server: Server, door: Drain) -> None:
        self._server = server
        self._door = door

    @property
    def draining(self) -> anyio.Event:
        """Set when :meth:`drain` begins."""
        return self._door.closed

    async def drain(self, seconds: float, *, keep_accepting: bool) -> bool:
        """Finish the requests under way, and take no further ones.

        Idle connections and streams are closed at once. Further requests are refused with 503, which says
        that nothing was done; health checks are answered.

        Args:
            seconds: How long to wait for the requests under way.
            keep_accepting: Take further connections, to refuse their requests; else leave them to
                whoever shares the socket.

        Returns:
            True where nothing is left under way.
        """
        self._door.close()
        if not keep_accepting:
            for server in self._server.servers:
                server.close()
        self._server.let_go(self._door.is_stream)
        with anyio.move_on_after(seconds):
            await self._door.wait_empty()
            return True
        return False

    def abort(self) -> None:
        """Break all connections now; who waits for an answer asks again."""
        self._server.abort()


@asynccontextmanager
async def listen(
    app: ASGIApp,
    listener: socket.socket,
    *,
    head_seconds: float = HEAD_SECONDS,
    max_connections: int | None = None,
) -> AsyncGenerator[Listener]:
    """Serve an application on a socket while the context is open; then finish what is under way.

    The application's lifespan belongs to the caller.

    Args:
        app: Answers the requests.
        listener: From :func:`~astra_mcp.addresses.bind`.
        head_seconds: A connection whose request head takes longer is closed.
        max_connections: Beyond so many, those that nobody waits at are closed, the oldest first; where
            none is left, the next one is answered 503.
    """

    class BoundedConnection(Connection):
        head_deadline = head_seconds
        crowd = Crowd(max_connections)

    door = Drain(app, is_listening)
    server = Server(
        uvicorn.Config(
            door,
            http=BoundedConnection,
            ws="none",
            proxy_headers=False,  # who is behind a proxy says so by serve.public_url
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    stopped = anyio.Event()

    async def serve() -> None:
        try:
            await server.serve([listener])
        finally:
            stopped.set()

    with keeping_house(door.activity) as house:
        door.hear_end = house.hear_end
        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            try:
                yield Listener(server, door)
            finally:
                server.let_go(is_listening)
                server.stop()
                with anyio.move_on_after(GRACE_SECONDS + 2, shield=True):
                    await stopped.wait()
