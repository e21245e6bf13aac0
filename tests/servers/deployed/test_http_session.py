"""Sessions with servers at URLs: both eras, headers, answer streams, restarts, broken answers, redirects."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import CallOutcome, JsonObject, PastCall
from servers.deployed.transports import streamable

from deployed_workshop import (
    MemoryChannel,
    answering,
    deployed,
    found,
    online,
    over_http,
    session,
    text_of,
    until,
    until_left,
)
from fixture_events import RecentEvents
from relayed_servers import Desk

ERAS = list(Era)
PAST = [PastCall(tool="count", arguments={}, outcome=CallOutcome.APPLIED)]


class Recording:
    """Notes the requests of an application that can be replaced, as a restart replaces a server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.requests: list[tuple[str, dict[str, str]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            self.requests.append((scope["method"], headers))
        await self.app(scope, receive, send)


def recording(desk: Desk) -> Recording:
    """Its application, which answers in JSON, and notes what is asked of it."""
    return Recording(desk.make().streamable_http_app(json_response=True))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("is_json", [True, False])
async def test_calls_are_answered_in_both_eras_and_both_forms(
    tmp_path: Path, era: Era, is_json: bool
) -> None:
    app = Desk("talkative").make().streamable_http_app(json_response=is_json)
    async with online(tmp_path, app) as servers:
        one = session(servers)
        assert await text_of(one, "count", Exchange(era=era)) == "1"
        refused = await one.call("refuse", {}, Exchange(era=era))
        assert refused.result.refusal is not None
        assert refused.result.refusal["code"] == -32042
        connection = one.connection
        assert connection is not None
        assert connection.era is era


async def test_each_session_has_a_session_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    app = recording(Desk("talkative"))
    async with online(tmp_path, app) as servers:
        one, two = session(servers, key="1"), session(servers, key="2")
        texts = [await text_of(s) for s in (one, two, one)]
        assert texts == ["1", "1", "2"]
        await one.aclose()
        assert [method for method, _ in app.requests].count("DELETE") == 1
        assert await text_of(two) == "2"


async def test_a_modern_request_names_what_it_asks_in_its_headers(tmp_path: Path) -> None:
    app = recording(Desk("talkative"))
    async with online(tmp_path, app, headers={"Authorization": "Bearer x"}) as servers:
        await found(servers).prepare()
        one = session(servers, key="abc")
        await one.call("headed", {"region": "Zürich"}, Exchange(era=Era.MODERN))
    headers = [h for _, h in app.requests if h.get("mcp-method") == "tools/call"][-1]
    said = {
        "mcp-name": "headed",
        "mcp-protocol-version": "2026-07-28",
        "mcp-param-region": "=?base64?WsO8cmljaA==?=",
        "astra-episode-key": "abc",
        "authorization": "Bearer x",
    }
    assert said.items() <= headers.items()
    assert "mcp-session-id" not in headers


async def test_no_header_of_a_shared_server_names_an_episode(tmp_path: Path) -> None:
    app = recording(Desk("talkative"))
    async with over_http(app) as url:
        async with deployed(tmp_path, raw={"url": url, "isolation": "shared"}) as servers:
            texts = [await text_of(session(servers, key=k)) for k in "ab"]
            assert texts == ["1", "2"]
        assert not any("astra-episode-key" in headers for _, headers in app.requests)


@pytest.mark.parametrize(("status", "warnings"), [(204, 0), (302, 1), (500, 1)])
async def test_the_address_of_an_entry_gets_one_post_of_an_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int, warnings: int
) -> None:
    posted: list[tuple[str, object]] = []

    async def note(request: Request) -> Response:
        posted.append((request.headers["content-type"], await request.json()))
        return Response(status_code=status)

    desk = Starlette(routes=[Route("/{rest:path}", note, methods=["POST"])])
    async with over_http(desk) as url:
        entry = {"command": "run", "episode_end_url": url}
        async with deployed(tmp_path, raw=entry, mute={"command": "run"}) as servers:
            for name in ("raw", "mute"):
                await found(servers, name).note_end("abc", EpisodeStatus.LIMIT)

    assert posted == [("application/json", {"key": "abc", "status": "limit"})]
    assert len(caplog.records) == warnings


async def test_an_address_that_nobody_answers_at_is_named_in_the_log_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entry = {"command": "run", "episode_end_url": "http://127.0.0.1:9/"}
    async with deployed(tmp_path, raw=entry) as servers:
        await found(servers).note_end("abc", EpisodeStatus.CLOSED)
    assert "raw was not told that an episode has ended" in caplog.text


@pytest.mark.parametrize("era", ERAS)
async def test_progress_of_a_call_comes_on_its_own_stream(tmp_path: Path, era: Era) -> None:
    app = Desk("talkative").make().streamable_http_app()
    async with online(tmp_path, app) as servers:
        channel = MemoryChannel()
        exchange = Exchange(era=era, meta={"progressToken": "mine"}, channel=channel)
        assert await text_of(session(servers), "report", exchange) == "reported"
        assert [(p["progress"], p["progressToken"]) for _, p in channel.told] == [
            (step, "mine") for step in (0.5, 1.0)
        ]


async def test_a_servers_request_comes_back_with_the_clients_answer(tmp_path: Path) -> None:
    app = Desk("talkative").make().streamable_http_app()
    async with online(tmp_path, app) as servers:
        answer: JsonObject = {"action": "accept", "content": {"name": "Ann"}}
        channel = MemoryChannel(capabilities={"elicitation": {}}, answers=[answer])
        told = await text_of(session(servers), "ask", Exchange(channel=channel))
        assert told == "accept Ann"
        assert channel.asked[0][0] == "elicitation/create"


@pytest.mark.parametrize(
    ("era", "is_json"),
    # In the modern era a call is cancelled by hanging up; the SDK notices that where it streams.
    [(Era.HANDSHAKE, True), (Era.HANDSHAKE, False), (Era.MODERN, False)],
)
async def test_a_cancelled_call_ends_at_the_server(tmp_path: Path, era: Era, is_json: bool) -> None:
    desk = Desk("talkative")
    app = desk.make().streamable_http_app(json_response=is_json)
    async with online(tmp_path, app) as servers:
        one = session(servers)
        async with until_left(lambda: one.call("wait", {}, Exchange(era=era))):
            await desk.begun.wait()
        with anyio.fail_after(10):
            await desk.cancelled.wait()
        assert await text_of(one, "count", Exchange(era=era)) == "2"


async def test_an_answer_whose_stream_broke_off_is_fetched_not_asked_anew(tmp_path: Path) -> None:
    desk = Desk("talkative")
    app = desk.make().streamable_http_app(event_store=RecentEvents(), retry_interval=10)
    async with online(tmp_path, app) as servers:
        assert await text_of(session(servers), "drop") == "fetched"
        assert len(desk.called) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_changed_tool_list_is_noticed(tmp_path: Path, era: Era) -> None:
    desk = Desk("talkative")
    app = desk.make().streamable_http_app()
    async with online(tmp_path, app) as servers:
        server = found(servers)
        await server.prepare()
        version = server.version
        told: list[str] = []
        servers.watch(told.append)
        one = session(servers)
        await one.call("count", {}, Exchange(era=era))
        if era is Era.MODERN:
            await until(lambda: bool(desk.bus._listeners))  # pyright: ignore[reportPrivateUsage]
        await one.call("grow", {}, Exchange(era=era))
        await until(lambda: "raw" in told)
        assert server.tools[-1].name == "grown"
        assert server.version != version


# --- restarts ------------------------------------------------------------------------------------


async def test_a_restart_takes_the_state_of_handshake_sessions_alone(tmp_path: Path) -> None:
    desk = Desk("talkative")
    app = recording(desk)
    modern = Exchange(era=Era.MODERN)
    async with online(tmp_path, app) as servers:
        one, other = session(servers), session(servers, key="modern", past=PAST)
        await one.call("count", {})
        await other.call("count", {}, modern)
        async with restarted(app, desk):
            for _ in range(2):
                with pytest.raises(UpstreamError, match=r"HTTP 404.*lost"):
                    await one.call("count", {})
            assert len(desk.called) == 2
            assert await text_of(other, "count", modern) == "2"
            with pytest.raises(UpstreamError, match=r"restart.*lost"):  # of the gateway
                await session(servers, key="late", past=PAST).call("count", {})


async def test_a_session_without_calls_begins_anew(tmp_path: Path) -> None:
    desk = Desk("talkative")
    app = recording(desk)
    async with online(tmp_path, app) as servers:
        fresh = session(servers)
        await fresh.request("ping", {}, Exchange())
        async with restarted(app, desk):
            assert await text_of(fresh) == "1"


async def test_a_forgotten_session_of_all_is_opened_anew_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servers.deployed.session.RETRIES", 0)
    desk = Desk("talkative")
    app = recording(desk)
    async with online(tmp_path, app, isolation="shared") as servers:
        one = session(servers)
        await one.call("count", {})
        async with restarted(app, desk):
            assert await text_of(one) == "1"


async def test_a_call_under_way_goes_on_when_its_session_is_found_forgotten(tmp_path: Path) -> None:
    desk = Desk("talkative")
    app = recording(desk)
    said: list[str] = []
    async with online(tmp_path, app, isolation="shared") as servers:
        one, two = session(servers, key="1"), session(servers, key="2")

        async def wait() -> None:
            try:
                await one.call("wait", {})
            except UpstreamError as error:
                said.append(str(error))

        async with until_left(wait):
            await desk.begun.wait()
            async with restarted(app, desk):
                assert await text_of(two) == "1"
                assert said == []


async def test_a_call_waits_for_a_server_that_is_about_to_listen(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        url = f"http://127.0.0.1:{port}/mcp"
        called = anyio.Event()
        served = anyio.Event()

        async def serve_later() -> None:
            await called.wait()
            app = Desk("talkative").make().streamable_http_app(json_response=True)
            async with over_http(app, port):
                await served.wait()

        group.start_soon(serve_later)
        async with deployed(tmp_path, raw={"url": url}) as servers:
            called.set()
            assert await text_of(session(servers)) == "1"
        served.set()


async def test_a_server_that_is_not_there_is_said_to_be_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servers.deployed.session.RETRIES", 1)
    async with deployed(tmp_path, raw={"url": "http://127.0.0.1:9/mcp"}) as servers:
        with pytest.raises(UpstreamError, match=r"upstream raw cannot be reached: .+"):
            await session(servers).call("count", {})


# --- broken answers ------------------------------------------------------------------------------


@asynccontextmanager
async def restarted(app: Recording, desk: Desk) -> AsyncGenerator[None]:
    """Replace the application by one that knows no session of the first."""
    fresh = desk.make().streamable_http_app(json_response=True)
    async with fresh.router.lifespan_context(fresh):
        app.app = fresh
        yield


@asynccontextmanager
async def breaking(answer: Callable[[JsonObject], bytes]) -> AsyncGenerator[str]:
    """A server that answers the handshake of the modern era, and calls as told."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            head, _, body = head.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            while len(body) < length:
                body += await stream.receive()
            message = json.loads(body)
            if message["method"] == "server/discover":
                result: JsonObject = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
                sent = _http(json.dumps({"id": message["id"], "result": result}))
            else:
                sent = answer(message)
            if sent:
                await stream.send(sent)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra_attributes[anyio.abc.SocketAttribute.local_port]()
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            yield f"http://127.0.0.1:{port}/mcp"
            group.cancel_scope.cancel()


def _http(body: str, kind: str = "application/json", status: str = "200 OK") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
        f"connection: close\r\n\r\n{body}"
    ).encode()


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "broke the connection: .+; delivery unknown"),
        (_http("{}").replace(b"length: 2", b"length: 900"), "delivery unknown"),
        (STREAM + b'data: {"jsonrpc"', "ended its answer without a result; delivery unknown"),
        (STREAM, "ended its answer without a result; delivery unknown"),
        (_http("not json"), "answered what is no JSON-RPC; delivery unknown"),
        (_http("[1]"), "answered what is no JSON-RPC"),
        (_http("<h1>Hello</h1>", "text/html"), "answered HTTP 200 with 'text/html', which is no MCP"),
        (_http("the pool\nis full", "text/plain", "503 Busy"), "answered HTTP 503: the pool"),
        (_http("who are you", "text/plain", "401 No"), "answered HTTP 401: who are you .check the headers"),
        (b"garbage\r\n\r\n", "broke the connection: .+; delivery unknown"),
    ],
)  # fmt: skip
async def test_a_broken_answer_is_told_and_the_call_is_not_repeated(
    tmp_path: Path, sent: bytes, said: str
) -> None:
    calls: list[JsonObject] = []

    def answer(message: JsonObject) -> bytes:
        calls.append(message)
        return sent

    async with breaking(answer) as url, deployed(tmp_path, raw={"url": url}) as servers:
        with pytest.raises(UpstreamError, match=said):
            await session(servers).call("count", {}, Exchange(era=Era.MODERN))
    assert len(calls) == 1


async def test_an_endless_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable, "MAX_MESSAGE_BYTES", 10_000)
    endless = breaking(lambda _: _http("x" * 50_000))
    async with endless as url, deployed(tmp_path, raw={"url": url}) as servers:
        with pytest.raises(UpstreamError, match="answered more than 9 KiB"):
            await session(servers).call("count", {}, Exchange(era=Era.MODERN))


async def test_a_result_that_is_none_of_a_tool_becomes_an_error(tmp_path: Path) -> None:
    def answer(message: JsonObject) -> bytes:
        return _http(json.dumps({"id": message["id"], "result": {"content": "text"}}))

    async with breaking(answer) as url, deployed(tmp_path, raw={"url": url}) as servers:
        reply = await session(servers).call("count", {}, Exchange(era=Era.MODERN))
        assert reply.result.is_error
        assert "no result of a tool call" in reply.result.text


# --- redirects -----------------------------------------------------------------------------------


async def test_a_redirect_to_another_host_gets_nothing(tmp_path: Path) -> None:
    other = recording(Desk("talkative"))
    async with over_http(other) as target:
        app = answering(lambda _: RedirectResponse(target))
        async with online(tmp_path, app, headers={"authorization": "Bearer secret"}) as servers:
            with pytest.raises(UpstreamError, match="redirects elsewhere, which is not followed"):
                await session(servers).call("count", {})
    assert other.requests == []


async def test_a_redirect_within_the_origin_is_followed(tmp_path: Path) -> None:
    app = Desk("talkative").make().streamable_http_app(json_response=True)
    app.router.add_route("/old", lambda _: RedirectResponse("/mcp"), methods=["POST"])
    async with (
        over_http(app) as url,
        deployed(tmp_path, raw={"url": url.replace("/mcp", "/old")}) as servers,
    ):
        assert await text_of(session(servers)) == "1"


async def test_a_password_in_the_url_becomes_a_header(tmp_path: Path) -> None:
    app = recording(Desk("talkative"))
    async with over_http(app) as url:
        entry = {"url": url.replace("http://", "http://ann:s%40crt@")}
        async with deployed(tmp_path, raw=entry) as servers:
            await session(servers).call("count", {})
    assert {headers.get("authorization") for _, headers in app.requests} == {"Basic YW5uOnNAY3J0"}


async def test_a_proxy_of_the_environment_is_used_unless_it_is_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"url": "http://server.invalid/mcp"}
    async with over_http(answering(lambda _: Response("no such host", 502))) as url:
        monkeypatch.setenv("http_proxy", url.removesuffix("/mcp"))
        async with deployed(tmp_path, raw=entry) as servers:
            with pytest.raises(UpstreamError, match="HTTP 502: no such host"):
                await session(servers).call("count", {})
        monkeypatch.setenv("no_proxy", "server.invalid")
        monkeypatch.setattr("servers.deployed.session.RETRIES", 0)
        async with deployed(tmp_path, raw=entry) as servers:
            with pytest.raises(UpstreamError, match="cannot be reached"):
                await session(servers).call("count", {})
