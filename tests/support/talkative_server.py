"""A low-level server of the SDK that speaks to its clients while it works; for tests in one process."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from starlette.types import ASGIApp, Receive, Scope, Send

Context = ServerRequestContext[Any, Any]
SCHEMA: dict[str, Any] = {"type": "object"}
MIRRORED: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


@dataclass
class Talkative:
    """The server, and what tests want to know of it."""

    tools: list[str] = field(
        default_factory=lambda: ["count", "report", "elicit", "wait", "grow", "drop", "mirror"]
    )
    calls: Counter[str] = field(default_factory=Counter[str])
    """By session; the modern era has none."""
    waiting: anyio.Event = field(default_factory=anyio.Event)
    was_cancelled: anyio.Event = field(default_factory=anyio.Event)
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)

    def server(self) -> Server[Any]:
        """Make the server."""
        made = Server(
            "talkative",
            version="1",
            instructions="talk to me",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._list_resources,
            on_subscriptions_listen=ListenHandler(self.bus),
            get_tool_input_schema=lambda name: MIRRORED if name == "mirror" else None,
        )
        make = made.create_initialization_options

        def options(*_: Any, **__: Any) -> Any:
            return make(NotificationOptions(tools_changed=True))

        made.create_initialization_options = options
        return made

    async def _list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [
            types.Tool(name=name, input_schema=MIRRORED if name == "mirror" else SCHEMA)
            for name in self.tools
        ]
        return types.ListToolsResult(tools=tools)

    async def update(self, uri: str) -> None:
        """Tell whoever listens that a resource changed."""
        await self.bus.publish(ResourceUpdated(uri=uri))

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def _call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        headers: dict[str, str] = dict(context.request.headers) if context.request else {}
        session = headers.get("mcp-session-id", "")
        if params.name not in self.tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        self.calls[session] += 1
        handlers: dict[str, Callable[[Context], Awaitable[str]]] = {
            "report": self._report,
            "elicit": self._elicit,
            "wait": self._wait,
            "grow": self._grow,
            "drop": self._drop,
        }
        handler = handlers.get(params.name)
        text = await handler(context) if handler is not None else str(self.calls[session])
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def _report(self, context: Context) -> str:
        for step in range(3):
            await context.session.report_progress(step, 3, f"step {step}")
        return "reported"

    async def _elicit(self, context: Context) -> str:
        answer = await context.session.elicit("your name?", {"type": "object", "properties": {}})
        return f"{answer.action} {answer.content}"

    async def _wait(self, context: Context) -> str:
        self.waiting.set()
        try:
            await anyio.Event().wait()
        finally:
            self.was_cancelled.set()
        return "never"

    async def _grow(self, context: Context) -> str:
        self.tools.append(f"grown_{len(self.tools)}")
        await self.bus.publish(ToolsListChanged())
        await context.session.send_tool_list_changed()
        return "grown"

    async def _drop(self, context: Context) -> str:
        """End the answer stream before the answer, which can be fetched later."""
        if context.close_sse_stream is None:
            return "nothing to drop"
        await context.close_sse_stream()
        return "fetched"


class Recording:
    """Notes the requests of an application that can be replaced, as a restart replaces a server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.requests: list[tuple[str, dict[str, str]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            self.requests.append((scope["method"], headers))
        await self.app(scope, receive, send)

    def methods(self) -> list[str]:
        """The HTTP methods, in order."""
        return [method for method, _ in self.requests]
