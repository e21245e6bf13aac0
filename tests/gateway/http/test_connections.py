"""What our client makes of a gateway's bytes, on real sockets, whatever a server or a proxy sends."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import orjson
import pytest
from anyio.abc import SocketAttribute, SocketStream

from astra_mcp.errors import TransportError
from gateway.api import client, connections
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError
from gateway.api.connections import Connections, open_http
from gateway.api.wire import CALL_ID_KEY, EpisodeRequest

KEY = "a control key of this test"
REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "purse"}})
RESULT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}'
NO_FIELDS: dict[str, str] = {}
JSON = b"Content-Type: application/json\r\n"


def sized(body: bytes, *, status: bytes = b"200 OK", fields: bytes = JSON) -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, fields, len(body), body)


def chunked(body: bytes, fields: bytes = JSON) -> bytes:
    pieces = b"".join(b"%x\r\n%s\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    return b"HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % (fields, pieces)


@dataclass
class Scripted:
    """Answers each request with the next bytes; the last ones answer the rest."""

    answers: list[bytes]
    url: str = ""
    num_connections: int = 0
    most_at_once: int = 0
    requests: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    """Head and body of each."""
    gate: anyio.Event | None = None
    """No answer is sent before it is set."""
    waiting: int = 0

    async def serve(self, stream: SocketStream) -> None:
        """Answer the requests of one connection; bytes that say so end it."""
        self.num_connections += 1
        buffered = b""
        async with stream:
            try:
                while True:
                    while b"\r\n\r\n" not in buffered:
                        buffered += await stream.receive()
                    head, _, buffered = buffered.partition(b"\r\n\r\n")
                    length = int(
                        head.lower().partition(b"content-length: ")[2].split(b"\r")[0] or 0
                    )
                    while len(buffered) < length:
                        buffered += await stream.receive()
                    self.requests.append((head, buffered[:length]))
                    buffered = buffered[length:]
                    answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                    await self._wait()
                    await stream.send(answer.removesuffix(CUT))
                    if answer.endswith(CUT):
                        return
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async def _wait(self) -> None:
        self.waiting += 1
        self.most_at_once = max(self.most_at_once, self.waiting)
        if self.gate is not None:
            await self.gate.wait()
        self.waiting -= 1


CUT = b"<the connection is closed here>"


@asynccontextmanager
async def speaking(*answers: bytes, port: int = 0) -> AsyncGenerator[tuple[Scripted, Connections]]:
    """Listen while the context is open."""
    server = Scripted(list(answers))
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener,
        anyio.create_task_group() as group,
        open_http() as http,
    ):
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - no Django
        server.url = f"http://127.0.0.1:{port}"
        group.start_soon(partial(listener.serve, server.serve))
        with anyio.fail_after(20):
            yield server, http
        group.cancel_scope.cancel()


def call_ids(server: Scripted) -> list[str]:
    bodies = (orjson.loads(body) for _, body in server.requests)
    return [body["params"]["_meta"][CALL_ID_KEY] for body in bodies]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (sized(RESULT), True),
        (chunked(RESULT), True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + sized(RESULT), True),
        (b"HTTP/1.1 200 OK\r\n%s\r\n%s" % (JSON, RESULT) + CUT, False),
        (sized(RESULT, fields=b"Connection: close\r\n"), False),
        (sized(RESULT) + sized(b"more than was asked for"), False),
    ],
    ids=["sized", "chunked", "interim", "until the end", "closed", "more than asked"],
)
async def test_an_answer_is_whole_in_every_framing_and_its_connection_is_used_again(
    answer: bytes, *, kept: bool
) -> None:
    async with speaking(answer) as (server, http):
        for _ in range(3):
            assert (await http.send("POST", server.url, {}, b"{}")).body == RESULT
        assert server.num_connections == (1 if kept else 3)


@pytest.mark.parametrize(
    "broken",
    [
        sized(RESULT)[:-9] + CUT,
        chunked(RESULT)[:-9] + CUT,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (65 << 10),
        b"<html>this is no HTTP</html>\r\n\r\n",
        sized(
            b"", status=b"101 Switching Protocols", fields=b"Upgrade: x\r\nConnection: upgrade\r\n"
        ),
        CUT,
    ],
    ids=["body cut", "chunk cut", "head too large", "no HTTP", "upgrade", "no answer"],
)
async def test_a_call_is_repeated_by_its_id_after_a_broken_answer_and_a_creation_is_not(
    broken: bytes,
) -> None:
    async with speaking(broken, sized(RESULT)) as (server, http):
        result = await EpisodeClient(f"{server.url}/mcp", http).call("look", {})
        assert result.text == "done"
        assert len(call_ids(server)) == 2
        assert len(set(call_ids(server))) == 1
    async with speaking(broken) as (server, _), GatewayClient(server.url, KEY) as control:
        with pytest.raises(TransportError, match="no answer"):
            await control.create_episode(REQUEST)
        assert len(server.requests) == 1


async def test_a_server_error_that_says_when_is_asked_again_for_a_call_alone() -> None:
    busy = sized(b"{}", status=b"502 Bad Gateway", fields=b"Retry-After: 0\r\n")
    date = sized(
        b"{}", status=b"503 Later", fields=b"Retry-After: Wed, 01 Jan 2020 00:00:00 GMT\r\n"
    )
    async with speaking(busy, date, sized(RESULT)) as (server, http):
        assert (await EpisodeClient(f"{server.url}/mcp", http).call("look", {})).text == "done"
        assert len(set(call_ids(server))) == 1
    async with speaking(busy) as (server, _), GatewayClient(server.url, KEY) as control:
        with pytest.raises(RefusedError):
            await control.create_episode(REQUEST)
        assert len(server.requests) == 1


async def test_a_pause_that_is_longer_than_the_patience_is_an_error_at_once() -> None:
    away = sized(b"{}", status=b"503 Later", fields=b"Retry-After: 86400\r\n")
    async with speaking(away) as (server, http):
        with pytest.raises(TransportError):
            await EpisodeClient(f"{server.url}/mcp", http).call("look", {})
        assert len(server.requests) == 1


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_the_result_is_found_behind_the_notifications_of_a_stream(
    *, is_chunked: bool
) -> None:
    note = (
        b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n'
    )
    stream = b": hello\n\n" + note + b"id: 7\ndata: " + RESULT + b"\n\n"
    fields = b"Content-Type: text/event-stream; charset=utf-8\r\n"
    answer = chunked(stream, fields) if is_chunked else sized(stream, fields=fields)
    async with speaking(answer) as (server, http):
        assert (await EpisodeClient(f"{server.url}/mcp", http).call("look", {})).text == "done"
    empty = sized(note, fields=b"Content-Type: text/event-stream\r\n")
    async with speaking(empty) as (server, http):
        with pytest.raises(TransportError, match="not understood"):
            await EpisodeClient(f"{server.url}/mcp", http).call("look", {})


async def test_a_gateway_that_was_reached_is_waited_for_and_one_that_never_was_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused, created, connect = anyio.Event(), anyio.Event(), connections.connect

    async def connect_or_note(*args: Any, **options: Any) -> Any:
        try:
            return await connect(*args, **options)
        except httpx2.ConnectError:
            refused.set()
            raise

    async def create(control: GatewayClient) -> None:
        assert await control.create_episodes([]) == []
        created.set()

    monkeypatch.setattr(connections, "connect", connect_or_note)
    monkeypatch.setattr(client, "RECONNECT_SECONDS", 600.0)
    async with speaking(sized(b"[]")) as (server, _):
        url = server.url
    async with GatewayClient(url, KEY) as stranger:
        with anyio.fail_after(20), pytest.raises(TransportError, match="is `astra-mcp serve`"):
            await stranger.create_episodes([])
    refused, port = anyio.Event(), int(url.rpartition(":")[2])
    async with GatewayClient(url, KEY) as control, anyio.create_task_group() as group:
        async with speaking(sized(b"[]", fields=JSON + b"Connection: close\r\n"), port=port):
            assert await control.servers() == []
        group.start_soon(create, control)
        with anyio.fail_after(20):
            await refused.wait()
        async with speaking(sized(b"[]"), port=port) as (server, _):
            await created.wait()
            assert len(server.requests) == 1


async def test_no_more_connections_are_open_than_allowed_and_the_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    async with speaking(sized(RESULT)) as (server, http):
        server.gate = anyio.Event()
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(http.send, "POST", server.url, NO_FIELDS, b"{}")
            while server.waiting < 3:
                await anyio.lowlevel.checkpoint()
            server.gate.set()
        assert (len(server.requests), server.most_at_once, server.num_connections) == (12, 3, 3)


async def test_a_request_that_is_given_up_leaves_nothing_to_the_next_one() -> None:
    async with speaking(sized(b'"late"'), sized(RESULT)) as (server, http):
        server.gate = anyio.Event()
        with anyio.move_on_after(0.05):
            await http.send("POST", server.url, {}, b"{}")
        server.gate.set()
        assert (await http.send("POST", server.url, {}, b"{}")).body == RESULT
        assert server.num_connections == 2


async def test_an_answer_larger_than_the_bound_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_BODY_BYTES", 1 << 20)
    async with speaking(sized(b" " * (2 << 20))) as (server, http):
        with pytest.raises(httpx2.RemoteProtocolError, match="more than 1 MiB"):
            await http.send("GET", server.url, {})


@pytest.mark.parametrize("key", ["a\r\nX-Other: b", "a\nb", "schlüssel", "a\0b"])
async def test_a_key_that_no_header_can_carry_is_sent_nowhere_and_not_repeated(key: str) -> None:
    async with speaking(sized(b"[]")) as (server, _), GatewayClient(server.url, key) as control:
        with pytest.raises(TransportError, match="header of the request") as failed:
            await control.servers()
        assert key not in str(failed.value)
        assert server.requests == []


URLS: Sequence[str] = ("ftp://h/x", "http://", "http://h:99999/", "http://u:p@h/", "http://h/a b")


@pytest.mark.parametrize("url", URLS)
async def test_what_is_no_address_is_an_error_that_does_not_repeat_it(url: str) -> None:
    async with open_http() as http:
        with pytest.raises(TransportError, match="address of the gateway") as failed:
            await http.send("GET", url, {})
        assert url not in str(failed.value)
