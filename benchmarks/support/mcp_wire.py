"""A small MCP client of both eras that keeps nothing back: what came, as it came.

Unlike ``gateway.api.client`` it never retries, so that it reports what the gateway did with one request.
"""

import itertools
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import orjson
from anyio.abc import SocketAttribute

from astra_mcp.mcp.request_context import Era
from gateway.api.wire import CALL_ID_KEY

__all__ = [
    "HANDSHAKE",
    "MODERN",
    "Answer",
    "Kind",
    "McpWire",
    "modern_meta",
    "open_pool",
    "send_and_leave",
]

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
_ids = itertools.count(1)


class Kind(StrEnum):
    """What sort of answer came."""

    RESULT = "result"
    """A tool's result."""
    ERROR = "error"
    """A result marked as an error."""
    REFUSAL = "refusal"
    """A JSON-RPC error."""
    LATER = "later"
    """To be asked again: the gateway has something to do first (503), or has lost the session."""
    NOTHING = "nothing"
    """No HTTP answer that could be understood: the connection broke, or nothing came in time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back on one request."""

    kind: Kind
    text: str
    """Of the result or the error; what broke where nothing came."""
    structured: Any = None


def modern_meta() -> dict[str, Any]:
    """``_meta`` that every request of the modern era carries."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    }


def open_pool(seconds: float = 60.0) -> httpx2.AsyncClient:
    """Open the connections of any number of clients.

    Args:
        seconds: Deadline of one request.
    """
    limits = httpx2.Limits(max_connections=512, max_keepalive_connections=512)
    return httpx2.AsyncClient(limits=limits, timeout=seconds, trust_env=False)


class McpWire:
    """One client of one endpoint."""

    def __init__(self, url: str, era: Era, pool: httpx2.AsyncClient) -> None:
        self._url = url
        self._era = era
        self._pool = pool
        self._session: dict[str, str] | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any], call_id: str) -> Answer:
        """Call a tool once; a handshake comes first where the era has one."""
        meta: dict[str, Any] = {CALL_ID_KEY: call_id}
        try:
            if self._era is Era.HANDSHAKE and self._session is None:
                await self._shake_hands()
            if self._era is Era.MODERN:
                meta |= modern_meta()
            params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
            response = await self._post("tools/call", params, name=tool)
            if response.status_code == 404 and self._session is not None:
                self._session = None
                return Answer(Kind.LATER, "the session is not known any more")
            return _understand(response)
        except (httpx2.HTTPError, ValueError) as error:
            return Answer(Kind.NOTHING, f"{type(error).__name__}: {error}")

    async def _shake_hands(self) -> None:
        hello = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        answer = await self._post("initialize", hello)
        if "mcp-session-id" not in answer.headers:
            msg = f"HTTP {answer.status_code} on the handshake: {answer.text[:200]}"
            raise ValueError(msg)
        self._session = {
            "Mcp-Session-Id": answer.headers["mcp-session-id"],
            "MCP-Protocol-Version": HANDSHAKE,
        }
        await self._post("notifications/initialized", {}, number=False)

    async def _post(
        self, method: str, params: dict[str, Any], *, name: str = "", number: bool = True
    ) -> httpx2.Response:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **(self._session or {}),
        }
        if self._era is Era.MODERN:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name}
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number:
            body["id"] = next(_ids)
        return await self._pool.post(self._url, content=orjson.dumps(body), headers=headers)


def _understand(response: httpx2.Response) -> Answer:
    kind = response.headers.get("content-type", "")
    text = response.text
    if kind.startswith("text/event-stream"):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        return Answer(Kind.NOTHING, f"HTTP {response.status_code}: {text[:200]!r}")
    if response.status_code == 503:
        return Answer(Kind.LATER, str(message.get("error", {}).get("message", message)))
    if "result" not in message:
        return Answer(Kind.REFUSAL, str(message.get("error", {}).get("message", message)))
    result = message["result"]
    words = "\n".join(str(b.get("text", "")) for b in result.get("content", ()))
    is_error = result.get("isError", False)
    structured = result.get("structuredContent")
    return Answer(Kind.ERROR if is_error else Kind.RESULT, words, structured)


async def send_and_leave(
    url: str,
    tool: str,
    arguments: Mapping[str, Any],
    call_id: str,
    *,
    stay: Callable[[], Awaitable[Any]],
    reset: bool,
) -> None:
    """Send a call of the modern era by hand, and close the connection without reading an answer.

    Args:
        url: Of the endpoint.
        tool: Is called.
        arguments: Its arguments.
        call_id: Names the call.
        stay: Is awaited before the connection is closed.
        reset: Close it by a reset.

    Raises:
        OSError: Nobody listens, or the connection broke.
    """
    address = urlsplit(url)
    meta = {CALL_ID_KEY: call_id, **modern_meta()}
    params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    try:
        stream = await anyio.connect_tcp(address.hostname or "", address.port or 0)
        async with stream:
            await stream.send(head.encode() + body)
            await stay()
            if reset:
                raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    except anyio.BrokenResourceError as error:
        raise ConnectionResetError("the connection broke") from error
