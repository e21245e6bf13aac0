"""An in-memory server and catalog behind the gateway's own Protocols."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from astra_mcp.errors import StartRefusedError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.testing import InMemoryCatalog, Question
from astra_mcp.types import (
    CallOutcome,
    JobItem,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.episodes.episode import Episode
from gateway.episodes.live import open_episodes
from servers.tools_only import ToolsOnly


class MemorySession:
    """Counts; can be told to wait, to fail, to raise, to kill and to answer much."""

    def __init__(self, server: "MemoryServer", past: Sequence[PastCall]) -> None:
        self.server = server
        self.total = 0
        self.is_closed = False
        for call in past:
            if call.outcome is CallOutcome.APPLIED:
                self._apply(call.tool, call.arguments)

    def _apply(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        if tool == "add":
            self.total = self.total * int(str(arguments.get("times", 1)))
            self.total += int(str(arguments.get("amount", 1)))
        return f"total {self.total} coins"

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        del exchange
        if self.server.refused_starts:
            self.server.refused_starts -= 1
            raise StartRefusedError("there are too many processes")
        self.server.executed.append((tool, dict(arguments)))
        match arguments.get("do"):
            case "wait":
                self.server.waiting.set()
                await self.server.release.wait()
            case "hang":
                await anyio.sleep_forever()
            case "break":
                raise ZeroDivisionError
            case "fail":
                return _reply("it is down", Origin.UPSTREAM, CallOutcome.REJECTED, is_error=True)
            case "kill" | "exhaust" as how:
                origin = Origin.TOOL if how == "kill" else Origin.LIMIT
                return _reply("it was stopped", origin, CallOutcome.KILLED, is_error=True)
            case "much":
                return _reply("x" * 5000, Origin.TOOL, CallOutcome.APPLIED)
            case "large":
                text = f"{'x ' * 200_000}{self._apply(tool, arguments)}"
                return _reply(text, Origin.TOOL, CallOutcome.APPLIED)
            case "grow":
                return _reply("\ufdfa" * 1000, Origin.TOOL, CallOutcome.APPLIED)
            case _:
                pass
        return _reply(self._apply(tool, arguments), Origin.TOOL, CallOutcome.APPLIED)

    async def aclose(self) -> None:
        self.is_closed = True


def _reply(
    text: str, origin: Origin, outcome: CallOutcome, *, is_error: bool = False
) -> UpstreamReply:
    result = ToolResult.from_text(text, is_error=is_error)
    return UpstreamReply(result=result, origin=origin, outcome=outcome)


@dataclass
class MemoryServer(ToolsOnly):
    """A server of counters, one for each session."""

    name: str = "coins"
    version: str = "v1"
    executed: list[tuple[str, dict[str, JsonValue]]] = field(
        default_factory=list[tuple[str, dict[str, JsonValue]]]
    )
    sessions: list[MemorySession] = field(default_factory=list[MemorySession])
    waiting: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)
    refused_starts: int = 0
    """So many of the next calls find no process."""
    kind: ServerKind = ServerKind.ENVIRONMENT
    tools: tuple[ToolSpec, ...] = (
        ToolSpec(name="add", description="Add", input_schema={"type": "object"}),
        ToolSpec(name="read", description="Read", input_schema={"type": "object"}),
    )

    @property
    def warnings(self) -> tuple[str, ...]:
        return ("in memory",)

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> MemorySession:
        assert len(key) == 64
        assert seed >= 0
        self.sessions.append(MemorySession(self, past))
        return self.sessions[-1]


class MemoryCatalog(InMemoryCatalog):
    """One environment named ``coins`` and, where asked for, a second server."""

    def __init__(self, *servers: MemoryServer) -> None:
        asked = Question("How many coins are there?", "3 coins", gold=[("add", {})])
        super().__init__(*servers, questions={server.name: asked for server in servers})
        self.servers = {server.name: server for server in servers}

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        first = super().job(environment, question)
        return (*first, JobItem(id=2, answer="5 coins", tools=("read",)))


@pytest.fixture
def server() -> MemoryServer:
    """The server behind the environment ``coins``."""
    return MemoryServer()


@pytest.fixture
def second_server() -> MemoryServer:
    """A server whose tools have the same names."""
    return MemoryServer(name="notes")


@pytest.fixture
def catalog(server: MemoryServer, second_server: MemoryServer) -> MemoryCatalog:
    """A catalog of both."""
    return MemoryCatalog(server, second_server)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    return tmp_path / "home"


@pytest.fixture
def life(catalog: MemoryCatalog, home: Path) -> Callable[..., Any]:
    """Opens the episodes of one home and one catalog, as each start of the gateway does."""
    return partial(open_episodes, catalog, home, secret=b"0" * 32)


@pytest.fixture
def running(server: MemoryServer) -> Callable[..., Any]:
    """Keeps a call at the server while the context is open; after it the call comes to its end."""

    @asynccontextmanager
    async def run(episode: Episode, amount: int = 1, **told: Any) -> AsyncGenerator[TaskGroup]:
        async with anyio.create_task_group() as group:
            arguments: dict[str, JsonValue] = {"do": "wait", "amount": amount}
            group.start_soon(partial(episode.call, "add", arguments, **told))
            with anyio.fail_after(5):
                await server.waiting.wait()
            yield group
            server.release.set()

    return run
