"""Serving an MCP server of the SDK over Streamable HTTP, in both eras.

Knows the SDK's session manager and ASGI; knows neither what a server offers nor who may reach it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import coerce_request_id
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp.mcp.lines import MAX_BODY_BYTES, REPEATED, MessageRefusedError, encode, id_of

__all__ = ["MAX_SESSIONS", "SESSION_IDLE_SECONDS", "open_http"]

SESSION_IDLE_SECONDS = 1800.0
MAX_SESSIONS = 10_000


@asynccontextmanager
async def open_http(
    server: Server[Any],
    *,
    max_body_bytes: int = MAX_BODY_BYTES,
    session_idle_seconds: float | None = SESSION_IDLE_SECONDS,
    json_answers: bool = True,
    has_news: bool = False,
) -> AsyncGenerator[ASGIApp]:
    """Serve a server over Streamable HTTP, in both eras, at whatever path it is mounted.

    Checks no ``Host``, ``Origin`` or key: put a gate before it.

    Args:
        server: One of the SDK's low-level servers.
        max_body_bytes: A larger request answers 413.
        session_idle_seconds: A session of the handshake era ends after this long without a request; None
            leaves that to the caller.
        json_answers: Answer plain JSON, which is cheaper than event streams; then nothing but its result
            reaches the client of a request (progress, log messages, questions).
        has_news: The server sends what nobody asked for, so a session may open a stream for it.
    """
    manager = StreamableHTTPSessionManager(
        server,
        json_response=json_answers,
        max_request_body_size=max_body_bytes,
        session_idle_timeout=session_idle_seconds,
        max_sessions=MAX_SESSIONS,
    )

    endpoint = _DistinctIds(manager.handle_request, max_body_bytes)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET" and not has_news:
            # Nothing is ever sent unasked; a stream for it would only keep the server from stopping.
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)
            return
        # httptools keeps white space around header values; the protocol compares them exactly.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        # No event has an id here, so there is nothing to resume; the SDK would answer nothing at all.
        headers = [(name, value) for name, value in headers if name != b"last-event-id"]
        await endpoint({**scope, "headers": headers}, receive, send)

    async with manager.run():
        yield app


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
            refused = MessageRefusedError(mcp_types.INVALID_REQUEST, REPEATED, found)
            content = encode(refused.answer)
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
    return id_of(value) if isinstance(value, dict) and "method" in value else None
