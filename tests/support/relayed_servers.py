"""Servers of the SDK that a gateway relays in these tests, and a gateway over them on a real socket."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import orjson
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.message import SessionMessage

from astra_mcp.testing import InMemoryCatalog, RunningGateway, open_test_gateway
from gateway.api.client import GatewayClient
from gateway.api.seams import Upstream
from gateway.api.wire import EpisodeCreated, EpisodeRequest, SourceServers
from servers.deployed import DeployedServers, open_deployed

Context = ServerRequestContext[Any, Any]
MODERN = "2026-07-28"
LEGACY = "legacy"
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
HEADED: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
ways = pytest.mark.parametrize("mode", [LEGACY, MODERN], ids=["2025", "2026"])
"""Clients of each era."""
QUESTION = {"type": "object", "properties": {"name": {"type": "string"}}}


class _HandshakeOnly(Server[Any]):
    """Refuses whatever is not the handshake era."""

    async def run(self, read_stream: Any, write_stream: Any, *args: Any, **named: Any) -> None:
        async with self.lifespan(self) as state:
            await serve_loop(
                self,
                read_stream,
                write_stream,
                lifespan_state=state,
                init_options=self.create_initialization_options(_CHANGES),
            )


_CHANGES = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)


class _ModernOnly(Server[Any]):
    """Knows no handshake."""

    async def run(self, read_stream: Any, write_stream: Any, *args: Any, **named: Any) -> None:
        passing, passed = anyio.create_memory_object_stream[Any](0)
        answer = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")

        async def sift() -> None:
            async with passing:
                async for item in read_stream:
                    message = item.message
                    if getattr(message, "method", None) == "initialize":
                        error = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=answer)
                        await write_stream.send(SessionMessage(error))
                    else:
                        await passing.send(item)

        async with anyio.create_task_group() as group:
            group.start_soon(sift)
            await super().run(passed, write_stream, *args, **named)
            group.cancel_scope.cancel()


@dataclass
class Desk:
    """A server under test: what it offers, and what it saw."""

    name: str
    speaks: str = "both"
    """``both`` eras, ``handshake`` or ``modern`` alone."""
    pages: int = 1
    """How many pages each list has."""
    tools: list[types.Tool] = field(default_factory=lambda: [_tool(n) for n in _TOOLS])
    metas: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """``_meta`` of each tool call."""
    called: list[str] = field(default_factory=list[str])
    callers: list[str] = field(default_factory=list[str])
    """The session of each call; the modern era has none."""
    subscribed: list[str] = field(default_factory=list[str])
    unsubscribed: anyio.Event = field(default_factory=anyio.Event)
    begun: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)

    def make(self) -> Server[Any]:
        """Make the server of one session."""
        kind = {"handshake": _HandshakeOnly, "modern": _ModernOnly}.get(self.speaks, Server)
        server: Server[Any] = kind(
            self.name,
            version="7",
            instructions=f"Ask {self.name} politely.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        if self.speaks != "modern":
            add = server.add_request_handler
            add("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
            add("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
            add("logging/setLevel", types.SetLevelRequestParams, self._set)
        if self.speaks != "handshake":
            server.add_request_handler(
                "subscriptions/listen",
                types.SubscriptionsListenRequestParams,
                ListenHandler(self.bus),
            )
        server.middleware.clear()
        return server

    async def _list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self.tools)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        self.called.append(params.name)
        self.callers.append(ctx.request.headers.get("mcp-session-id", "") if ctx.request else "")
        self.metas.append(dict((ctx.params or {}).get("_meta", {})))
        return await _CALLS.get(params.name, _say)(self, ctx, params)

    async def _list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        page = int(params.cursor or 0)
        shown = [types.Resource(uri=f"{self.name}://page/{page}", name=f"page {page}")]
        shown.append(types.Resource(uri="shared://one", name=f"shared by {self.name}"))
        return types.ListResourcesResult(resources=shown, next_cursor=self._after(page))

    def _after(self, page: int) -> str | None:
        return str(page + 1) if page + 1 < self.pages else None

    async def _list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template=f"{self.name}://item/{{id}}", name="item")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri.endswith("/missing"):
            raise MCPError(-32002, "no such page", data={"uri": uri})
        if uri.endswith("/asks"):
            return await _ask(self, ctx, params)
        content = types.TextResourceContents(uri=uri, text=f"{self.name} read {uri}")
        return types.ReadResourceResult(contents=[content], _meta={"dev.example/read": 1})

    async def _list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        page = int(params.cursor or 0)
        shown = [types.Prompt(name=f"greet{page or ''}", description=f"{self.name} greets")]
        return types.ListPromptsResult(prompts=shown, next_cursor=self._after(page))

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        if not params.name.startswith("greet"):
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name}")
        whom = (params.arguments or {}).get("whom", "all")
        text = types.TextContent(type="text", text=f"{self.name} greets {whom}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        ref = params.ref
        of = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        return types.CompleteResult(completion=types.Completion(values=[f"{self.name} {of}"]))

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Any:
        self.subscribed.append(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Any:
        self.subscribed.remove(str(params.uri))
        self.unsubscribed.set()
        return types.EmptyResult()

    async def _set(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        return types.EmptyResult()


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version == MODERN


def said(text: str, **members: Any) -> types.CallToolResult:
    """One text as the result of a tool."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], **members)


