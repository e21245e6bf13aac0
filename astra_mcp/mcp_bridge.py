"""The one bridge to the MCP SDK: its types, its low-level server, and whose state a request belongs to.

Knows the protocol's two eras and their traps; knows neither bundles nor episodes. Servers and the gateway
give it two functions (list the tools, call a tool) and get an MCP server for stdio and HTTP.
"""

import logging
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

import anyio
import mcp_types
from mcp import MCPError, stdio_server
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from astra_mcp.errors import AstraError, CallFaultError, EpisodeEndedError, UnknownNameError
from astra_mcp.types import ContentBlock, JsonObject, ToolResult, ToolSpec

__all__ = [
    "ANONYMOUS",
    "STDIO",
    "McpRequest",
    "build_server",
    "open_http",
    "result_from_mcp",
    "result_to_mcp",
    "serve_stdio",
    "tool_from_mcp",
    "tool_to_mcp",
]

ANONYMOUS = "anonymous"
"""The one state that all callers share who name neither a session, nor a key, nor themselves."""
STDIO = "stdio"
"""The caller of a process that was started for one client."""

MAX_BODY_BYTES = 4 << 20
SESSION_IDLE_SECONDS = 1800.0
MAX_SESSIONS = 10_000

_BLOCK: TypeAdapter[mcp_types.ContentBlock] = TypeAdapter(mcp_types.ContentBlock)
_READ_BYTES = 1 << 16
_TOO_LONG = f"(a line of more than {MAX_BODY_BYTES} bytes)"

_log = logging.getLogger(__name__)


# --- values -------------------------------------------------------------------------------------


def tool_to_mcp(tool: ToolSpec) -> mcp_types.Tool:
    """Render a tool as it is listed."""
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )


def tool_from_mcp(tool: mcp_types.Tool) -> ToolSpec:
    """Read a listed tool; a missing description is empty."""
    return ToolSpec(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )


def result_to_mcp(result: ToolResult) -> mcp_types.CallToolResult:
    """Render a result; blocks other than text pass through.

    Raises:
        pydantic.ValidationError: A content block is none that MCP has.
    """
    return mcp_types.CallToolResult(
        content=[_block_to_mcp(block) for block in result.content],
        structured_content=result.structured,
        is_error=result.is_error,
    )


def result_from_mcp(result: mcp_types.CallToolResult) -> ToolResult:
    """Read a result of a server."""
    return ToolResult(
        content=tuple(
            b.model_dump(mode="json", by_alias=True, exclude_none=True) for b in result.content
        ),
        structured=result.structured_content,
        is_error=result.is_error,
    )


def _block_to_mcp(block: ContentBlock) -> mcp_types.ContentBlock:
    if block.keys() == {"type", "text"} and block["type"] == "text":
        return mcp_types.TextContent(type="text", text=str(block["text"]))
    return _BLOCK.validate_python(block, by_name=False)


# --- requests -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class McpRequest:
    """What a handler may know of the request that it answers."""

    protocol_version: str
    meta: Mapping[str, Any]
    """``_meta`` of the request; empty where there is none."""
    http: Request | None
    """The HTTP request; None over stdio."""

    @property
    def caller(self) -> str:
        """Name whose state the request belongs to at an interactive endpoint.

        The MCP session in the handshake era. In the modern era, which has no session, the API key and
        the ``?caller=`` token (tokens are apart for each key); without either, :data:`ANONYMOUS`. Secrets
        are digested, so the name may be written down.
        """
        if self.http is None:
            return STDIO
        headers = self.http.headers
        if self.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return f"session-{_digest(headers.get('mcp-session-id', ''))}"
        scheme, _, key = headers.get("authorization", "").partition(" ")
        key = key.strip() if scheme.casefold() == "bearer" else ""
        token = self.http.query_params.get("caller", "")
        if not key and not token:
            return ANONYMOUS
        return f"caller-{_digest(f'{len(key)}:{key}{token}')}"


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()[:32]


Answer = TypeVar("Answer")
ListTools = Callable[[McpRequest], Awaitable[Sequence[ToolSpec]]]
CallTool = Callable[[McpRequest, str, JsonObject], Awaitable[ToolResult]]


