"""A gateway on a real socket over one small server in this process, whose tools can go wrong."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from astra_mcp.errors import UnknownNameError, UpstreamError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.reward import JobItem
from astra_mcp.serving.http.server import bind, listen, url_of
from astra_mcp.types import (
    CallOutcome,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.api.client import GatewayClient
from gateway.api.seams import EnvironmentInfo, GoldCall, Upstream
from gateway.app import open_app
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

from in_memory_tools import spec
from tools_only import ToolsOnly, Unchanging

KEY = "a control key for these tests"
NAME = "harbour"


@dataclass
class HarbourServer(ToolsOnly):
    """Tools: ``look`` solves the job, ``sink`` fails the server."""

    name: str = NAME
    kind: ServerKind = ServerKind.ENVIRONMENT
    tools: tuple[ToolSpec, ...] = tuple(spec(name, {}, []) for name in ("look", "sink"))
    version: str = "v1"
    marks: tuple[str, ...] = ()
    closing: anyio.Event = field(default_factory=anyio.Event)
    """Set when a session begins to close."""
    may_close: anyio.Event | None = None
    """Sessions close only once it is set."""

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> "HarbourServer":
        """There is no state."""
        del key, seed, past
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool."""
        del arguments, exchange
        if tool == "sink":
            raise UpstreamError("the harbour is flooded")
        result = ToolResult.from_text("a ship of 300 tons")
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """Wait where the test wants it; there is nothing to release."""
        self.closing.set()
        if self.may_close is not None:
            await self.may_close.wait()


@dataclass
class HarbourCatalog(Unchanging):
    """One environment."""

    server: HarbourServer

    def environments(self) -> Sequence[EnvironmentInfo]:
        """The one."""
        info = EnvironmentInfo(
            name=NAME,
            title="A harbour",
            description="Look at ships",
            version="v1",
            status="verified",
            domain="logistics",
            language="en",
            scenario_type="Single-Hop",
            question=self.question(NAME),
            sub_tasks=1,
            tools=self.server.tools,
        )
        return (info,)

    def question(self, environment: str) -> str:
        """The main question."""
        self.upstream(environment)
        return "How heavy is the ship?"

    def job(self, environment: str) -> tuple[JobItem, ...]:
        """One sub-task."""
        self.upstream(environment)
        return (JobItem(id=1, answer="300 tons", tools=("look",)),)

    def gold(self, environment: str) -> tuple[GoldCall, ...]:
        """One call."""
        self.upstream(environment)
        return (GoldCall(tool="look", arguments={}, solves=(1,)),)

    def upstreams(self) -> Sequence[Upstream]:
        """The one."""
        return (self.server,)

    def upstream(self, name: str) -> Upstream:
        """The one, by name."""
        if name != NAME:
            msg = f"no server is named {name!r}"
            raise UnknownNameError(msg)
        return self.server


@dataclass(frozen=True, kw_only=True)
class SmallGateway:
    """The gateway, its server, and a client of its control plane."""

    url: str
    server: HarbourServer
    episodes: Episodes
    client: GatewayClient


@asynccontextmanager
async def open_small_gateway(home: Path) -> AsyncGenerator[SmallGateway]:
    """Serve the harbour while the context is open."""
    server = HarbourServer()
    catalog = HarbourCatalog(server)
    metrics = Metrics()
    rules = access_rules(host="127.0.0.1", control_key=KEY)
    with bind("127.0.0.1", 0) as listener:
        async with (
            open_episodes(catalog, home, secret=b"s", sinks=(metrics,)) as episodes,
            open_app(catalog, episodes, rules=rules, metrics=metrics) as app,
            listen(app, listener),
            GatewayClient(url_of(listener), KEY) as client,
        ):
            url = url_of(listener)
            yield SmallGateway(url=url, server=server, episodes=episodes, client=client)
