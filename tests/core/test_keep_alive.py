"""HTTP over kept connections, on real sockets, against servers that say exactly what a test wants."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from astra_mcp.http.connection import HIGH_WATER_BYTES, MAX_HEAD_BYTES
from astra_mcp.http.keep_alive import KeepAliveTransport

Answer = Callable[[SocketStream, int], Awaitable[bool]]
"""Answers the n-th request of a connection; False closes it."""
TIMEOUT = {"timeout": {"connect": 5.0}}


class Scripted:
    """A server that takes requests without bodies, and answers as it was told."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.heads: list[bytes] = []

    def request(self, method: str = "GET", **headers: str) -> httpx2.Request:
        """A request to it."""
        url = f"http://127.0.0.1:{self.port}/mcp?x=1"
        return httpx2.Request(method, url, headers=headers, extensions=TIMEOUT)


@asynccontextmanager
async def scripted(answer: Answer) -> AsyncGenerator[Scripted]:
    """Listen while the context is open."""
    server = Scripted()

    async def handle(stream: SocketStream) -> None:
        server.connections += 1
        buffered = b""
        number = 0
        async with stream:
            try:
                while True:
                    while b"\r\n\r\n" not in buffered:
                        buffered += await stream.receive()
                    head, _, buffered = buffered.partition(b"\r\n\r\n")
                    server.heads.append(head)
                    if not await answer(stream, number):
                        return
                    number += 1
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        server.port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - no database here
        group.start_soon(listener.serve, handle)
        yield server
        group.cancel_scope.cancel()


@asynccontextmanager
async def transport(*, keep_seconds: float = 60.0) -> AsyncGenerator[KeepAliveTransport]:
    """Close it at the end."""
    opened = KeepAliveTransport(None, max_kept=2, keep_seconds=keep_seconds)
    try:
        yield opened
    finally:
        await opened.aclose()


async def read(response: httpx2.Response) -> bytes:
    """Read an answer to its end, and give the connection back."""
    body = await response.aread()
    await response.aclose()
    return body


def said(body: bytes, *fields: bytes) -> bytes:
    """An answer with a body of known length."""
    length = b"content-length: %d" % len(body)
    return b"\r\n".join([b"HTTP/1.1 200 OK", length, *fields, b"", b""]) + body


def always(*parts: bytes, stays: bool = True) -> Answer:
    """Answer each request in these parts; the connection stays open or not."""

    async def answer(stream: SocketStream, _: int) -> bool:
        for part in parts:
            await stream.send(part)
        return stays

    return answer


async def counting(stream: SocketStream, number: int) -> bool:
    """Answer with the number of the request."""
    await stream.send(said(b"answer %d" % number))
    return True


async def ask(sending: KeepAliveTransport, server: Scripted) -> bytes:
    """Send a request, and read its answer to the end."""
    return await read(await sending.handle_async_request(server.request()))


async def test_requests_in_turn_share_one_connection() -> None:
    async with scripted(counting) as server, transport() as sending:
        bodies = [await ask(sending, server) for _ in range(2)]
        unread = await sending.handle_async_request(server.request())
        await unread.aclose()
        bodies.append(await ask(sending, server))  # which has nothing of the one before
    assert bodies == [b"answer 0", b"answer 1", b"answer 3"]
    assert server.connections == 1
    assert server.heads[0].startswith(b"GET /mcp?x=1 HTTP/1.1\r\n")


async def test_requests_at_once_take_connections_of_their_own() -> None:
    first, second = anyio.Event(), anyio.Event()

    async def answer(stream: SocketStream, number: int) -> bool:
        (second if first.is_set() else first).set()
        await second.wait()
        return await always(said(b"both are here"))(stream, number)

    async with scripted(answer) as server, transport() as sending:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(sending.handle_async_request, server.request())
        assert server.connections == 2


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (b"content-length: 5\r\n\r\nhello", b"hello"),
        (b"transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
        (b"\r\nhello", b"hello"),
        (b"content-length: 0\r\n\r\n", b""),
    ],
    ids=["length", "chunks", "end of the connection", "empty"],
)
@pytest.mark.parametrize("is_slow", [False, True], ids=["at once", "byte by byte"])
async def test_a_body_is_read_as_it_is_framed(wire: bytes, body: bytes, is_slow: bool) -> None:
    message = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + wire
    parts = [message[i : i + 1] for i in range(len(message))] if is_slow else [message]
    async with scripted(always(*parts, stays=False)) as server, transport() as sending:
        response = await sending.handle_async_request(server.request())
        assert (response.status_code, await read(response)) == (200, body)


