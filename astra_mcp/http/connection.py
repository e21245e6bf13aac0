"""HTTP/1.1 connections that are kept from request to request, parsed with ``httptools``.

What goes wrong is said in the words of ``httpx2``. Knows HTTP/1.1 and nothing of what it carries; no
redirects, no proxies.
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import cast

import anyio
import httptools
import httpx2

__all__ = [
    "HIGH_WATER_BYTES",
    "MAX_HEAD_BYTES",
    "AnswerHead",
    "HttpConnection",
    "RestingConnections",
    "connect",
]

MAX_HEAD_BYTES = 64 << 10
"""Of an answer."""
HIGH_WATER_BYTES = 256 << 10
"""So much of an answer is held before its reader takes it; then no more is read."""


@dataclass(slots=True)
class AnswerHead:
    """The head of an answer; no later byte of its connection changes it."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])


class HttpConnection(asyncio.Protocol):
    """One connection, with one request at a time; made by :func:`connect`."""

    def __init__(self) -> None:
        self._answer = AnswerHead()
        self._transport: asyncio.Transport | None = None
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._head_bytes = 0
        self._has_head = False
        self._is_over = True
        self._ends_with_connection = False
        self._is_paused = False
        self._fault: httpx2.TransportError | None = None
        self._moved: asyncio.Future[None] | None = None
        """Of whoever waits."""
        self._parser = httptools.HttpResponseParser(self)

    @property
    def is_reusable(self) -> bool:
        """True where the last answer is over, and the server keeps the connection."""
        return (
            self._is_over
            and self._fault is None
            and self._transport is not None
            and not self._transport.is_closing()
        )

    async def send(self, request: bytes) -> AnswerHead:
        """Send a request, and wait for the head of its answer."""
        if self._transport is None or self._transport.is_closing():
            raise httpx2.ConnectError("the connection was closed before the request")
        self._has_head = self._is_over = self._ends_with_connection = False
        self._head_bytes = self._held = 0
        self._parts.clear()  # of an answer that nobody read
        self._read_on()
        self._transport.write(request)
        while not self._has_head:
            await self._move()
        return self._answer

    async def body(self) -> AsyncGenerator[bytes]:
        """Give the body in the pieces in which it came."""
        while parts := await self.pieces():
            for part in parts:
                yield part

    async def pieces(self) -> list[bytes]:
        """Wait for more of the body, and give all that is there; nothing where it is over."""
        while not self._parts and not self._is_over:
            await self._move()
        parts = [*self._parts]
        self._parts.clear()
        self._held = 0
        self._read_on()
        return parts

    def close(self) -> None:
        """Close it; closing twice is allowed."""
        if self._transport is not None:
            self._transport.abort()

    def _read_on(self) -> None:
        if self._is_paused and self._held <= HIGH_WATER_BYTES and self._transport is not None:
            self._transport.resume_reading()
            self._is_paused = False

    async def _move(self) -> None:
        if self._fault is not None:
            raise self._fault
        self._moved = asyncio.get_running_loop().create_future()
        await self._moved

    def _tell(self) -> None:
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)

    # --- asyncio ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on in the answer; bytes that nobody asked for end the connection."""
        if self._is_over:  # nobody asked
            self._fail("the server spoke without being asked")
            return
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the server answered what is no HTTP ({error})")
        except httptools.HttpParserUpgrade:
            self._fail("the server changes to another protocol, for which it was not asked")
        if not self._has_head and self._head_bytes > MAX_HEAD_BYTES:
            self._fail(f"the head of the answer has more than {MAX_HEAD_BYTES >> 10} KiB")
        if self._held > HIGH_WATER_BYTES and self._transport is not None and not self._is_over:
            self._transport.pause_reading()
            self._is_paused = True
        self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        """End an answer that ends so, or tell who waits."""
        if exc is None and self._ends_with_connection:
            self._is_over = True
        if self._fault is None:
            said = "" if exc is None else f" ({exc})"
            kind = httpx2.ReadError if self._has_head else httpx2.RemoteProtocolError
            self._fault = kind(f"the server closed the connection{said}")
        self._tell()

    def _fail(self, why: str) -> None:
        self._fault = self._fault or httpx2.RemoteProtocolError(why)
        self.close()

    # --- httptools -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self._is_over:  # the answer stands; what came with it belongs to nothing
            self._fail("the server answered more than it was asked")
            return
        self._answer = AnswerHead()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a line to the head."""
        if not self._is_over:
            self._answer.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Hand the head on, unless it is an interim one."""
        if self._is_over:
            return
        self._answer.status = self._parser.get_status_code()
        self._has_head = self._answer.status >= 200
        names = {name.lower() for name, _ in self._answer.headers}
        self._ends_with_connection = not names & {b"content-length", b"transfer-encoding"}

    def on_body(self, body: bytes) -> None:
        """Hold a piece until it is read."""
        if self._is_over:
            return
        self._parts.append(body)
        self._held += len(body)

    def on_message_complete(self) -> None:
        """End the answer."""
        if self._is_over or not self._has_head:
            return  # 100 Continue and its like
        self._is_over = True
        if not self._parser.should_keep_alive():
            self._fault = self._fault or httpx2.ReadError("the server closed the connection")


async def connect(
    host: str, port: int, *, verify: ssl.SSLContext | None, seconds: float | None
) -> HttpConnection:
    """Connect to a server.

    Args:
        host: Name or address.
        port: Of it.
        verify: For TLS; None is without.
        seconds: Deadline.

    Raises:
        httpx2.ConnectError | httpx2.ConnectTimeout: There is no connection.
    """
    try:
        with anyio.fail_after(seconds):
            _, made = await asyncio.get_running_loop().create_connection(
                HttpConnection, host, port, ssl=verify
            )
    except TimeoutError:
        msg = f"no connection within {seconds} s"
        raise httpx2.ConnectTimeout(msg) from None
    except OSError as error:
        raise httpx2.ConnectError(str(error)) from error
    return made


class RestingConnections:
    """Connections to one origin between two requests; the one that rested least is taken first."""

    def __init__(self, *, max_kept: int, keep_seconds: float) -> None:
        """Begin with none.

        Args:
            max_kept: Connections that may rest.
            keep_seconds: One that rested longer is closed.
        """
        self._max_kept = max_kept
        self._keep_seconds = keep_seconds
        self._resting: deque[tuple[HttpConnection, float]] = deque()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._resting)

    def take(self) -> HttpConnection | None:
        """Give one that can be used at once; None where there is none."""
        now = time.monotonic()
        while self._resting and now - self._resting[0][1] > self._keep_seconds:
            self.close_oldest()
        while self._resting:
            connection, _ = self._resting.pop()
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    def put(self, connection: HttpConnection) -> None:
        """Let one rest, or close it where its answer is not over or enough do rest."""
        if self._is_closed or not connection.is_reusable or len(self) >= self._max_kept:
            connection.close()
            return
        self._resting.append((connection, time.monotonic()))

    def close_oldest(self) -> None:
        """Close the one that rested longest."""
        self._resting.popleft()[0].close()

    def close(self) -> None:
        """Close all, and those that are put here later; closing twice is allowed."""
        self._is_closed = True
        while self._resting:
            self.close_oldest()
