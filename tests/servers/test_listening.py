"""What a connection may do before and after a request's body; by hand, since HTTP clients behave."""

import asyncio
import gc
import logging
import math
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream
from starlette.types import Receive, Scope, Send

from astra_mcp.addresses import bind
from astra_mcp.serving.http.connections import (
    MAX_HEAD_BYTES,
    _CorkedTransport,  # pyright: ignore[reportPrivateUsage]
)
from astra_mcp.serving.http.server import listen

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
WAIT = GET.replace(b"/", b"/wait", 1)
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
DEADLINE_SECONDS = 30


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop of the commands; it takes writes to a lost connection for errors."""
    return "asyncio", {"use_uvloop": True}


@dataclass
class Told:
    """An application that answers with the names of the header fields; at ``/wait`` when it may."""

    port: int = 0
    reading: anyio.Event = field(default_factory=anyio.Event)
    begun: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    paths: list[str] = field(default_factory=list[str])

    async def connect(self) -> SocketStream:
        """Open a connection to it."""
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        self.reading.set()
        while message.get("more_body"):
            message = await receive()
        try:
            if message["type"] != "http.disconnect":
                await self._answer(scope, send)
        finally:
            self.ended.set()

    async def _answer(self, scope: Scope, send: Send) -> None:
        self.paths.append(scope["path"])
        if scope["path"] == "/wait":
            self.begun.set()
            await self.release.wait()
        body = b" ".join(name for name, _ in scope["headers"])
        length = str(len(body)).encode()
        start = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def listening(head_seconds: float = DEADLINE_SECONDS) -> AsyncGenerator[Told]:
    app = Told()
    with bind("127.0.0.1", 0) as listener, anyio.fail_after(DEADLINE_SECONDS):
        app.port = listener.getsockname()[1]
        async with listen(app, listener, head_seconds=head_seconds):
            yield app


async def answer_to(wire: SocketStream, data: bytes) -> bytes:
    """Send a request and read the body of its answer."""
    await wire.send(data)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await wire.receive()
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += await wire.receive()
    return body


async def all_of(wire: SocketStream) -> bytes:
    """Read until the server closes the connection."""
    return b"".join([chunk async for chunk in wire])


async def test_fields_after_the_body_are_no_headers_of_the_request() -> None:
    async with listening() as app, await app.connect() as wire:
        body = b"5;extension=1\r\nhello\r\n0\r\nAuthorization: x\r\nMcp-Name: y\r\n\r\n"
        assert await answer_to(wire, CHUNKED + body) == b"host transfer-encoding"
        assert await answer_to(wire, GET) == b"host"


async def send_for_ever(wire: SocketStream, piece: bytes) -> None:
    for _ in range(10_000):
        await wire.send(piece)


@pytest.mark.parametrize("piece", [b"X: y\r\n" * 1000, b"y" * 6000])
async def test_fields_after_the_body_that_never_end_are_refused(piece: bytes) -> None:
    async with listening() as app, await app.connect() as wire:
        await wire.send(CHUNKED + b"0\r\nX: ")
        with pytest.raises(anyio.BrokenResourceError):
            await send_for_ever(wire, piece)
        await app.ended.wait()
    assert app.paths == []


async def test_line_ends_that_never_end_are_refused() -> None:
    async with listening() as app, await app.connect() as wire:
        with pytest.raises(anyio.BrokenResourceError):
            await send_for_ever(wire, b"\r\n" * 3000)


async def test_the_refusal_of_large_fields_explains_itself() -> None:
    fields = b"X: %s\r\n" % (b"y" * MAX_HEAD_BYTES)
    async with listening() as app:
        async with await app.connect() as wire:
            await wire.send(GET[:-2] + fields)
            assert (await all_of(wire)).startswith(b"HTTP/1.1 431 ")
        async with await app.connect() as wire:
            await wire.send(CHUNKED + b"1\r\nx\r\n0\r\nX: y\r\n")
            await app.reading.wait()
            await wire.send(fields)
            assert (await all_of(wire)).startswith(b"HTTP/1.1 431 ")


async def test_small_chunks_may_have_more_around_them_than_a_head_may_have() -> None:
    chunks = b"1\r\nx\r\n" * MAX_HEAD_BYTES + b"0\r\n\r\n"
    async with listening() as app, await app.connect() as wire:
        assert await answer_to(wire, CHUNKED + chunks) == b"host transfer-encoding"


@pytest.mark.parametrize(
    ("beginning", "answer"),
    [(b"", b""), (b"\r\n", b""), (b"G", b"HTTP/1.1 408 "), (GET[:-2], b"HTTP/1.1 408 ")],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_head_that_does_not_come_is_not_waited_for(
    beginning: bytes, answer: bytes, is_first: bool
) -> None:
    async with listening(head_seconds=0.05) as app, await app.connect() as wire:
        if not is_first:
            await answer_to(wire, GET)
            beginning = beginning or b"\r\n"
        if beginning:
            await wire.send(beginning)
        found = await all_of(wire)
    assert found[: len(b"HTTP/1.1 408 ")] == answer


async def outlast(app: Told) -> None:
    """Wait until a connection that began now is closed because its head does not come."""
    async with await app.connect() as silent:
        assert await all_of(silent) == b""


async def test_a_connection_may_be_idle_between_two_requests() -> None:
    async with listening(head_seconds=0.05) as app, await app.connect() as wire:
        await answer_to(wire, GET)
        await outlast(app)
        await outlast(app)
        assert await answer_to(wire, GET) == b"host"


async def test_a_slow_answer_is_no_slow_head() -> None:
    async with listening(head_seconds=0.05) as app, await app.connect() as wire:
        await wire.send(WAIT + GET + GET[:9])  # the last is not even read before the first answer
        await app.begun.wait()
        await outlast(app)
        await outlast(app)
        app.release.set()
        assert (await all_of(wire)).count(b"HTTP/1.1 200 OK") == 2


async def test_a_client_that_leaves_early_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with listening() as app:
            async with await app.connect() as wire:
                await wire.send(WAIT + GET * 3)
                await app.begun.wait()
            # The server handles connections in turn: it knows that the first client is gone.
            async with await app.connect() as wire:
                await answer_to(wire, GET.replace(b"/", b"/other", 1))
            app.ended = anyio.Event()
            app.release.set()
            await app.ended.wait()
    assert caplog.records == []
    assert app.paths == ["/wait", "/other"]


async def test_what_is_written_to_a_client_that_has_just_gone_troubles_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    with theirs:
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
        corked = _CorkedTransport(transport, loop)
        transport.abort()
        corked.write(b"an answer")
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
    assert caplog.records == []


async def test_young_garbage_is_looked_for_seldom_and_old_soon_while_it_listens() -> None:
    of_tests, before = gc.get_threshold(), (700, 10, 10)
    gc.unfreeze()
    gc.set_threshold(*before)
    try:
        async with listening():
            young, *older = gc.get_threshold()
            assert young > before[0]
            assert young * math.prod(1 + times for times in older) < 500_000
            assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == before
        assert gc.get_freeze_count() == 0
    finally:
        gc.set_threshold(*of_tests)
