"""Smaller rules of deployed servers: closing, redaction, subscriptions, old cards, shared ambiguity."""

import json
import os
import time
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.server.subscriptions import ResourceUpdated
from starlette.responses import Response

from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import JsonObject
from servers.deployed import DeployedServers, DeployedSession
from servers.deployed.card import FORGET_SECONDS, Card, CardFile, EraFacts
from servers.deployed.transports.events import EventReader

from deployed_workshop import Noted, answering, event_response, online, session, text_of, until
from relayed_servers import Desk

ERAS = list(Era)


async def _fail(one: DeployedSession, tool: str, exchange: Exchange, said: list[str]) -> None:
    """Call a tool, and note what is said where that fails."""
    try:
        await one.call(tool, {}, exchange)
    except UpstreamError as error:
        said.append(str(error))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("is_json", [True, False])
async def test_closing_a_session_ends_its_running_call_over_http(
    tmp_path: Path, era: Era, is_json: bool
) -> None:
    desk = Desk("talkative")
    app = desk.make().streamable_http_app(json_response=is_json)
    said: list[str] = []
    async with online(tmp_path, app) as servers:
        one = session(servers)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(_fail, one, "wait", Exchange(era=era), said)
                await desk.begun.wait()
                await one.aclose()
                await one.aclose()
    assert ["was closed by the gateway; delivery unknown" in words for words in said] == [True]


async def test_closing_a_session_ends_its_running_call_in_a_process(noted: Noted) -> None:
    servers, calls = noted
    said: list[str] = []
    one = session(servers)
    async with anyio.create_task_group() as group:
        group.start_soon(_fail, one, "hang", Exchange(), said)
        await until(lambda: calls() == ["hang"])
        await one.aclose()
    with pytest.raises(UpstreamError, match="the session is closed"):
        await one.call("count", {})
    assert ["delivery unknown" in words for words in said] == [True]


async def test_a_server_that_repeats_a_secret_in_a_refusal_is_blacked_out(tmp_path: Path) -> None:
    app = answering(lambda request: Response("no: " + request.headers["authorization"], 403))
    async with online(tmp_path, app, headers={"authorization": "Bearer s3cr3t-value"}) as servers:
        with pytest.raises(UpstreamError, match=r"HTTP 403: no: \*\*\*"):
            await session(servers).call("count", {})


async def test_a_subscription_at_a_modern_server_is_a_listening_stream(tmp_path: Path) -> None:
    desk = Desk("talkative")
    app = desk.make().streamable_http_app()
    heard: list[tuple[str, object]] = []
    async with online(tmp_path, app) as servers:
        one = session(servers)
        one.watch(lambda method, params: heard.append((method, params.get("uri"))))
        modern = Exchange(era=Era.MODERN)
        await one.request("resources/subscribe", {"uri": "note://1"}, modern)
        with anyio.fail_after(20):
            while not heard:
                await desk.bus.publish(ResourceUpdated("note://1"))
                await anyio.sleep(0.02)
        assert set(heard) == {("notifications/resources/updated", "note://1")}
        await one.request("resources/unsubscribe", {"uri": "note://1"}, modern)
        assert await one.request("ping", {}, modern) == {}


async def test_a_handshake_level_reaches_a_modern_server_each_time(modern: DeployedServers) -> None:
    one = session(modern)
    await one.request("logging/setLevel", {"level": "debug"}, Exchange())
    for exchange, level in ((Exchange(), "debug"), (Exchange(log_level="error"), "error")):
        meta = json.loads(await text_of(one, "show", exchange))["_meta"]
        assert meta["io.modelcontextprotocol/logLevel"] == level


def test_an_old_card_no_longer_says_that_an_era_is_not_spoken(tmp_path: Path) -> None:
    file = CardFile(tmp_path, "hash")
    facts = EraFacts(version="2025-11-25", capabilities={})
    card = Card(eras={Era.MODERN: None, Era.HANDSHAKE: facts}, tools=())
    file.write(card)
    assert file.read() == card
    before = time.time() - FORGET_SECONDS - 60
    os.utime(tmp_path / "hash.json", (before, before))
    assert file.read() == Card(eras={Era.HANDSHAKE: facts}, tools=())


def test_a_card_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    file = CardFile(tmp_path, "hash")
    file.write(Card(tools=()))
    deep: JsonObject = {}
    for _ in range(300):
        deep = {"properties": {"x": deep}}
    for schema in (deep, {"minimum": 10**30}):
        file.write(Card(tools=({"name": "odd", "inputSchema": schema},)))
        assert file.read() == Card(tools=())
    assert [each.name for each in tmp_path.iterdir()] == ["hash.json"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_events_are_the_same_however_their_bytes_arrive(end: str, size: int) -> None:
    sent = (
        ": hello\nretry: 50\nid: 1\ndata:\n\n"
        'event: message\nid: 2\ndata: {"a":\ndata: "é"}\n\n'
        "event: endpoint\ndata:/x\n\n"
        "data: unfinished"
    )
    text = sent.replace("\n", end).encode()
    reader = EventReader()
    response = event_response(*(text[i : i + size] for i in range(0, len(text), size)))
    events = [(e.event, e.data, e.id) async for e in reader.read(response)]
    assert events == [
        ("message", "", "1"),
        ("message", '{"a":\n"é"}', "2"),
        ("endpoint", "/x", "2"),
    ]
    assert (reader.last_id, reader.retry_seconds) == ("2", 0.05)
    assert [e.data async for e in reader.read(event_response(b"data: on\n\n"))] == ["on"]
    assert reader.last_id == "2"  # though the next connection has not named one yet


@pytest.mark.parametrize("line", [b"data: " + b"x" * 100 + b"\n", b"x" * 100])
async def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr("servers.deployed.transports.events.MAX_MESSAGE_BYTES", 1000)
    assert [e async for e in EventReader().read(event_response(*[line] * 9))] == []
    with pytest.raises(httpx2.TransportError, match="exceeded the 1000 byte limit"):
        _ = [e async for e in EventReader().read(event_response(*[line] * 11))]
