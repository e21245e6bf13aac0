"""How a command listens: take the address first, then serve an application until a signal comes.

Bounds what uvicorn leaves open: the size and the time of a request's head, and what may follow a body.

Knows sockets, signals and uvicorn; knows nothing of what it serves.
"""

import asyncio
import errno
import signal
import socket
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from astra_mcp.errors import ConfigError, PortInUseError

__all__ = ["bind", "listen", "run_until_stopped", "url_of"]

BACKLOG = 2048
KEEP_ALIVE_SECONDS = 600
"""Agents think between two calls; the usual 5 s would drop their connections."""
MAX_HEAD_BYTES = 64 << 10
"""Above the gate's own limit on headers, whose answer explains itself."""
HEAD_SECONDS = 30.0
"""Within so many seconds a connection must have sent its first head, and each head that it began."""
_TOO_LARGE = b"431 Request Header Fields Too Large"
_TOO_SLOW = b"408 Request Timeout"
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
async def listen(
    app: ASGIApp, listener: socket.socket, *, head_seconds: float = HEAD_SECONDS
) -> AsyncGenerator[None]:
    """Serve an application on a socket while the context is open; then finish what is under way.

    The application's lifespan belongs to the caller.

    Args:
        app: Answers the requests.
        listener: From :func:`bind`.
        head_seconds: A connection whose request head takes longer is closed.
    """

    class Connection(_Connection):
        head_deadline = head_seconds

    server = _Server(
        uvicorn.Config(
            app,
            http=Connection,
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
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
            task_status.started()
            stopped_by = await anext(aiter(received))
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        await group.start(watch)
        await serve()
        group.cancel_scope.cancel()
    return stopped_by


class _Connection(HttpToolsProtocol):
    """Refuses heads and trailers that grow too large while they arrive, and heads that take too long.

    Tells every request, not only the last one, when its client is gone; so nobody answers it.
    """

    head_deadline = HEAD_SECONDS
    _is_in_head = False
    _bytes_in_vain = 0
    """Since the last piece of a body or the last complete head."""
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unanswered: deque[RequestResponseCycle] = deque()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all requests under way; uvicorn tells the last one alone."""
        self._stop_timer()
        self._forget_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what is neither a body nor a complete head."""
        self._bytes_in_vain += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._bytes_in_vain > MAX_HEAD_BYTES:
            self._give_up(_TOO_LARGE)
        elif (
            self._timer is None
            and self.timeout_keep_alive_task is None
            and not self._is_answering()
        ):
            self._expect_head()  # line ends before a request, which begin none

    def on_message_begin(self) -> None:
        """Expect the rest of the head."""
        self._is_in_head = True
        if self._timer is None:
            self._expect_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head; one after the body would pass for one that was checked."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass the request on; the gate limits the body."""
        self._is_in_head = False
        self._bytes_in_vain = 0
        self._stop_timer()
        super().on_headers_complete()
        while self._unanswered and self._unanswered[0].response_complete:
            self._unanswered.popleft()
        self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Start to count anew."""
        self._bytes_in_vain = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Start to count anew; what follows is another request."""
        self._bytes_in_vain = 0
        super().on_message_complete()

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(self.head_deadline, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        if self._is_answering():
            self._expect_head()  # nothing is read meanwhile; it is not the client who is late
        elif self._is_in_head:
            self._give_up(_TOO_SLOW)
        else:
            self.transport.close()

    def _is_answering(self) -> bool:
        return any(not cycle.response_complete for cycle in self._unanswered)

    def _give_up(self, status: bytes) -> None:
        """Close the connection; say why where that cannot be taken for the answer to another request."""
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        is_next = waiting == ([] if self._is_in_head else [self.cycle])
        if is_next and not any(cycle.response_started for cycle in waiting):
            self.transport.write(
                b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status
            )
        self._forget_requests()
        self.transport.close()

    def _forget_requests(self) -> None:
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self._unanswered.clear()
        self.pipeline.clear()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command, whose resources must be closed in order."""
        yield
