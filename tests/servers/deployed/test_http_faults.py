"""Servers at URLs that answer what they should not: each call is executed once, and its fate is told."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from astra_mcp.errors import UpstreamError
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.transports import streamable
from servers.deployed.transports.events import EventReader

from deployed_workshop import answering, event_response, found, online, session, text_of, until

Call = Callable[[Request, JsonObject], Awaitable[Response]]


class Faulty:
    """A server of the handshake era that answers the calls as told."""

    def __init__(self, call: Call, *, get: Call | None = None) -> None:
        self.call = call
        self.get = get
        self.calls: list[str] = []
        self.opened: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        await (await self.answer(request))(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        if request.method == "GET":
            self.opened.append(anyio.current_time())
            return Response(status_code=405) if self.get is None else await self.get(request, {})
        if request.method != "POST":
            return Response(status_code=405)
        message: JsonObject = json.loads(await request.body())
        if message.get("id") is None:
            return Response(status_code=202)
        match message["method"]:
            case "initialize":
                result: JsonValue = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "faulty", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                self.calls.append(str(request.url).rpartition("/")[2])
                return await self.call(request, message)
            case _:
                error: JsonValue = {"code": -32601, "message": "no such method"}
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error})
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return JSONResponse(answer, headers={"mcp-session-id": "s"})


def good(message: JsonObject, **further: JsonValue) -> JsonObject:
    """The answer to a call."""
    result: JsonValue = {"content": [{"type": "text", "text": "good"}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result, **further}


def saying(answer: Response) -> Call:
    """Answer every call so."""

    async def call(*_: object) -> Response:
        return answer

    return call


async def well(_: Request, message: JsonObject) -> Response:
    """Answer a call."""
    return JSONResponse(good(message))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            JSONResponse({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}),
            "answered another request; delivery unknown",
        ),
        (
            JSONResponse({"id": 4711, "error": {"code": -32000, "message": "not yours"}}),
            "answered another request; delivery unknown",
        ),
        (Response("<h1>", media_type="text/html"), "delivery unknown"),
        (Response("full", status_code=503), "delivery unknown"),
    ],
    ids=["another's result", "another's error", "no MCP", "a status"],
)
async def test_the_fate_of_a_call_that_was_sent_is_told(
    tmp_path: Path, answer: Response, words: str
) -> None:
    server = Faulty(saying(answer))
    async with online(tmp_path, server) as servers:
        with pytest.raises(UpstreamError, match=words):
            await session(servers).call("t", {})
    assert len(server.calls) == 1


async def test_a_result_with_an_empty_error_is_a_result(tmp_path: Path) -> None:
    async def call(_: Request, message: JsonObject) -> Response:
        return JSONResponse(good(message, error=None))

    async with online(tmp_path, Faulty(call)) as servers:
        assert await text_of(session(servers), "t") == "good"


async def test_a_redirect_of_one_call_is_none_of_another(tmp_path: Path) -> None:
    async def call(request: Request, message: JsonObject) -> Response:
        if not request.url.query and message["id"] not in seen:
            seen.append(message["id"])
            return Response(status_code=307, headers={"location": "/mcp?route=first"})
        return JSONResponse(good(message))

    seen: list[JsonValue] = []
    server = Faulty(call)
    async with online(tmp_path, server) as servers:
        await session(servers).call("t", {})
        seen.extend(range(1000))
        await session(servers, key="other").call("t", {})
    assert server.calls == ["mcp", "mcp?route=first", "mcp"]


async def test_a_stream_that_breaks_off_is_resumed_and_no_call_repeated(tmp_path: Path) -> None:
    called: list[JsonObject] = []

    async def call(request: Request, message: JsonObject) -> Response:
        del request
        called.append(message)
        head = {"content-length": "9999"}  # more than comes, so that the connection is broken off
        return StreamingResponse(broken(), headers=head, media_type="text/event-stream")

    async def broken() -> AsyncGenerator[str]:
        yield "id: 7\nretry: 1\ndata: \n\nid: 8\ndata: half of an eve"

    async def get(request: Request, message: JsonObject) -> Response:
        del message
        if "last-event-id" not in request.headers:
            return Response(status_code=405)
        resumed.append(request.headers["last-event-id"])
        text = f"data: {json.dumps(good(called[0]))}\n\n"
        return Response(text, media_type="text/event-stream")

    resumed: list[str] = []
    server = Faulty(call, get=get)
    async with online(tmp_path, server) as servers:
        assert await text_of(session(servers), "t") == "good"
    assert resumed == ["7"]
    assert len(server.calls) == 1


async def test_a_standing_stream_that_ends_at_once_is_opened_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: dict[int, list[float]] = {}
    sleep = anyio.sleep

    async def note(seconds: float) -> None:
        pauses.setdefault(anyio.get_current_task().id, []).append(seconds)
        await sleep(0)

    get = saying(Response("retry: 0\n\n", media_type="text/event-stream"))
    async with online(tmp_path, Faulty(well, get=get)) as servers:
        monkeypatch.setattr(streamable.anyio, "sleep", note)
        await session(servers).call("t", {})
        await until(lambda: any(streamable.MAX_LISTEN_SECONDS in p for p in pauses.values()))
        monkeypatch.undo()
    listened = [p for p in pauses.values() if streamable.MAX_LISTEN_SECONDS in p]
    assert listened[0][:7] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]


@pytest.mark.parametrize("digits", [8, 5000])
async def test_an_absurd_time_to_wait_is_passed_over(digits: int) -> None:
    reader = EventReader()
    response = event_response(b"retry: 20\n\n", b"retry: " + b"9" * digits + b"\n\n")
    assert len([e async for e in reader.read(response)]) > 0
    assert reader.retry_seconds == 0.02


async def test_an_address_that_is_no_url_is_told(tmp_path: Path) -> None:
    text = "event: endpoint\ndata: /m\tX\n\n"
    app = answering(lambda _: Response(text, media_type="text/event-stream"))
    async with online(tmp_path, app, type="sse") as servers:
        with pytest.raises(UpstreamError, match="names no URL"):
            await found(servers).prepare()
