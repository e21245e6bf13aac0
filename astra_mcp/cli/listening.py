"""How a command listens: take the address first, then serve an application until a signal comes.

Knows sockets, signals and uvicorn; knows nothing of what it serves.
"""

import errno
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from astra_mcp.errors import ConfigError, PortInUseError

__all__ = ["bind", "listen", "run_until_stopped", "url_of"]

BACKLOG = 2048
KEEP_ALIVE_SECONDS = 600
"""Agents think between two calls; the usual 5 s would drop their connections."""
MAX_HEAD_BYTES = 64 << 10
"""Above the gate's own limit on headers, whose answer explains itself."""
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)
GRACE_SECONDS = 3
"""How long answers under way may take after the stop."""


def bind(host: str, port: int) -> socket.socket:
    """Take an address; clients may connect from now on.

    Args:
        host: A name or an address.
        port: 0 takes any free one.

    Raises:
        PortInUseError: Another program listens there.
        ConfigError: The host is none of this machine's, or the port is privileged.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            msg = (
                f"port {port} on {host} is in use: stop the program that listens there,"
                " or choose another with --port (0 takes any free one)"
            )
            raise PortInUseError(msg) from None
        msg = f"cannot listen on {host} port {port}: {error.strerror or error}; check --host and --port"
        raise ConfigError(msg) from None


def url_of(listener: socket.socket, path: str = "") -> str:
    """Name the URL under which a client on this machine reaches a listening socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"


@asynccontextmanager
async def listen(app: ASGIApp, listener: socket.socket) -> AsyncGenerator[None]:
    """Serve an application on a socket while the context is open; then finish what is under way.

    The application's lifespan belongs to the caller.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http=_BoundedHead,
            ws="none",
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

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        try:
            yield
        finally:
            server.should_exit = True
            with anyio.move_on_after(GRACE_SECONDS + 2, shield=True):
                await stopped.wait()


async def run_until_stopped(serve: Callable[[], Awaitable[None]]) -> signal.Signals | None:
    """Serve until the work ends by itself, or the user or the system asks the process to stop.

    Signals are heard from before ``serve`` begins, so it may tell others that it runs.

    Returns:
        The signal that stopped it; None where it ended by itself.
    """
    stopped_by: signal.Signals | None = None

    async def watch(*, task_status: TaskStatus[None]) -> None:
        nonlocal stopped_by
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            task_status.started()
            stopped_by = await anext(aiter(received))
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        await group.start(watch)
        await serve()
        group.cancel_scope.cancel()
    return stopped_by


class _BoundedHead(HttpToolsProtocol):
    """Refuses a request head that grows too large while it still arrives, before it fills the memory."""

    _is_in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Count the bytes of an unfinished head."""
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start to count."""
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting; the gate limits the body."""
        self._is_in_head = False
        super().on_headers_complete()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command, whose resources must be closed in order."""
        yield
