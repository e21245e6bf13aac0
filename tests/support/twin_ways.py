"""One gateway asked twice: by the hot path and by the SDK alone, with the same raw requests.

Each way has episodes, callers and sessions of its own, so that what one of them does is not seen by the
other.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import httpx
import orjson

from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.testing import InMemoryCatalog
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
from gateway.agents.hot_path import HotPath
from gateway.api.wire import EpisodeRequest
from gateway.app import open_app
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes
from servers.tools_only import ToolsOnly

from by_hand import MODERN, PREFIX, hello

KEY = "a control key for these tests"
RESULTS: Mapping[str, ToolResult] = {
    "fail": ToolResult.from_text("no such colour", is_error=True),
    "structure": ToolResult.from_value(
        {"red": 1, "none": None, "deep": {"x": [1.5]}}, structured=True
    ),
    "list": ToolResult(content=(), structured=[1, 2]),
    "two": ToolResult(
        content=({"type": "text", "text": "a"}, {"type": "text", "text": "\u00e9\u4e2d"})
    ),
    "image": ToolResult(
        content=({"type": "image", "data": "AAAA", "mimeType": "image/png", "own": 1},)
    ),
    "annotated": ToolResult(
        content=({"type": "text", "text": "a", "annotations": {"priority": 0.5}},)
    ),
    "strange": ToolResult(content=({"type": "smell", "of": "paint"},)),
    "meta": ToolResult(content=(), meta={"dev.example/cost": 3}),
    "named": ToolResult(content=(), meta={f"{PREFIX}serverInfo": {"name": "p", "version": "0"}}),
    "refuse": ToolResult(
        content=({"type": "text", "text": "no"},),
        is_error=True,
        refusal={"code": -32055, "message": "no", "data": {"why": "paint"}},
    ),
    "ask": ToolResult(content=(), asks={"requestState": "s"}),
}
"""What each tool answers; ``echo`` answers its arguments, ``break`` fails its server."""

_ask_the_sdk: ContextVar[bool] = ContextVar("ask_the_sdk", default=False)


@dataclass
class Palette(ToolsOnly):
    """A server with every kind of result."""

    name: str = "palette"
    kind: ServerKind = ServerKind.ENVIRONMENT
    version: str = "v1"
    tools: tuple[ToolSpec, ...] = tuple(
        ToolSpec(
            name=name,
            description=f"Tool {name}",
            input_schema={"type": "object", "properties": {}},
            output_schema={"type": "object"} if name == "structure" else None,
            extra={"title": "A title"} if name == "two" else {},
        )
        for name in ("echo", "break", *RESULTS)
    )
    heard: list[Exchange] = field(default_factory=list[Exchange])

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> "Palette":
        """There is no state."""
        del key, seed, past
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Answer what the tool's name says."""
        self.heard.append(exchange)
        if tool == "break":
            raise UpstreamError("upstream palette closed")
        text = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()
        result = RESULTS.get(tool) or ToolResult.from_text(text)
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back, less what may differ."""

    status: int
    content_type: str | None
    has_session: bool
    body: Any


@dataclass(frozen=True, kw_only=True)
class RawRequest:
    """A POST as it stands on the wire, but for the path."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def plus(self, *headers: tuple[bytes, bytes]) -> "RawRequest":
        """Add header lines."""
        return RawRequest(headers=(*self.headers, *headers), body=self.body)

    def without(self, name: bytes) -> "RawRequest":
        """Leave a header out."""
        return RawRequest(headers=tuple(h for h in self.headers if h[0] != name), body=self.body)


class Twins:
    """Both ways into one gateway."""

    def __init__(self, http: httpx.AsyncClient, episodes: Episodes, palette: Palette) -> None:
        self._http = http
        self._episodes = episodes
        self.palette = palette
        self.num_hot = 0
        """Requests that the hot path answered."""

    async def episode_paths(self) -> tuple[str, str]:
        """Open an episode for each way."""
        source = {"kind": "servers", "names": ["palette"]}
        request = EpisodeRequest.model_validate({"source": source})
        ids = [(await self._episodes.create(request)).id for _ in range(2)]
        return f"/episodes/{ids[0]}/mcp", f"/episodes/{ids[1]}/mcp"

    async def close(self, path: str) -> None:
        """Close the episode at a path."""
        await self._episodes.close(path.split("/")[2])

    async def open_session(self, path: str, version: str = "2025-11-25") -> bytes:
        """Open a session of the handshake era; answers its id."""
        answer = await self._send(path, post(hello(version)))
        assert answer.status_code == 200, answer.text
        session = answer.headers["mcp-session-id"].encode()
        ready = post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await self._send(path, ready.plus((b"mcp-session-id", session)))
        return session

    async def ask(self, path: str, request: RawRequest, *, sdk: bool) -> Answer:
        """Send a request by one of the ways."""
        token = _ask_the_sdk.set(sdk)
        try:
            answer = await self._send(path, request)
        finally:
            _ask_the_sdk.reset(token)
        return Answer(
            status=answer.status_code,
            content_type=answer.headers.get("content-type"),
            has_session="mcp-session-id" in answer.headers,
            body=answer.json() if answer.content[:1] == b"{" else answer.content,
        )

    async def _send(self, path: str, request: RawRequest) -> httpx.Response:
        headers = [(b"host", b"localhost"), *request.headers]
        asked = httpx.Request(
            "POST", f"http://localhost{path}", headers=headers, content=request.body
        )
        return await self._http.send(asked)


@asynccontextmanager
async def open_twins(home: Path) -> AsyncGenerator[Twins]:
    """Open a gateway whose hot path stands aside when the SDK is asked."""
    palette = Palette()
    catalog = InMemoryCatalog(palette)
    metrics = Metrics()
    answer = HotPath.answer
    twins: list[Twins] = []

    async def answer_or_not(self: HotPath, *asked: Any) -> bool:
        if _ask_the_sdk.get():
            return False
        is_answered = await answer(self, *asked)
        twins[0].num_hot += is_answered
        return is_answered

    async with (
        open_episodes(catalog, home, secret=b"s" * 32, sinks=(metrics,)) as episodes,
        open_app(
            catalog,
            episodes,
            rules=access_rules(host="127.0.0.1", control_key=KEY),
            metrics=metrics,
        ) as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), trust_env=False) as http,
    ):
        twins.append(Twins(http, episodes, palette))
        with patch.object(HotPath, "answer", answer_or_not):
            yield twins[0]


def post(message: Any, *headers: tuple[bytes, bytes]) -> RawRequest:
    """Make a POST of a JSON value, or of bytes as they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    plain = (
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    )
    return RawRequest(headers=(*plain, *headers), body=body)


def modern(message: Any, *, name: str | None = None, method: str | None = None) -> RawRequest:
    """Make a POST of the modern era, with the routing headers that its message asks for."""
    said = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    inner = said.get("params")
    params = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    routing: dict[bytes, Any] = {
        b"mcp-method": method or said.get("method"),
        b"mcp-name": params.get("name") if name is None else name,
    }
    shown = {k: v.encode("utf-8", "replace") for k, v in routing.items() if isinstance(v, str)}
    return post(message, (b"mcp-protocol-version", MODERN.encode()), *shown.items())