def build_server(
    name: str,
    *,
    version: str,
    list_tools: ListTools,
    call_tool: CallTool,
    instructions: str | None = None,
) -> Server[Any]:
    """Make the low-level MCP server of two functions; it speaks both eras.

    An :class:`~astra_mcp.errors.AstraError` that a function raises becomes a protocol error: an unknown
    name or a bad sequence number INVALID_PARAMS, an ended episode INVALID_REQUEST, both with their
    message; anything else INTERNAL_ERROR, whose details stay in the log.

    Args:
        name: What the server calls itself.
        version: The version that goes with the name.
        list_tools: Lists the tools, in order. Must depend on the endpoint and the key alone, never on
            earlier requests.
        call_tool: Calls a tool; raises ``UnknownNameError`` with the available names where it has none.
        instructions: What an agent should know before it calls a tool.
    """

    async def on_list(
        ctx: ServerRequestContext[Any, Any], _: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        tools = await _answer(list_tools(_request(ctx)))
        # Lists differ by episode and caller: nobody may keep or share them.
        return mcp_types.ListToolsResult(
            tools=[tool_to_mcp(t) for t in tools], ttl_ms=0, cache_scope="private"
        )

    async def on_call(
        ctx: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        called = call_tool(_request(ctx), params.name, params.arguments or {})
        return result_to_mcp(await _answer(called))

    server: Server[Any] = Server(
        name,
        version=version,
        instructions=instructions,
        on_list_tools=on_list,
        on_call_tool=on_call,
        # Without it, the modern era runs tools/list before every call (3.4 ms for 100 tools). None: no
        # tool declares parameters that travel as headers.
        get_tool_input_schema=lambda _: None,
    )
    server.middleware.clear()  # spans for every message; nothing here reads them
    return server


def _request(ctx: ServerRequestContext[Any, Any]) -> McpRequest:
    meta = cast("Mapping[str, Any]", ctx.meta or {})
    return McpRequest(ctx.protocol_version, meta, cast("Request | None", ctx.request))


async def _answer(answer: Awaitable[Answer]) -> Answer:
    try:
        return await answer
    except EpisodeEndedError as error:
        raise MCPError(mcp_types.INVALID_REQUEST, str(error)) from None
    except (UnknownNameError, CallFaultError) as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from None
    except AstraError as error:
        _log.exception("a request failed")
        raise MCPError(mcp_types.INTERNAL_ERROR, "the server failed") from error


# --- transports ---------------------------------------------------------------------------------


@asynccontextmanager
async def open_http(
    server: Server[Any],
    *,
    max_body_bytes: int = MAX_BODY_BYTES,
    session_idle_seconds: float = SESSION_IDLE_SECONDS,
) -> AsyncGenerator[ASGIApp]:
    """Serve a server over Streamable HTTP, in both eras, at whatever path it is mounted.

    Answers are plain JSON; that is cheaper than event streams, and no tool reports progress. Checks no
    ``Host``, ``Origin`` or key: put a gate before it.

    Args:
        server: Made by :func:`build_server`; can be served once.
        max_body_bytes: A larger request answers 413.
        session_idle_seconds: A session of the handshake era ends after this long without a request.
    """
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        max_request_body_size=max_body_bytes,
        session_idle_timeout=session_idle_seconds,
        max_sessions=MAX_SESSIONS,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            # Nothing is ever sent unasked; a stream for it would only keep the server from stopping.
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)
            return
        # httptools keeps white space around header values; the protocol compares them exactly.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request({**scope, "headers": headers}, receive, send)

    async with manager.run():
        yield app


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output until it closes the input.

    Whatever else the process prints goes to standard error. Can be cancelled at any time, unlike a read
    in a thread, so a signal ends it at once.
    """
    with os.fdopen(os.dup(0), "rb", buffering=0) as wire:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        lines = cast("anyio.AsyncFile[str]", _lines(wire.fileno()))
        async with stdio_server(stdin=lines) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """Read lines; waits for a pipe or a terminal, reads a file at once."""
    waits = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    rest = bytearray()
    is_too_long = False
    while True:
        if waits:
            await anyio.wait_readable(descriptor)
        else:
            await anyio.lowlevel.checkpoint()
        chunk = os.read(descriptor, _READ_BYTES)
        first, *others = chunk.split(b"\n")
        rest += first if not is_too_long else b""
        if len(rest) > MAX_BODY_BYTES:
            is_too_long = True
            rest.clear()
        is_over = not chunk
        if is_over and (rest or is_too_long):
            others = [b""]
        for following in others:
            # A line that is too long stands as one that is no JSON, which the protocol answers.
            yield _TOO_LONG if is_too_long else rest.decode(errors="replace")
            is_too_long = False
            rest = bytearray(following)
        if is_over:
            return