@pytest.mark.parametrize(
    "wire",
    [b"", b"HTTP/1.1 200", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000],
    ids=["nothing", "half a head", "garbage", "a head without end"],
)
async def test_what_is_no_answer_fails_as_one_whose_fate_is_unknown(wire: bytes) -> None:
    assert len(wire) < 2 * MAX_HEAD_BYTES
    async with (
        scripted(always(*[wire] * bool(wire), stays=False)) as server,
        transport() as sending,
    ):
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await sending.handle_async_request(server.request())


async def test_a_body_that_breaks_off_fails() -> None:
    half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"
    async with scripted(always(half, stays=False)) as server, transport() as sending:
        response = await sending.handle_async_request(server.request())
        with pytest.raises(httpx2.ReadError):
            await response.aread()


async def test_a_connection_with_an_unread_answer_is_not_used_again() -> None:
    async def answer(stream: SocketStream, number: int) -> bool:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
        return number == 0

    async with scripted(answer) as server, transport() as sending:
        await (await sending.handle_async_request(server.request())).aclose()
        await (await sending.handle_async_request(server.request())).aclose()
        assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "keep_seconds"),
    [(always(said(b"bye", b"connection: close")), 60.0), (counting, -1.0)],
    ids=["the server ends it", "it rested too long"],
)
async def test_a_connection_is_not_used_again(answer: Answer, keep_seconds: float) -> None:
    async with scripted(answer) as server, transport(keep_seconds=keep_seconds) as sending:
        for _ in range(2):
            await ask(sending, server)
        assert server.connections == 2


async def test_bytes_that_nobody_asked_for_answer_no_later_request() -> None:
    answer = always(said(b"ok") + said(b"smuggled"))
    async with scripted(answer) as server, transport() as sending:
        for _ in range(2):
            assert await ask(sending, server) != b"smuggled"


@pytest.mark.parametrize(
    "further",
    [
        b"HTTP/1.1 404 Gone\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 307 There\r\nlocation: /x\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        b"HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-evil: 1",
        b"garbage",
        b"H",
    ],
)
@pytest.mark.parametrize("closes", [False, True])
async def test_what_is_behind_an_answer_changes_nothing_of_it(further: bytes, closes: bool) -> None:
    close = b"connection: close\r\n" if closes else b""
    head = b"HTTP/1.1 200 OK\r\nx-good: 1\r\n" + close + b"content-length: 4\r\n\r\n"
    async with scripted(always(head + b"good" + further)) as server, transport() as sending:
        for _ in range(2):
            response = await sending.handle_async_request(server.request())
            assert (response.status_code, await read(response)) == (200, b"good")
            assert "x-good" in response.headers
            assert not {"x-evil", "location", "upgrade"} & set(response.headers)
        assert server.connections == 2


async def test_a_change_of_the_protocol_is_refused_with_words() -> None:
    change = b"HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
    async with scripted(always(change)) as server, transport() as sending:
        with pytest.raises(httpx2.RemoteProtocolError, match="another protocol"):
            await sending.handle_async_request(server.request())


async def test_a_reader_that_lags_behind_holds_the_server_back() -> None:
    sent = 0
    total = 64 * HIGH_WATER_BYTES

    async def answer(stream: SocketStream, number: int) -> bool:
        nonlocal sent
        del number
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total)
        for _ in range(64):
            await stream.send(b"x" * HIGH_WATER_BYTES)
            sent += HIGH_WATER_BYTES
        return True

    async with scripted(answer) as server, transport() as sending:
        response = await sending.handle_async_request(server.request())
        await anyio.wait_all_tasks_blocked()
        assert sent < total
        assert len(await read(response)) == total


async def test_nothing_was_sent_where_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        async with transport() as sending:
            with pytest.raises(httpx2.ConnectError):
                await sending.handle_async_request(httpx2.Request("GET", url, extensions=TIMEOUT))


async def test_a_header_cannot_begin_another() -> None:
    async with scripted(always(said(b"ok"))) as server, transport() as sending:
        with pytest.raises(httpx2.LocalProtocolError, match="line end"):
            await sending.handle_async_request(server.request(name="a\r\nx-key: stolen"))
        assert server.connections == 0


def certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1 that signs itself, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    shown = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "certificate.pem"
    file.write_bytes(shown + made.public_bytes(pem))
    return file


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_https_reaches_those_alone_whose_certificate_is_trusted(
    tmp_path: Path, is_trusted: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    shown = certificate(tmp_path)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(shown)
    verify = ssl.create_default_context(cafile=str(shown) if is_trusted else None)
    sending = KeepAliveTransport(verify, max_kept=1, keep_seconds=60.0)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    request = httpx2.Request("GET", url, extensions=TIMEOUT)
    async with server:
        if is_trusted:
            assert await read(await sending.handle_async_request(request)) == b"ok"
        else:
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await sending.handle_async_request(request)
        await sending.aclose()
