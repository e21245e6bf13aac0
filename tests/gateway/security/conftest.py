"""A gateway on a real socket, reached the way an attacker reaches it: by requests written by hand."""

import base64
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.testing import InMemoryCatalog, Question
from astra_mcp.types import (
    CallOutcome,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
    tools_hash,
)
from gateway.api.seams import Upstream
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

from watched_upstream import WatchedUpstream, open_harbour

CONTROL_KEY = "a-control-key-that-nobody-guesses"
API_KEY = "an-api-key-that-nobody-guesses"
MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
ACCEPT = {"Accept": "application/json, text/event-stream"}
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": MODERN}


def tool(name: str, description: str = "Says a text again.") -> ToolSpec:
    schema: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}}
    return ToolSpec(name=name, description=description, input_schema=schema)


TOOLS = (tool("echo"), tool("other"))


@dataclass
class ProbeServer:
    """Says a text again; its list can change, and it can fail. Also each of its sessions."""

    name: str
    kind: ServerKind = ServerKind.ENVIRONMENT
    relays: bool = False
    tools: tuple[ToolSpec, ...] = TOOLS
    warnings: tuple[str, ...] = ()
    instructions: str | None = None
    fault: str | None = None
    """Every call and every preparation fails with it."""
    bug: Exception | None = None
    """Every call raises it."""
    calls: list[tuple[str, JsonObject]] = field(default_factory=list[Any])
    keys: list[str] = field(default_factory=list[str])

    @property
    def version(self) -> str:
        return tools_hash(self.tools)

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        shown: JsonObject = {"tools": {"listChanged": True}}
        return {**shown, "resources": {}} if self.relays else shown

    @property
    def status(self) -> tuple[ServerStatus, str]:
        return (ServerStatus.FAILED, self.fault) if self.fault else (ServerStatus.READY, "")

    async def prepare(self) -> None:
        if self.fault is not None:
            raise UpstreamError(self.fault)

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> "ProbeServer":
        self.keys.append(key)
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        self.calls.append((tool, dict(arguments)))
        if self.bug is not None:
            raise self.bug
        await self.prepare()
        result = ToolResult.from_text(f"{self.name} says {arguments.get('text')}")
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def request(self, method: str, params: JsonObject, exchange: Exchange) -> JsonObject:
        return {"resources": []} if method == "resources/list" else {}

    def watch(self, hear: Hear) -> None: ...

    async def aclose(self) -> None: ...


ASKED = Question("What is said?", "the gold answer", gold=[("echo", {"text": "the gold answer"})])


class ProbeCatalog(InMemoryCatalog):
    """The servers that a test names; they may change, and the catalog may fail."""

    def __init__(self, *servers: ProbeServer) -> None:
        self.servers = {server.name: server for server in servers}
        environments = [s.name for s in servers if s.kind is ServerKind.ENVIRONMENT]
        super().__init__(*servers, questions=dict.fromkeys(environments, ASKED))
        self.fault: Exception | None = None
        """Every look into the catalog raises it."""

    def upstreams(self) -> Sequence[Upstream]:
        if self.fault is not None:
            raise self.fault
        return super().upstreams()

    def upstream(self, name: str) -> Upstream:
        if self.fault is not None:
            raise self.fault
        return super().upstream(name)

    def change(self, name: str, **changes: Any) -> None:
        """Change a server, and tell those who watch."""
        for what, value in changes.items():
            setattr(self.servers[name], what, value)
        self.publish(self.servers[name])

    def restore(self) -> None:
        """Make every server what it was at first, and forget what reached it."""
        self.fault = None
        for server in self.servers.values():
            is_changed = server.tools != TOOLS or server.fault is not None
            server.tools, server.fault, server.bug = TOOLS, None, None
            server.calls.clear()
            server.keys.clear()
            if is_changed:
                self.publish(server)


def header_value(name: str) -> str:
    """Write a name as a header carries it: base64 where it is not plain."""
    if name and name == name.strip() and name.isascii() and name.isprintable():
        return name
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


