"""HTTP/1.1 over kept connections, for the many small requests that a relay sends to one origin.

A transport of ``httpx2`` that parses with ``httptools``. The default one looks through its whole pool for
every request, and through every byte once more. Knows HTTP/1.1 and nothing of what it carries; no
redirects, no proxies.
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import anyio
import httptools
import httpx2

__all__ = ["KeepAliveTransport"]

MAX_HEAD_BYTES = 64 << 10
"""Of an answer."""
HIGH_WATER_BYTES = 256 << 10
"""So much of an answer is held before its reader takes it; then no more is read."""


class KeepAliveTransport(httpx2.AsyncBaseTransport):
    """Sends requests to one origin; the connection that rested least is used first.

    Of the timeouts of a request ``connect`` is kept; whoever waits for an answer bounds that himself.
    """

    def __init__(
        self, verify: ssl.SSLContext | None, *, max_kept: int, keep_seconds: float
    ) -> None:
        """Connect to nobody yet.

        Args:
            verify: For ``https``.
            max_kept: Connections that may rest.
            keep_seconds: One that rested longer is closed.
        """
        self._verify = verify
        self._max_kept = max_kept
        self._keep_seconds = keep_seconds
        self._resting: deque[tuple[_Wire, float]] = deque()
        self._is_closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and answer once the head of its answer is there.

        Raises:
            httpx2.ConnectError | httpx2.ConnectTimeout: Nothing was sent.
            httpx2.ReadError | httpx2.RemoteProtocolError: Whether it arrived, nobody knows.
        """
        body = await request.aread()
        wire = self._rested() or await self._connect(request)
        is_answered = False
        try:
            answer = await wire.send(_head(request) + body)
            is_answered = True
        finally:
            if not is_answered:
                wire.close()
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(self, wire), request=request
        )

    def rest(self, wire: "_Wire") -> None:
        """Take a connection back, whose answer is over, or close it."""
        if self._is_closed or not wire.is_reusable or len(self._resting) >= self._max_kept:
            wire.close()
            return
        self._resting.append((wire, time.monotonic()))

    async def aclose(self) -> None:
        """Close what rests; the others are closed with their answers."""
        self._is_closed = True
        while self._resting:
            self._resting.pop()[0].close()

    def _rested(self) -> "_Wire | None":
        now = time.monotonic()
        while self._resting and now - self._resting[0][1] > self._keep_seconds:
            self._resting.popleft()[0].close()
        while self._resting:
            wire, _ = self._resting.pop()
            if wire.is_reusable:
                return wire
            wire.close()
        return None

    async def _connect(self, request: httpx2.Request) -> "_Wire":
        url = request.url
        is_secure = url.scheme == "https"
        seconds = request.extensions.get("timeout", {}).get("connect")
        try:
            with anyio.fail_after(seconds):
                _, wire = await asyncio.get_running_loop().create_connection(
                    _Wire,
                    url.host,
                    url.port or (443 if is_secure else 80),
                    ssl=self._verify if is_secure else None,
                )
        except TimeoutError:
            msg = f"no connection within {seconds} s"
            raise httpx2.ConnectTimeout(msg, request=request) from None
        except OSError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        return wire


class _Body(httpx2.AsyncByteStream):
    """The rest of an answer; gives its connection back."""

    def __init__(self, transport: KeepAliveTransport, wire: "_Wire") -> None:
        self._transport = transport
        self._wire: _Wire | None = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._wire is not None:
            async for part in self._wire.body():
                yield part

    async def aclose(self) -> None:
        """Leave the connection to the next request, or close it where its answer is not over."""
        wire, self._wire = self._wire, None
        if wire is not None:
            self._transport.rest(wire)


@dataclass(slots=True)
class _Answer:
    """The head of an answer; no later byte of its connection changes it."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])


class _Wire(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self._answer = _Answer()
        self._transport: asyncio.Transport | None = None
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._head_bytes = 0
        self._has_head = False
        self._is_over = True
        self._ends_with_connection = False
        self._is_paused = False
        self._fault: httpx2.TransportError | None = None
        self._moved = anyio.Event()
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

    async def send(self, request: bytes) -> _Answer:
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
        while True:
            while self._parts:
                part = self._parts.popleft()
                self._held -= len(part)
                self._read_on()
                yield part
            if self._is_over:
                return
            await self._move()

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
        self._moved = anyio.Event()
        await self._moved.wait()

    # --- asyncio ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
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
        self._moved.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None and self._ends_with_connection:
            self._is_over = True
        if self._fault is None:
            said = "" if exc is None else f" ({exc})"
            kind = httpx2.ReadError if self._has_head else httpx2.RemoteProtocolError
            self._fault = kind(f"the server closed the connection{said}")
        self._moved.set()

    def _fail(self, why: str) -> None:
        self._fault = self._fault or httpx2.RemoteProtocolError(why)
        self.close()

    # --- httptools -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_over:  # the answer stands; what came with it belongs to nothing
            self._fail("the server answered more than it was asked")
            return
        self._answer = _Answer()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_over:
            self._answer.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._is_over:
            return
        self._answer.status = self._parser.get_status_code()
        self._has_head = self._answer.status >= 200
        names = {name.lower() for name, _ in self._answer.headers}
        self._ends_with_connection = not names & {b"content-length", b"transfer-encoding"}

    def on_body(self, body: bytes) -> None:
        if self._is_over:
            return
        self._parts.append(body)
        self._held += len(body)

    def on_message_complete(self) -> None:
        if self._is_over or not self._has_head:
            return  # 100 Continue and its like
        self._is_over = True
        if not self._parser.should_keep_alive():
            self._fault = self._fault or httpx2.ReadError("the server closed the connection")


def _head(request: httpx2.Request) -> bytes:
    """Write the head of a request.

    Raises:
        httpx2.LocalProtocolError: A header would end its line, and begin one of its own.
    """
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%s: %s" % field for field in request.headers.raw]
    if any(b"\r" in line or b"\n" in line or b"\0" in line for line in lines):
        msg = "a header holds a line end"
        raise httpx2.LocalProtocolError(msg, request=request)
    return b"\r\n".join([*lines, b"", b""])
