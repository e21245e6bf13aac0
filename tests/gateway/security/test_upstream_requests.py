"""What the gateway sends to servers: to nobody but those of the file, and nothing that a client chose.

Server-side request forgery, and the confused deputy of forwarded credentials.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel import Server
from starlette.types import Receive, Scope, Send

from astra_mcp.errors import ConfigError
from astra_mcp.mcp.http import open_http
from astra_mcp.serving.http.server import bind, listen, url_of
from gateway.api.client import EpisodeClient, RefusedError
from servers.deployed import open_deployed

from watched_upstream import open_deployed_gateway, write_servers

API_KEY = "an-api-key-that-nobody-guesses"
OWN = "the-header-of-the-file"
CHOSEN = {
    "Cookie": "session=chosen-by-the-client",
    "X-Api-Key": "chosen-by-the-client",
    "Proxy-Authorization": "Bearer chosen-by-the-client",
    "X-Forwarded-For": "chosen-by-the-client",
    "Forwarded": "for=chosen-by-the-client",
    "X-Forwarded-Access-Token": "chosen-by-the-client",
    "Astra-Episode-Key": "chosen-by-the-client",
    "Mcp-Param-Region": "chosen-by-the-client",
    "User-Agent": "chosen-by-the-client",
}


@dataclass
class Listener:
    """A socket that must hear nothing, or answers one thing to everything."""

    url: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b"{}"
    heard: list[str] = field(default_factory=list[str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        self.heard.append(scope["path"])
        fields = [(k.encode(), v.encode()) for k, v in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": fields})
        await send({"type": "http.response.body", "body": self.body})


@asynccontextmanager
async def open_listener(**answers: Any) -> AsyncGenerator[Listener]:
    listener = Listener(**answers)
    with bind("127.0.0.1", 0) as bound:
        listener.url = url_of(bound, "/mcp")
        async with listen(listener, bound):
            yield listener


@pytest.mark.parametrize("place", ["episode", "server", "all"])
async def test_nothing_that_a_client_sends_beside_its_message_reaches_a_server(
    *, open_watched: Any, place: str, era: str, style: str
) -> None:
    async with open_watched(headers={"X-Own": OWN}, api_keys=[API_KEY]) as (guarded, upstream):
        sent = CHOSEN | {"Authorization": f"Bearer {API_KEY}"}
        await guarded.session(place, API_KEY)
        name = guarded.tool(place, "look")
        answer = await guarded.send(place, era, style=style, name=name, headers=sent)
        assert "a ship" in answer.text
    assert len(upstream.calls) == 1
    for heard in upstream.heard:
        assert dict(heard.headers)["x-own"] == OWN
        assert "authorization" not in dict(heard.headers)
        assert [k for k, v in heard.headers if "chosen-by-the-client" in v or API_KEY in v] == []


async def test_no_meta_of_a_client_becomes_a_header(
    *, open_watched: Any, era: str, style: str
) -> None:
    meta = {
        "headers": {"Authorization": "Bearer chosen"},
        "authorization": "Bearer chosen",
        "traceparent": "x\r\nX-Evil: chosen",
        "example.org/x\r\nX-Evil": "chosen",
    }
    async with open_watched() as (guarded, upstream):
        answer = await guarded.send("episode", era, style=style, name="look", meta=meta)
        assert "a ship" in answer.text
        for heard in upstream.heard:
            assert [k for k, v in heard.headers if "chosen" in v or k == "x-evil"] == []


async def test_no_header_of_a_server_reaches_a_client(
    *, open_watched: Any, era: str, style: str
) -> None:
    async with open_watched() as (guarded, upstream):
        answer = await guarded.send("server", era, style=style, name="look")
        inner = {v for heard in upstream.heard for k, v in heard.headers if k == "mcp-session-id"}
        assert inner.isdisjoint(answer.headers.values())
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed(tmp_path: Path, status: int) -> None:
    async with (
        open_listener() as inner,
        open_listener(status=status, headers={"location": inner.url}) as outer,
        open_deployed_gateway(
            tmp_path / "home", {"coins": {"url": outer.url, "headers": {"X-Own": OWN}}}
        ) as gateway,
    ):
        with pytest.raises(RefusedError) as refused:
            await gateway.open_episode("coins")
        assert OWN not in str(refused.value)
        assert outer.heard
        assert inner.heard == []


async def test_an_endpoint_event_of_another_origin_is_not_followed(tmp_path: Path) -> None:
    async with open_listener() as inner:
        for endpoint in (inner.url, inner.url.removeprefix("http:"), "http://me@127.0.0.1/x"):
            body = f"event: endpoint\ndata: {endpoint}\n\n".encode()
            stream = {"content-type": "text/event-stream"}
            async with open_listener(headers=stream, body=body) as outer:
                servers = {"coins": {"url": outer.url, "type": "sse"}}
                async with open_deployed_gateway(tmp_path / "home", servers) as gateway:
                    with pytest.raises(RefusedError):
                        await gateway.open_episode("coins")
        assert inner.heard == []


@pytest.mark.parametrize(
    "server",
    [
        {"url": "file:///etc/passwd"},
        {"url": "gopher://127.0.0.1/"},
        {"url": "ftp://127.0.0.1/"},
        {"url": "//127.0.0.1/mcp"},
        {"url": "javascript:alert(1)"},
        {"url": "http://"},
        {"url": "http://127.0.0.1/mcp", "headers": {"X": "a\r\nX-Evil: b"}},
        {"url": "http://127.0.0.1/mcp", "headers": {"X\r\nX-Evil": "b"}},
        {"url": "http://127.0.0.1/mcp", "headers": {"X Y": "b"}},
        {"url": "http://127.0.0.1/mcp", "command": "id"},
        {"url": "http://127.0.0.1/mcp\r\nX-Evil: b"},
        {"url": "http://127.0.0.1/a b"},
        {"url": "http://127.0.0.1:99999/mcp"},
        {"url": "http://[::1/mcp"},
    ],
    ids=str,
)
async def test_a_file_that_points_elsewhere_or_injects_is_refused(
    tmp_path: Path, server: dict[str, Any]
) -> None:
    file = write_servers(tmp_path / "servers.json", {"coins": server})
    with pytest.raises(ConfigError, match="coins"):
        async with open_deployed(file, home=tmp_path):
            pass


@pytest.mark.parametrize(
    "name", ["", "a/b", "../x", "a\r\nX-Evil: b", "a b", "*", "ä" * 3, "a" * 300]
)
async def test_a_server_of_a_dangerous_name_is_refused(tmp_path: Path, name: str) -> None:
    file = write_servers(tmp_path / "servers.json", {name: {"url": "http://127.0.0.1/mcp"}})
    with pytest.raises(ConfigError):
        async with open_deployed(file, home=tmp_path):
            pass


async def test_a_tool_whose_name_would_inject_a_header_is_not_shown(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    upstream_headers: list[tuple[str, str]] = []

    async def on_list(*_: Any) -> types.ListToolsResult:
        names = ("look\r\nX-Evil: chosen", "look", "l\x1b[31mook", "lo\u202eok")
        return types.ListToolsResult(tools=[types.Tool(name=n, input_schema=schema) for n in names])

    async def on_call(*_: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    server = Server[Any]("evil", version="1", on_list_tools=on_list, on_call_tool=on_call)
    with bind("127.0.0.1", 0) as bound:
        async with open_http(server) as app:

            async def hear(scope: Scope, receive: Receive, send: Send) -> None:
                upstream_headers.extend((k.decode(), v.decode()) for k, v in scope["headers"])
                await app(scope, receive, send)

            async with (
                listen(hear, bound),
                open_deployed_gateway(
                    tmp_path / "home", {"coins": {"url": url_of(bound, "/mcp")}}
                ) as gateway,
            ):
                created = await gateway.open_episode("coins")
                assert [tool.name for tool in created.tools] == ["look"]
                await EpisodeClient(created.mcp_url, gateway.control.http).call("look", {})
    assert upstream_headers
    assert [k for k, _ in upstream_headers if k == "x-evil"] == []