def message_of(response: httpx.Response) -> dict[str, Any]:
    """Read the JSON-RPC answer of a response, plain or at the end of an event stream."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        data = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
        return json.loads(data[-1])
    return response.json()


@dataclass(kw_only=True)
class Guarded:
    """A gateway, and ways to knock at it."""

    url: str
    catalog: ProbeCatalog
    episodes: Episodes
    http: httpx.AsyncClient
    """Sends nothing that it is not told to."""
    key: str = CONTROL_KEY
    episode: dict[str, Any] = field(default_factory=dict[str, Any])
    sessions: dict[str, str] = field(default_factory=dict[str, str])
    open_before: int = 0
    """States that were open when the test began, its own episode among them."""

    @property
    def opened(self) -> int:
        """How many episodes and states were opened since the test began."""
        return self.episodes.count_open() - self.open_before

    @property
    def executed(self) -> int:
        """How many calls reached a server."""
        return sum(len(server.calls) for server in self.catalog.servers.values())

    def path(self, place: str) -> str:
        """The path of a place: an episode, one server, a server that relays, or all servers."""
        paths = {
            "episode": f"/episodes/{self.episode['id']}/mcp",
            "server": "/servers/coins/mcp",
            "relayed": "/servers/files/mcp",
            "all": "/mcp",
        }
        return paths[place]

    def tool(self, place: str, name: str = "echo") -> str:
        return f"coins__{name}" if place == "all" else name

    async def control(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Ask the control plane with its key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return await self.http.request(method, path, headers=headers, **request)

    async def open_episode(self, name: str = "coins", **body: Any) -> dict[str, Any]:
        source = {"kind": "servers", "names": [name]} if name == "files" else None
        source = source or {"kind": "environment", "name": name}
        answer = await self.control("POST", "/v1/episodes", json={"source": source, **body})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def session(self, place: str, key: str | None = None) -> str:
        """Open a session of the handshake era, once for each place."""
        if place not in self.sessions:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            answer = await self.initialize(place, headers)
            assert answer.status_code == 200, answer.text
            self.sessions[place] = answer.headers["mcp-session-id"]
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            headers |= {"Mcp-Session-Id": self.sessions[place], "MCP-Protocol-Version": HANDSHAKE}
            answer = await self.http.post(self.path(place), json=done, headers=ACCEPT | headers)
            assert answer.status_code == 202
        return self.sessions[place]

    async def initialize(self, place: str, headers: dict[str, str]) -> httpx.Response:
        """Send the first request of a session, with further headers."""
        client: JsonObject = {"name": "probe", "version": "1"}
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        return await self.http.post(self.path(place), json=body, headers=ACCEPT | headers)

    async def prepare(
        self,
        place: str,
        era: str,
        method: str = "tools/call",
        *,
        style: str = "plain",
        name: str | None = None,
        arguments: JsonObject | None = None,
        meta: JsonObject | None = None,
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Write a correct request; answers its path, its headers and its body.

        The style ``asking`` names what a client can do and wants to hear, so that more of the gateway
        is under way than for a plain request.
        """
        headers = ACCEPT | {"Content-Type": "application/json"}
        params: dict[str, Any] = {}
        if method == "tools/call":
            params = {
                "name": self.tool(place) if name is None else name,
                "arguments": {"text": "hello"} if arguments is None else arguments,
            }
        sent: dict[str, Any] = dict(meta or {})
        if style == "asking":
            sent["progressToken"] = 7
        if era == "modern":
            asking: JsonObject = {"sampling": {}, "elicitation": {}}
            abilities = asking if style == "asking" else {}
            sent |= {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": abilities}
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            if "name" in params:
                headers["Mcp-Name"] = header_value(params["name"])
        else:
            session = await self.session(place)
            headers |= {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": session}
        if sent:
            params["_meta"] = sent
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.path(place), headers, body

    async def send(
        self, place: str, era: str, method: str = "tools/call", **options: Any
    ) -> httpx.Response:
        """Send a correct request, with further headers where ``headers`` names some."""
        further = options.pop("headers", {})
        path, headers, body = await self.prepare(place, era, method, **options)
        return await self.http.post(path, headers={**headers, **further}, json=body)

    async def shown(self, place: str, era: str) -> list[str]:
        """The names of the tools that a place lists."""
        answer = message_of(await self.send(place, era, "tools/list"))
        return [row["name"] for row in answer["result"]["tools"]]

    async def raw(self, request: bytes, *, answers: int = 1) -> bytes:
        """Send bytes; read until so many answers came, or the connection was closed."""
        received = b""
        with anyio.fail_after(20):
            async with await anyio.connect_tcp(
                "127.0.0.1", int(self.url.rpartition(":")[2])
            ) as stream:
                await stream.send(request)
                try:
                    while received.count(b"HTTP/1.1 ") < answers or not received.endswith(b"}"):
                        received += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    pass
        return received

    async def exactly(
        self, method: str, path: str, fields: Iterable[tuple[bytes, bytes]], body: bytes = b""
    ) -> tuple[int, str]:
        """Send a request with exactly these header fields; answers status and the rest."""
        length = [(b"Content-Length", str(len(body)).encode())] if body else []
        head = [(b"Host", b"127.0.0.1"), *fields, *length, (b"Connection", b"close")]
        lines = b"".join(b"%s: %s\r\n" % field for field in head)
        answer = await self.raw(
            b"%s %s HTTP/1.1\r\n%s\r\n%s" % (method.encode(), path.encode(), lines, body)
        )
        return int(answer.split(b" ", 2)[1]), answer.decode("latin-1")

    async def is_alive(self) -> bool:
        return (await self.http.get("/healthz")).status_code == 200

    async def begin(self) -> "Guarded":
        """Give the next test servers as they were at first, one episode, and no session."""
        for state in (await self.control("GET", "/v1/episodes")).json():
            await self.control("DELETE", f"/v1/episodes/{state['id']}")
        self.catalog.restore()
        episode = await self.open_episode()
        before = self.episodes.count_open()
        return replace(self, episode=episode, sessions={}, open_before=before)


OpenGuarded = Callable[..., AbstractAsyncContextManager[Guarded]]


@asynccontextmanager
async def open_gateway(home: Path, **rules: Any) -> AsyncGenerator[Guarded]:
    """Open a gateway over ``coins`` and ``notes``, which are in process, and ``files``, which relays."""
    relaying = ProbeServer("files", kind=ServerKind.DEPLOYED, relays=True)
    catalog = ProbeCatalog(ProbeServer("coins"), ProbeServer("notes"), relaying)
    metrics = Metrics()
    checked = access_rules(host="127.0.0.1", control_key=CONTROL_KEY, **rules)
    with bind("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with (
            open_episodes(
                catalog, home, secret=derive_secret(CONTROL_KEY), sinks=(metrics,)
            ) as episodes,
            open_app(catalog, episodes, rules=checked, metrics=metrics) as app,
            listen(app, listener),
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http,
        ):
            yield Guarded(url=url, catalog=catalog, episodes=episodes, http=http)


@pytest.fixture
def open_guarded(tmp_path: Path) -> OpenGuarded:
    """Opens a gateway of the test's own, at one home."""

    @asynccontextmanager
    async def open_it() -> AsyncGenerator[Guarded]:
        async with open_gateway(tmp_path / "home") as opened:
            yield await opened.begin()

    return open_it


@pytest.fixture(scope="module")
async def gateway_without_keys(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Guarded]:
    """One gateway for all tests of a module."""
    async with open_gateway(tmp_path_factory.mktemp("guarded") / "home") as opened:
        yield opened


@pytest.fixture(scope="module")
async def gateway_with_keys(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Guarded]:
    """One gateway for all tests of a module, whose interactive endpoints ask for a key."""
    home = tmp_path_factory.mktemp("keyed") / "home"
    async with open_gateway(home, api_keys=[API_KEY]) as opened:
        yield opened


@pytest.fixture
async def guarded(gateway_without_keys: Guarded) -> Guarded:
    """A gateway without API keys, with an episode of the test's own."""
    return await gateway_without_keys.begin()


@pytest.fixture
async def keyed(gateway_with_keys: Guarded) -> Guarded:
    """A gateway with an API key, with an episode of the test's own."""
    return await gateway_with_keys.begin()


@pytest.fixture(params=["handshake", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    """One of the protocol's eras."""
    return request.param


@pytest.fixture(params=["plain", "asking"])
def style(request: pytest.FixtureRequest) -> str:
    """Requests that the hot path answers, and such that need the whole of MCP."""
    return request.param


@pytest.fixture(params=["episode", "server", "relayed", "all"])
def place(request: pytest.FixtureRequest) -> str:
    """One of the agent plane's endpoints."""
    return request.param


@pytest.fixture
def open_watched(tmp_path: Path) -> Callable[..., Any]:
    """Opens a gateway whose ``coins`` is a real server that keeps what it hears."""

    @asynccontextmanager
    async def open_it(**options: Any) -> AsyncGenerator[tuple[Guarded, WatchedUpstream]]:
        async with open_harbour(tmp_path / "home", "coins", **options) as gateway:
            created = await gateway.open_episode("coins")
            guarded = Guarded(
                url=gateway.url,
                catalog=ProbeCatalog(),
                episodes=gateway.episodes,
                http=gateway.http,
                key=gateway.key,
                episode={"id": created.id},
            )
            yield guarded, gateway.upstream

    return open_it
