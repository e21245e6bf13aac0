"""Opens deployed servers for tests: files that name them, a channel that remembers, servers over HTTP."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from astra_mcp.errors import RelayedError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.types import JsonObject, JsonValue, PastCall, UpstreamReply
from servers.deployed import DeployedServer, DeployedServers, DeployedSession, open_deployed

from processes import table

RAW_SERVER = Path(__file__).with_name("raw_stdio_server.py")
Noted = tuple[DeployedServers, Callable[[], list[str]]]
"""Servers, and what gives the calls that they have written down."""


def raw_entry(*eras: str, **members: Any) -> dict[str, Any]:
    """An entry of a server that does what servers should not."""
    return {"command": sys.executable, "args": ["-S", str(RAW_SERVER), *eras], **members}


def write_config(folder: Path, **servers: Mapping[str, Any]) -> Path:
    """Write a file of servers."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@asynccontextmanager
async def deployed(folder: Path, **servers: Mapping[str, Any]) -> AsyncGenerator[DeployedServers]:
    """Open servers of a file, with the home beside it."""
    async with open_deployed(write_config(folder, **servers), home=folder / "home") as opened:
        yield opened


@dataclass
class MemoryChannel:
    """A client that can do some things, and remembers what it was told and asked."""

    capabilities: Mapping[str, JsonValue] = field(default_factory=lambda: {"sampling": {}})
    answers: list[JsonObject | RelayedError] = field(
        default_factory=list[JsonObject | RelayedError]
    )
    told: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])
    asked: list[tuple[str, JsonObject]] = field(default_factory=list[tuple[str, JsonObject]])

    async def notify(self, method: str, params: JsonObject) -> None:
        self.told.append((method, params))

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append((method, params))
        answer = self.answers.pop(0)
        if isinstance(answer, RelayedError):
            raise answer
        return answer


@asynccontextmanager
async def over_http(app: ASGIApp, port: int = 0) -> AsyncGenerator[str]:
    """Serve an application on a socket of this machine; yields its URL."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=port,
            log_config=None,  # its own would stay for every later test of the process
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
        )
    )
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve)
        await until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True


def answering(respond: Callable[[Request], Response]) -> ASGIApp:
    """An application that answers every request so."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await respond(Request(scope))(scope, receive, send)

    return app


def event_response(*parts: bytes) -> httpx2.Response:
    """A stream of events, in the pieces in which its bytes arrive."""

    async def body() -> AsyncGenerator[bytes]:
        for part in parts:
            yield part

    return httpx2.Response(
        200,
        headers={"content-type": "text/event-stream; charset=ascii"},
        content=body(),
        request=httpx2.Request("GET", "http://raw"),
    )


def session(
    servers: DeployedServers,
    name: str = "raw",
    *,
    key: str = "key-1",
    past: Sequence[PastCall] = (),
) -> DeployedSession:
    """Make a session of a server that exists."""
    return found(servers, name).open_session(key=key, seed=0, past=past)


def found(servers: DeployedServers, name: str = "raw") -> DeployedServer:
    """A server that exists."""
    server = servers.find(name)
    assert server is not None
    return server


async def text_of(
    one: DeployedSession, tool: str = "count", exchange: Exchange = SILENT, /, **arguments: Any
) -> str:
    """Call a tool, and give the text of its answer."""
    return (await one.call(tool, arguments, exchange)).result.text


@asynccontextmanager
async def noting(folder: Path, *eras: str, **members: Any) -> AsyncGenerator[Noted]:
    """Open a raw server that writes its calls down; gives the servers, and what it has written."""
    calls = folder / "calls"
    entry = raw_entry(*eras, env={"CALLS": str(calls)}, **members)
    async with deployed(folder, raw=entry) as servers:
        yield servers, lambda: calls_of(calls)


@asynccontextmanager
async def online(folder: Path, app: ASGIApp, **members: Any) -> AsyncGenerator[DeployedServers]:
    """Open the server that an application is over HTTP."""
    async with over_http(app) as url, deployed(folder, raw={"url": url, **members}) as servers:
        yield servers


@asynccontextmanager
async def until_left(call: Callable[[], Coroutine[Any, Any, object]]) -> AsyncGenerator[None]:
    """Have a call under way, and cancel it at the end."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            yield
            group.cancel_scope.cancel()


def structured(reply: UpstreamReply) -> dict[str, Any]:
    """The structured content of a result that has an object there."""
    value = reply.result.structured
    assert isinstance(value, dict)
    return cast("dict[str, Any]", value)


async def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for what happens in another process, or in a task that tells nobody."""
    with anyio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 - there is nothing to be told by
            await anyio.sleep(0.01)


def raw_processes() -> list[int]:
    """The raw servers that this process has started itself, and not a gateway that it has started."""
    children = [process.pid for process in table() if process.parent == os.getpid()]
    return [pid for pid in children if _is_raw(pid)]


def _is_raw(pid: int) -> bool:
    try:
        return RAW_SERVER.name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def calls_of(file: Path) -> list[str]:
    """What a raw server wrote down."""
    return file.read_text().splitlines() if file.exists() else []
