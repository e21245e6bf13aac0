"""The one bridge to the MCP SDK: its types, its low-level server, and whose state a request belongs to.

Knows the protocol's two eras and their traps; knows neither bundles nor episodes. Servers and the gateway
give it two functions (list the tools, call a tool) and get an MCP server for stdio and HTTP.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

import anyio
import mcp_types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp.errors import AstraError, CallFaultError, EpisodeEndedError, UnknownNameError
from astra_mcp.stdio import LineWire, claim_stdio
from astra_mcp.types import ContentBlock, JsonObject, ToolResult, ToolSpec

__all__ = [
    "ANONYMOUS",
    "STDIO",
    "McpRequest",
    "build_server",
    "open_http",
    "result_from_mcp",
    "result_to_mcp",
    "serve_lines",
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
FINISH_SECONDS = 30.0
"""So long after the end of the input a process goes on to answer what it has read."""

_BLOCK: TypeAdapter[mcp_types.ContentBlock] = TypeAdapter(mcp_types.ContentBlock)
_REPEATED = "another request with this id is under way"

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

    endpoint = _DistinctIds(manager.handle_request, max_body_bytes)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            # Nothing is ever sent unasked; a stream for it would only keep the server from stopping.
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)
            return
        # httptools keeps white space around header values; the protocol compares them exactly.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await endpoint({**scope, "headers": headers}, receive, send)

    async with manager.run():
        yield app


class _RefusedError(Exception):
    """A message that the SDK does not get to see, as the answer that says why."""

    def __init__(self, code: int, message: str, request: mcp_types.RequestId | None = None) -> None:
        super().__init__(code, message)
        error = mcp_types.ErrorData(code=code, message=message)
        self.answer = mcp_types.JSONRPCError(jsonrpc="2.0", id=request, error=error)


class _DistinctIds:
    """Refuses a request of a session whose id another one under way has; the SDK mixes their answers up.

    The modern era needs none of it: there each request is alone.
    """

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._under_way: set[tuple[str, mcp_types.RequestId]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        session = headers.get("mcp-session-id")
        version = headers.get("mcp-protocol-version")
        is_modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        if session is None or is_modern or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, replayed = await self._take_body(receive)
        found = _request_id(body)
        if found is None:
            await self._app(scope, replayed, send)
            return
        key = (session, coerce_request_id(found))
        if key in self._under_way:
            refused = _RefusedError(mcp_types.INVALID_REQUEST, _REPEATED, found)
            content = _encode(refused.answer)
            answer = Response(content, status_code=400, media_type="application/json")
            await answer(scope, receive, send)
            return
        self._under_way.add(key)
        try:
            await self._app(scope, replayed, send)
        finally:
            self._under_way.discard(key)

    async def _take_body(self, receive: Receive) -> tuple[bytes, Receive]:
        """Take in a body, or its beginning where it is too large; the application gets it again."""
        taken: list[Message] = []
        body = bytearray()
        goes_on = True
        while goes_on and len(body) <= self._max_body_bytes:
            taken.append(await receive())
            body += taken[-1].get("body", b"")
            goes_on = taken[-1].get("more_body", False)

        async def replayed() -> Message:
            return taken.pop(0) if taken else await receive()

        return bytes(body), replayed


def _request_id(body: bytes) -> mcp_types.RequestId | None:
    try:
        value = from_json(body)
    except ValueError:
        return None  # the transport says so
    return _id_of(value) if isinstance(value, dict) and "method" in value else None


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output until it closes either.

    Whatever else the process prints goes to standard error. Can be cancelled at any time, unlike a read
    in a thread, so a signal ends it at once.
    """
    with claim_stdio(max_line_bytes=MAX_BODY_BYTES) as wire:
        await serve_lines(server, wire)


async def serve_lines(
    server: Server[Any], wire: LineWire, *, finish_seconds: float = FINISH_SECONDS
) -> None:
    """Serve one client whose messages are lines.

    After the end of the input every request is still answered. Where nobody reads the answers, it is over.

    Args:
        server: Made by :func:`build_server`.
        wire: Where lines come from and go to.
        finish_seconds: Requests that take longer after the end of the input are answered as errors.
    """
    async with anyio.create_task_group() as group:
        await _LineSession(wire, group, finish_seconds).run(server)


class _LineSession:
    """One client: what it asked and what it is still owed."""

    def __init__(self, wire: LineWire, group: TaskGroup, finish_seconds: float) -> None:
        self._wire = wire
        self._group = group
        self._finish_seconds = finish_seconds
        self._owed: set[mcp_types.RequestId] = set()
        self._settled = anyio.Event()
        self._writing = anyio.Lock()

    async def run(self, server: Server[Any]) -> None:
        asking, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answering, answers = anyio.create_memory_object_stream[SessionMessage](0)
        async with asking, asked, answering, answers:
            self._group.start_soon(self._read, asking.clone())
            self._group.start_soon(self._write, answers.clone())
            asking.close()
            answers.close()
            await server.run(asked, answering, server.create_initialization_options())

    async def _read(self, asking: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with asking:
            async for line in self._wire.lines():
                if line is not None and not line.strip():
                    continue
                try:
                    message = _message_of(line)
                    await asking.send(self._admit(message))
                except _RefusedError as refused:
                    await self._send(refused.answer)
            with anyio.move_on_after(self._finish_seconds):
                while self._owed:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    def _admit(self, message: mcp_types.JSONRPCMessage) -> SessionMessage:
        if not isinstance(message, mcp_types.JSONRPCRequest):
            return SessionMessage(message)
        if coerce_request_id(message.id) in self._owed:
            raise _RefusedError(mcp_types.INVALID_REQUEST, _REPEATED, message.id)
        self._owed.add(coerce_request_id(message.id))

        async def settle() -> None:
            self._settle(message.id)

        # A request that its client cancelled gets no answer.
        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=settle))

    def _settle(self, request: mcp_types.RequestId) -> None:
        self._owed.discard(coerce_request_id(request))
        self._settled.set()

    async def _write(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for answer in answers:
                await self._send(answer.message)
                match answer.message:
                    case mcp_types.JSONRPCResponse(id=request):
                        self._settle(request)
                    case mcp_types.JSONRPCError(id=str() | int() as request):
                        self._settle(request)
                    case _:
                        pass

    async def _send(self, message: mcp_types.JSONRPCMessage) -> None:
        try:
            async with self._writing:
                await self._wire.write(_encode(message) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            self._group.cancel_scope.cancel()  # nobody is left to serve


def _message_of(line: bytes | None) -> mcp_types.JSONRPCMessage:
    if line is None:
        msg = f"a message has at most {MAX_BODY_BYTES} bytes"
        raise _RefusedError(mcp_types.INVALID_REQUEST, msg)
    try:
        value = from_json(line)
    except ValueError as error:
        raise _RefusedError(mcp_types.PARSE_ERROR, f"no JSON: {error}") from None
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        msg = "no JSON-RPC message"
        raise _RefusedError(mcp_types.INVALID_REQUEST, msg, _id_of(value)) from None
    if isinstance(message, mcp_types.JSONRPCNotification) and "id" in value:
        # The SDK takes a request whose id it cannot read for a notification.
        msg = "the id of a request is a string or a whole number"
        raise _RefusedError(mcp_types.INVALID_REQUEST, msg)
    return message


def _id_of(value: Any) -> mcp_types.RequestId | None:
    found = cast("JsonObject", value).get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _encode(message: mcp_types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
