"""The one bridge to the MCP SDK: its types, its low-level server, and whose state a request belongs to.

Knows the protocol's two eras and their traps; knows neither bundles nor episodes. A server gives it two
functions (list the tools, call a tool) and gets an MCP server, which ``mcp_http`` and ``mcp_lines`` serve.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar, cast

import mcp_types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from astra_mcp.errors import (
    AstraError,
    CallFaultError,
    EpisodeEndedError,
    RelayedError,
    ShortageError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.types import ContentBlock, JsonObject, JsonValue, ToolResult, ToolSpec

__all__ = [
    "ANONYMOUS",
    "STDIO",
    "McpRequest",
    "answered",
    "build_server",
    "request_of",
    "result_to_mcp",
    "result_to_wire",
    "session_caller",
    "tool_to_mcp",
    "tool_to_wire",
]

ANONYMOUS = "anonymous"
"""The one state that all callers share who name neither a session, nor a key, nor themselves."""
STDIO = "stdio"
"""The caller of a process that was started for one client."""

_BLOCK: TypeAdapter[mcp_types.ContentBlock] = TypeAdapter(mcp_types.ContentBlock)

_log = logging.getLogger(__name__)


def tool_to_wire(tool: ToolSpec) -> JsonObject:
    """Render a tool as a list shows it, with all members that its server gave it."""
    described: JsonObject = {"description": tool.description} if tool.description else {}
    shown: JsonObject = {
        **tool.extra,
        "name": tool.name,
        **described,
        "inputSchema": tool.input_schema,
    }
    if tool.output_schema is not None:
        shown["outputSchema"] = tool.output_schema
    return shown


def tool_to_mcp(tool: ToolSpec) -> mcp_types.Tool:
    """Render a tool as the SDK's model."""
    return mcp_types.Tool.model_validate(tool_to_wire(tool), by_name=False)


def result_to_wire(result: ToolResult, version: str) -> JsonObject:
    """Render a result, or what a server needs before it can give one, as JSON.

    A content block that the revision does not have is shown as a text: its own, or its JSON.

    Args:
        result: As its server gave it.
        version: The protocol revision of the client.

    Raises:
        MCPError: The server refused the call by a JSON-RPC error, which this is.
    """
    if result.refusal is not None:
        raise _refusal(result.refusal)
    if result.asks is not None:
        return {"resultType": "input_required", **result.asks}
    content: list[JsonValue] = [_shown_block(block, version) for block in result.content]
    shown: JsonObject = {"content": content, "isError": result.is_error}
    is_modern = version not in HANDSHAKE_PROTOCOL_VERSIONS
    if isinstance(result.structured, dict) or (is_modern and result.structured is not None):
        shown["structuredContent"] = result.structured
    if result.meta is not None:
        shown["_meta"] = result.meta
    return shown


def _shown_block(block: ContentBlock, version: str) -> JsonObject:
    if block.keys() == {"type", "text"} and block["type"] == "text":
        return block
    result = {"resultType": "complete", "content": [block]}
    try:
        # The SDK takes a result with a block that it does not know for one without content.
        if methods.serialize_server_result("tools/call", version, result).get("content"):
            return block
    except ValidationError:
        pass
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str):
        return {"type": "text", "text": text}
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


def _refusal(error: JsonObject) -> MCPError:
    code = error.get("code")
    code = code if isinstance(code, int) else mcp_types.INTERNAL_ERROR
    return MCPError(code, str(error.get("message")), data=error.get("data"))


def result_to_mcp(result: ToolResult) -> mcp_types.CallToolResult:
    """Render a complete result as the SDK's model; blocks other than text pass through.

    Raises:
        MCPError: The server refused the call by a JSON-RPC error, which this is.
        pydantic.ValidationError: A content block is none that MCP has.
    """
    if result.refusal is not None:
        raise _refusal(result.refusal)
    return mcp_types.CallToolResult(
        content=[_block_to_mcp(block) for block in result.content],
        structured_content=result.structured,
        is_error=result.is_error,
        _meta=result.meta,
    )


def _block_to_mcp(block: ContentBlock) -> mcp_types.ContentBlock:
    if block.keys() == {"type", "text"} and block["type"] == "text":
        return mcp_types.TextContent(type="text", text=str(block["text"]))
    return _BLOCK.validate_python(block, by_name=False)


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
            return session_caller(headers.get("mcp-session-id", ""))
        scheme, _, key = headers.get("authorization", "").partition(" ")
        key = key.strip() if scheme.casefold() == "bearer" else ""
        token = self.http.query_params.get("caller", "")
        if not key and not token:
            return ANONYMOUS
        return f"caller-{_digest(f'{len(key)}:{key}{token}')}"


def session_caller(session_id: str) -> str:
    """Name the caller of a session of the handshake era; the name does not tell the id."""
    return f"session-{_digest(session_id)}"


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
        tools = await answered(list_tools(request_of(ctx)))
        # Lists differ by episode and caller: nobody may keep or share them.
        return mcp_types.ListToolsResult(
            tools=[tool_to_mcp(t) for t in tools], ttl_ms=0, cache_scope="private"
        )

    async def on_call(
        ctx: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        called = call_tool(request_of(ctx), params.name, params.arguments or {})
        return result_to_mcp(await answered(called))

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


def request_of(ctx: ServerRequestContext[Any, Any]) -> McpRequest:
    """Read what a handler may know of its request."""
    meta: object = (ctx.params or {}).get("_meta")
    known = cast("Mapping[str, Any]", meta) if isinstance(meta, Mapping) else dict[str, Any]()
    return McpRequest(ctx.protocol_version, known, cast("Request | None", ctx.request))


async def answered(answer: Awaitable[Answer]) -> Answer:
    """Await an answer; what goes wrong becomes the protocol's error for it.

    Raises:
        MCPError: As :func:`build_server` says; an error of a relayed server is passed on as it is, and a
            server that failed, or a machine that lacks something, is INTERNAL_ERROR with its message.
    """
    try:
        return await answer
    except EpisodeEndedError as error:
        raise MCPError(mcp_types.INVALID_REQUEST, str(error)) from None
    except RelayedError as error:
        raise MCPError(error.code, error.message, data=error.data) from None
    except (ShortageError, UpstreamError) as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from None
    except (UnknownNameError, CallFaultError) as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from None
    except AstraError as error:
        _log.exception("a request failed")
        raise MCPError(mcp_types.INTERNAL_ERROR, "the server failed") from error