async def _say(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    return said(f"{desk.name} did {params.name}", _meta={"dev.example/cost": 3})


async def _ask(desk: Desk, ctx: Context, params: Any) -> Any:
    """Ask the client for a name, as the era has it."""
    if not _is_modern(ctx):
        answer = await ctx.session.elicit_form("Who?", QUESTION, ctx.request_id)
    else:
        if not params.input_responses:
            asked = types.ElicitRequest(
                params=types.ElicitRequestFormParams(message="Who?", requested_schema=QUESTION)
            )
            return types.InputRequiredResult(input_requests={"who": asked}, request_state="mine")
        answer = params.input_responses["who"]
    given: dict[str, Any] = answer.content or {}
    text = f"{answer.action} {given.get('name')} {params.request_state if _is_modern(ctx) else ''}"
    if isinstance(params, types.ReadResourceRequestParams):
        content = types.TextResourceContents(uri=str(params.uri), text=text.strip())
        return types.ReadResourceResult(contents=[content])
    return said(text.strip())


async def _ask_twice(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    names: list[str] = []
    for _ in range(2):
        answer = await ctx.session.elicit_form("Who?", QUESTION, ctx.request_id)
        names.append(str((answer.content or {}).get("name")))
    return said(" and ".join(names))


async def _report(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    await ctx.session.report_progress(0.5, 1.0, "half")
    await ctx.session.report_progress(1.0, 1.0, "whole")
    return said("reported")


async def _log(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    for level in ("debug", "error"):
        sent = types.LoggingMessageNotification(
            params=types.LoggingMessageNotificationParams(level=level, data=f"a word at {level}")
        )
        await ctx.session.send_notification(sent, related_request_id=ctx.request_id)
    return said("logged")


async def _wait(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    desk.begun.set()
    try:
        await desk.release.wait()
    except BaseException:
        desk.cancelled.set()
        raise
    return said("waited")


async def _refuse(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    raise MCPError(-32042, "sign in first", data={"elicitations": ["x"]})


async def _paint(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    image = types.ImageContent(
        type="image",
        data="AAAA",
        mime_type="image/png",
        annotations=types.Annotations(audience=["user"], priority=0.5),
    )
    return types.CallToolResult(
        content=[image], structured_content={"n": [1, None]}, _meta={"dev.example/cost": 3}
    )


async def _touch(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    """Tell that a resource and the prompts have changed."""
    uri = str((params.arguments or {})["uri"])
    if _is_modern(ctx):
        await desk.bus.publish(ResourceUpdated(uri))
    else:
        await ctx.session.send_resource_updated(uri)
        await ctx.session.send_prompt_list_changed()
    return said("touched")


async def _grow(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    """List one more tool from now on."""
    desk.tools.append(_tool("grown"))
    await desk.bus.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()
    return said("grown")


async def _count(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    """Tell how many calls this session has made."""
    return said(str(desk.callers.count(desk.callers[-1])))


async def _drop(desk: Desk, ctx: Context, params: types.CallToolRequestParams) -> Any:
    """End the answer stream before the answer, which can be fetched later."""
    assert ctx.close_sse_stream is not None
    await ctx.close_sse_stream()
    return said("fetched")


_LISTED = (_ask, _ask_twice, _report, _log, _wait, _refuse, _paint, _touch, _grow)
_CALLS = {f.__name__.removeprefix("_"): f for f in (*_LISTED, _count, _drop)}
_TOOLS = ("say", "headed", *(f.__name__.removeprefix("_") for f in _LISTED))


def _tool(name: str) -> types.Tool:
    return types.Tool(
        name=name,
        title=f"Title of {name}",
        description=f"The tool {name}.",
        input_schema=HEADED if name == "headed" else OBJECT,
        annotations=types.ToolAnnotations(read_only_hint=True),
        _meta={"dev.example/kind": "test"},
    )


class DeployedCatalog(InMemoryCatalog):
    """A catalog of deployed servers and nothing else."""

    def __init__(self, servers: DeployedServers) -> None:
        super().__init__()
        self.servers = servers
        self.watch = servers.watch

    def upstreams(self) -> Sequence[Upstream]:
        """All, by name."""
        return self.servers.upstreams()

    def upstream(self, name: str) -> Upstream:
        """One, by name."""
        return self.servers.find(name) or super().upstream(name)


@dataclass(frozen=True, kw_only=True)
class RelayGateway(RunningGateway):
    """A gateway over deployed servers, and how to reach it."""

    deployed: DeployedServers

    @asynccontextmanager
    async def client(self, path: str, mode: str, **options: Any) -> AsyncGenerator[Client]:
        """Open the SDK's client at a path, or at an URL of this gateway; see :func:`open_client`."""
        url = f"{self.url}{path.removeprefix(self.url)}"
        async with open_client(url, mode, **options) as client:
            yield client


@asynccontextmanager
async def open_client(
    url: str, mode: str, *, key: str = "", hears: anyio.Event | None = None, **options: Any
) -> AsyncGenerator[Client]:
    """Open the SDK's client at a URL.

    Args:
        url: Of the endpoint.
        mode: The era, as the client names it.
        key: Sent where there is one.
        hears: Set once its stream for news is open (handshake era).
        options: Of the client.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def note(response: httpx2.Response) -> None:
        if hears is not None and response.request.method == "GET" and response.is_success:
            hears.set()

    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=30, trust_env=False, event_hooks={"response": [note]}
        ) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,  # pyright: ignore[reportArgumentType] - a literal of the SDK
            cache=None,
            read_timeout_seconds=30,
            **options,
        ) as client,
    ):
        yield client


@asynccontextmanager
async def open_relay_gateway(
    home: Path, *desks: Desk, file: Path | None = None
) -> AsyncGenerator[RelayGateway]:
    """Serve these servers, and those of a file, behind a gateway while the context is open."""
    async with open_deployed(file, home=home) as deployed:
        for desk in desks:
            deployed.mount(desk.name, desk.make)
        async with open_test_gateway(DeployedCatalog(deployed), home) as opened:
            yield RelayGateway(**vars(opened), deployed=deployed)


@asynccontextmanager
async def open_desks(home: Path, mode: str, *desks: Desk, **options: Any) -> AsyncGenerator[Client]:
    """Open a client at the endpoint of one desk, or of all where there are several."""
    path = f"/servers/{desks[0].name}/mcp" if len(desks) == 1 else "/mcp"
    async with (
        open_relay_gateway(home, *desks) as gateway,
        gateway.client(path, mode, **options) as client,
    ):
        yield client


async def open_episode(control: GatewayClient, *names: str) -> EpisodeCreated:
    """Open an episode of servers."""
    source = SourceServers(kind="servers", names=names)
    return await control.create_episode(EpisodeRequest(source=source))


def text_of(answer: Any) -> str:
    """The text of a result, a resource or a prompt; each block of a result begins a line."""
    match answer:
        case types.CallToolResult(content=blocks):
            return "\n".join(block.text for block in blocks if isinstance(block, types.TextContent))
        case (
            types.ReadResourceResult(contents=[types.TextResourceContents(text=text)])
            | types.GetPromptResult(
                messages=[types.PromptMessage(content=types.TextContent(text=text))]
            )
        ):
            return text
        case _:
            raise AssertionError(answer)


def recorded(home: Path, event: str) -> list[dict[str, Any]]:
    """The events of a kind in all records."""
    files = sorted((home / "records").rglob("*.jsonl"))
    rows = [orjson.loads(line) for f in files for line in f.read_bytes().splitlines()]
    return [row for row in rows if row["event"] == event]
