"""A real MCP server on a socket that keeps what it is sent, and a gateway over an mcpServers file."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import mcp_types as types
from mcp.server.lowlevel import Server
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp.mcp.http import open_http
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.testing import open_test_gateway
from gateway.api.client import EpisodeClient
from servers.deployed import open_deployed

from relayed_servers import DeployedCatalog, RelayGateway


@dataclass(frozen=True)
class Heard:
    """One HTTP request as it arrived."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: dict[str, Any]

    @property
    def meta(self) -> dict[str, Any]:
        """``_meta`` of the message."""
        return self.body.get("params", {}).get("_meta", {})


@dataclass
class WatchedUpstream:
    """A server with one tool, ``look``, whose answer and description a test chooses."""

    url: str = ""
    answer: str = "a ship"
    description: str = "Look at the harbour."
    is_error: bool = False
    heard: list[Heard] = field(default_factory=list[Heard])

    @property
    def calls(self) -> list[Heard]:
        """The tool calls among what was heard."""
        return [heard for heard in self.heard if heard.body.get("method") == "tools/call"]

    def server(self) -> Server[Any]:
        """Make the server."""

        async def on_list(*_: Any) -> types.ListToolsResult:
            schema: dict[str, Any] = {"type": "object", "properties": {}}
            tool = types.Tool(name="look", description=self.description, input_schema=schema)
            return types.ListToolsResult(tools=[tool])

        async def on_call(*_: Any) -> types.CallToolResult:
            text = types.TextContent(type="text", text=self.answer)
            return types.CallToolResult(content=[text], is_error=self.is_error)

        return Server("harbour", version="1", on_list_tools=on_list, on_call_tool=on_call)

    def hearing(self, app: ASGIApp) -> ASGIApp:
        """Keep every request, and let the application answer it."""

        async def hear(scope: Scope, receive: Receive, send: Send) -> None:
            body = await Request(scope, receive).body()
            messages: list[Message] = [{"type": "http.request", "body": body}]
            headers = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"]]
            document: dict[str, Any] = json.loads(body) if body else {}
            self.heard.append(Heard(scope["method"], scope["path"], headers, document))

            async def again() -> Message:
                return messages.pop(0) if messages else await receive()

            await app(scope, again, send)

        return hear


@asynccontextmanager
async def open_upstream() -> AsyncGenerator[WatchedUpstream]:
    """Serve the harbour while the context is open."""
    upstream = WatchedUpstream()
    with bind("127.0.0.1", 0) as listener:
        upstream.url = url_of(listener, "/mcp")
        async with (
            open_http(upstream.server()) as app,
            listen(upstream.hearing(app), listener),
        ):
            yield upstream


@dataclass(frozen=True, kw_only=True)
class DeployedGateway(RelayGateway):
    """A gateway over a file of servers."""

    file: Path
    home: Path
    http: httpx.AsyncClient
    """Sends no key."""

    async def agent_of(self, *names: str) -> EpisodeClient:
        """Open an episode of these servers, and a client of it."""
        return self.agent(await self.open_episode(*names))


@dataclass(frozen=True, kw_only=True)
class HarbourGateway(DeployedGateway):
    """A gateway over the harbour, and others where a test names them."""

    upstream: WatchedUpstream


def write_servers(file: Path, servers: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write an mcpServers file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@asynccontextmanager
async def open_deployed_gateway(
    home: Path, servers: Mapping[str, Mapping[str, Any]], **rules: Any
) -> AsyncGenerator[DeployedGateway]:
    """Serve these servers behind a gateway on a real socket while the context is open."""
    file = write_servers(home / "servers.json", servers)
    async with (
        open_deployed(file, home=home) as deployed,
        open_test_gateway(DeployedCatalog(deployed), home, **rules) as opened,
        httpx.AsyncClient(base_url=opened.url, trust_env=False, timeout=20) as http,
    ):
        yield DeployedGateway(**vars(opened), deployed=deployed, file=file, home=home, http=http)


@asynccontextmanager
async def open_harbour(
    home: Path,
    name: str = "harbour",
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    others: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    **rules: Any,
) -> AsyncGenerator[HarbourGateway]:
    """Serve the harbour under a name and with headers of its entry, behind a gateway of its own."""
    async with open_upstream() as upstream:
        servers = {name: {"url": upstream.url, "headers": dict(headers)}, **others}
        async with open_deployed_gateway(home, servers, **rules) as opened:
            yield HarbourGateway(**vars(opened), upstream=upstream)
