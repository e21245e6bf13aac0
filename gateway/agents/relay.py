"""The one MCP server of the gateway: whatever an endpoint's servers offer, in both eras of the protocol.

The endpoint of a request is read from the request itself, so that one server and one session manager serve
every endpoint. What a server answers passes through as it is, but for the SDK's sieve, which keeps each
client to the vocabulary of its revision. Knows MCP and endpoints; knows neither HTTP paths nor transports.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import anyio
import mcp_types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp_types.methods import CACHEABLE_METHODS, CacheableMethod, serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from astra_mcp import __version__
from astra_mcp.errors import EpisodeEndedError, ShortageError, UnknownNameError, UpstreamError
from astra_mcp.mcp.bridge import McpRequest, answered, request_of, result_to_wire, tool_to_wire
from astra_mcp.mcp.made_up import mark_result
from astra_mcp.mcp.request_context import Cancellation, Channel, Era, Exchange
from astra_mcp.types import JsonObject, ToolResult, ToolSpec
from gateway.agents.call_meta import CallMeta, meta_for_server
from gateway.agents.client_channel import StreamChannel, era_of
from gateway.agents.endpoints import EndpointRequest, Endpoints
from gateway.agents.merged import MergedServers, WrongCursorError
from gateway.agents.notifications import Notifications
from gateway.agents.search import (
    CALL_TOOL,
    SEARCH_TOOLS,
    ToolCall,
    answer_search,
    listed,
    read_call,
)
from gateway.agents.suspended import InputRequiredError, SuspendedCalls
from gateway.agents.targets import EpisodeTarget, InteractiveTarget, Place, Target
from gateway.api.wire import ALL_SERVERS
from gateway.edge.tracing import with_header

TARGET: ContextVar[Target | None] = ContextVar("astra_mcp.target", default=None)
"""Where the HTTP request that is being answered leads; only the check of parameter headers reads it."""

_MARK = "x-mcp-header"
_ASKING = ("sampling", "elicitation", "roots")
_CAPABILITY_OF = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "completion": "completions",
    "logging": "logging",
}
"""What a server must have, by the first word of a method."""
_LISTENED = {
    "tools_list_changed": ("tools", "listChanged"),
    "prompts_list_changed": ("prompts", "listChanged"),
    "resources_list_changed": ("resources", "listChanged"),
    "resource_subscriptions": ("resources", "subscribe"),
}
"""The capability and the flag of it that each kind of news needs."""
_log = logging.getLogger("astra_mcp.gateway")

Context = ServerRequestContext[Any, Any]
Result = TypeVar("Result")
Handler = Callable[["EndpointRequest"], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True)
class InitializedClient:
    """What a client and the gateway agreed on when they opened a session of the handshake era."""

    version: str
    capabilities: JsonObject
    """What the client declared."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Relay:
    """Answers the requests of MCP clients at every endpoint."""

    endpoints: Endpoints
    """What each endpoint shows."""
    notifications: Notifications
    """Who hears of changes."""
    suspended: SuspendedCalls
    """Calls that wait for input."""
    locate: Callable[[McpRequest], tuple[Target, str]]
    """Finds a request's target, and the caller whose state it uses."""
    on_refused: Callable[[McpRequest, int], None]
    """Told of a request that is refused by an HTTP status of its own: 410 where its episode takes no more of
    them, 503 where the machine lacks something for now."""
    on_introduced: Callable[[McpRequest, InitializedClient], None]
    """Told of a request that opens a session."""
    on_cancelled: Callable[[McpRequest, object], None]
    """Told of a client's cancellation, and of the id of what it cancels."""

    @cached_property
    def server(self) -> Server[Any]:
        """Serves any number of connections, whatever their endpoints."""
        # What servers leave out: lists and contents belong to a caller's state.
        private = CacheHint(ttl_ms=0, scope="private")
        hints = dict.fromkeys(cast("frozenset[CacheableMethod]", CACHEABLE_METHODS), private)
        server: Server[Any] = Server(
            "astra-mcp",
            version=__version__,
            cache_hints=hints,
            get_tool_input_schema=self._marked_schema,
        )
        handlers: dict[str, Handler] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_merged,
            "resources/templates/list": self._list_merged,
            "resources/read": self._read_resource,
            "resources/subscribe": self._of_resource,
            "resources/unsubscribe": self._of_resource,
            "prompts/list": self._list_merged,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
        }
        for method, handler in handlers.items():
            server.add_request_handler(method, mcp_types.RequestParams, self._guarded(handler))
        server.add_request_handler(
            "subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, self._listen
        )
        server.middleware[:] = [self._introduce]
        return server

    def _guarded(
        self, handler: Handler
    ) -> Callable[[Context, mcp_types.RequestParams], Awaitable[JsonObject]]:
        async def guarded(ctx: Context, _: mcp_types.RequestParams) -> JsonObject:
            result: JsonObject = await _relayed(self._answer(ctx, handler))
            if era_of(ctx.protocol_version) is Era.MODERN:
                result = {"resultType": "complete", **result}
            return result

        return guarded

    async def _answer(self, ctx: Context, handler: Handler) -> JsonObject:
        visit = self._visit(ctx)
        needed = _CAPABILITY_OF.get(ctx.method.partition("/")[0])
        if needed is not None:
            capability = visit.view.capabilities.get(needed)
            if capability is None and visit.is_unknown:
                visit = await self._prepared(visit)
                capability = visit.view.capabilities.get(needed)
            is_missing = capability is None
            if ctx.method in ("resources/subscribe", "resources/unsubscribe"):
                is_missing = not isinstance(capability, dict) or not capability.get("subscribe")
            if is_missing:
                raise MCPError(mcp_types.METHOD_NOT_FOUND, "Method not found", data=ctx.method)
        try:
            return await handler(visit)
        except (EpisodeEndedError, ShortageError) as error:
            self.on_refused(visit.request, 410 if isinstance(error, EpisodeEndedError) else 503)
            raise

    def _visit(self, ctx: Context) -> EndpointRequest:
        request = request_of(ctx)
        target, caller = self.locate(request)
        return EndpointRequest(ctx, request, self.endpoints.view(target), caller)

    async def _prepared(self, visit: EndpointRequest) -> EndpointRequest:
        view = await self.endpoints.prepared(visit.view.target)
        return EndpointRequest(visit.ctx, visit.request, view, visit.caller)

    async def _introduce(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Let each endpoint present itself, and each session of the handshake era hear its news."""
        if ctx.method == "notifications/cancelled":
            self.on_cancelled(request_of(ctx), (ctx.params or {}).get("requestId"))
        if ctx.method != "initialize":
            if era_of(ctx.protocol_version) is Era.HANDSHAKE:
                self._let_hear(ctx)
            return await call_next(ctx)
        return await _relayed(self._initialize(ctx, call_next))

    async def _initialize(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        answer = await call_next(ctx)
        if answer is None:  # a notification of that name, which nobody answers
            return None
        visit = await self._prepared(self._visit(ctx))
        result = cast("JsonObject", answer)
        version = str(result["protocolVersion"])
        declared = visit.params.get("capabilities")
        capabilities: JsonObject = declared if isinstance(declared, dict) else {}
        self.on_introduced(visit.request, InitializedClient(version, capabilities))
        shown: JsonObject = {
            **result,
            "capabilities": visit.view.capabilities,
            "serverInfo": visit.view.server_info,
        }
        shown.pop("instructions", None)
        if visit.view.instructions is not None:
            shown["instructions"] = visit.view.instructions
        return serialize_server_result("initialize", version, shown)

    def _let_hear(self, ctx: Context) -> None:
        request = request_of(ctx)
        if request.http is not None and "mcp-session-id" not in request.http.headers:
            return
        target, caller = self.locate(request)
        self.notifications.add_session(target, caller, ctx.session)

    async def _discover(self, visit: EndpointRequest) -> JsonObject:
        view = visit.view
        capabilities: JsonObject = view.capabilities
        try:
            view = (await self._prepared(visit)).view
            capabilities = view.capabilities
        except UpstreamError as error:
            if visit.request.http is not None:
                raise
            # Over lines the first request decides the era for good: a client that is refused here falls
            # back to a handshake, which is refused as well. It is told the reason when it lists the tools.
            _log.warning("%s", error)
            capabilities.setdefault("tools", {"listChanged": True})
        found: JsonObject = {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": capabilities,
            "_meta": {mcp_types.SERVER_INFO_META_KEY: view.server_info},
        }
        if view.instructions is not None:
            found["instructions"] = view.instructions
        return found

    async def _list_tools(self, visit: EndpointRequest) -> JsonObject:
        if isinstance(visit.view.target, InteractiveTarget):
            visit = await self._prepared(visit)
        if visit.params.get("cursor") is not None:
            raise MCPError(mcp_types.INVALID_PARAMS, "this list has one page: leave out the cursor")
        return {"tools": [tool_to_wire(tool) for tool in self._listed(visit)]}

    def _listed(self, visit: EndpointRequest) -> tuple[ToolSpec, ...]:
        target = visit.view.target
        return listed(self.endpoints.tools(target), of_all=target.place == ALL_SERVERS)

    async def _call_tool(self, visit: EndpointRequest) -> JsonObject:
        name, given = str(visit.params["name"]), visit.params.get("arguments")
        arguments: JsonObject = given if isinstance(given, dict) else {}
        if name in (SEARCH_TOOLS.name, CALL_TOOL.name) and SEARCH_TOOLS in self._listed(visit):
            result = await self._search_or_call(visit, name, arguments)
        else:
            result = await self._call(visit, name, arguments)
        return result_to_wire(result, visit.ctx.protocol_version)

    async def _search_or_call(
        self, visit: EndpointRequest, name: str, arguments: JsonObject
    ) -> ToolResult:
        if name == SEARCH_TOOLS.name:
            return answer_search(self.endpoints.tools(visit.view.target), arguments)
        called = read_call(arguments)
        if not isinstance(called, ToolCall):
            return called
        try:
            return await self._call(visit, called.name, called.arguments)
        except UnknownNameError:
            text = f"There is no tool {called.name[:128]!r}: find its name with search_tools."
            return ToolResult.from_text(text, is_error=True)

    async def _call(self, visit: EndpointRequest, name: str, arguments: JsonObject) -> ToolResult:
        told = CallMeta.of(visit.request.meta)

        async def call(channel: Channel | None) -> ToolResult:
            episode = await self.notifications.state(visit.view, visit.caller, call_id=told.call_id)

            async def run(cancellation: Cancellation | None) -> ToolResult:
                return await episode.call(
                    name,
                    arguments,
                    call_id=told.call_id,
                    seq=told.seq,
                    fault=told.fault,
                    exchange=replace(self._exchange(visit, channel), cancellation=cancellation),
                )

            # At an interactive endpoint a cancelled call ends, as it would without a gateway; in an
            # episode it is done to its end, and its retry finds the result.
            if isinstance(visit.view.target, EpisodeTarget) or not visit.view.relaying:
                return await run(None)
            return await _noting_cancellation(run)

        return mark_result(await self._with_channel(visit, call), visit.view.emulator)

    async def _relay(
        self, visit: EndpointRequest, server: str, method: str, params: JsonObject
    ) -> JsonObject:
        """Ask one server of the endpoint in the caller's state."""

        async def ask(channel: Channel | None) -> JsonObject:
            episode = await self.notifications.state(visit.view, visit.caller)
            return await episode.relay(server, method, params, self._exchange(visit, channel))

        return await self._with_channel(visit, ask)

    def _merged(self, visit: EndpointRequest) -> MergedServers:
        front = StreamChannel(visit.ctx, self._log_level(visit))
        exchange = replace(self._exchange(visit, front), params={})

        async def ask(server: str, method: str, params: JsonObject) -> JsonObject:
            episode = await self.notifications.state(visit.view, visit.caller)
            return await episode.relay(server, method, params, exchange)

        names = {
            capability: [u.name for u in visit.view.having(capability)]
            for capability in ("prompts", "resources")
        }
        return MergedServers(names, ask)

    async def _list_merged(self, visit: EndpointRequest) -> JsonObject:
        if isinstance(visit.view.target, InteractiveTarget):
            visit = await self._prepared(visit)
        method, sole = visit.ctx.method, visit.view.sole
        if sole is not None:
            return await self._relay(visit, sole.name, method, visit.own_params)
        cursor = visit.params.get("cursor")
        return await self._merged(visit).page(method, str(cursor) if cursor is not None else None)

    async def _read_resource(self, visit: EndpointRequest) -> JsonObject:
        server = await self._server_of(visit, str(visit.params["uri"]))
        return await self._relay(visit, server, visit.ctx.method, visit.own_params)

    async def _of_resource(self, visit: EndpointRequest) -> JsonObject:
        """Subscribe or unsubscribe: the news come on the session's own stream."""
        uri = str(visit.params["uri"])
        server = await self._server_of(visit, uri)
        answer = await self._relay(visit, server, visit.ctx.method, visit.own_params)
        subscribes = visit.ctx.method == "resources/subscribe"
        self.notifications.note_subscription(visit, server, uri, subscribes)
        return answer

    async def _server_of(self, visit: EndpointRequest, uri: str) -> str:
        if visit.view.sole is not None:
            return visit.view.sole.name
        server = await self._merged(visit).resource(uri)
        if server is not None:
            return server
        code = -32002 if visit.era is Era.HANDSHAKE else mcp_types.INVALID_PARAMS
        raise MCPError(code, "Resource not found", data={"uri": uri})

    async def _get_prompt(self, visit: EndpointRequest) -> JsonObject:
        server, own = await self._prompt_of(visit, str(visit.params["name"]))
        return await self._relay(visit, server, "prompts/get", {**visit.own_params, "name": own})

    async def _prompt_of(self, visit: EndpointRequest, shown: str) -> tuple[str, str]:
        if visit.view.sole is not None:
            return visit.view.sole.name, shown
        return await self._merged(visit).prompt(shown)

    async def _complete(self, visit: EndpointRequest) -> JsonObject:
        ref = cast("JsonObject", visit.params["ref"])
        if ref.get("type") == "ref/prompt":
            server, own = await self._prompt_of(visit, str(ref.get("name")))
            ref = {**ref, "name": own}
        elif visit.view.sole is not None:
            server = visit.view.sole.name
        else:
            found = await self._merged(visit).template(str(ref.get("uri")))
            if found is None:
                raise MCPError(mcp_types.INVALID_PARAMS, "no resource or template has this URI")
            server = found
        params: JsonObject = {**visit.own_params, "ref": ref}
        return await self._relay(visit, server, "completion/complete", params)

    async def _set_level(self, visit: EndpointRequest) -> JsonObject:
        """Keep the level of a session; where one server relays, it is told as well.

        Of several servers none is started for it: each message is compared with the level here.
        """
        level = str(visit.params["level"])
        self.notifications.set_level(visit.view.target, visit.caller, level)
        if visit.view.sole is not None:
            return await self._relay(
                visit, visit.view.sole.name, "logging/setLevel", visit.own_params
            )
        return {}

    async def _listen(
        self, ctx: Context, params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        visit = await _relayed(self._prepared(self._visit(ctx)))
        wanted = params.notifications
        capabilities = visit.view.capabilities

        def has(capability: str, flag: str) -> bool:
            return bool(cast("JsonObject", capabilities.get(capability) or {}).get(flag))

        honoured = mcp_types.SubscriptionFilter(
            **{n: getattr(wanted, n) if has(*needed) else None for n, needed in _LISTENED.items()}
        )
        kept = params.model_copy(update={"notifications": honoured})
        servers: dict[str, str] = {}
        for uri in honoured.resource_subscriptions or ():
            servers[uri] = await _relayed(self._server_of(visit, uri))
        return await self.notifications.listen(visit, kept, servers)

    def _exchange(self, visit: EndpointRequest, channel: Channel | None) -> Exchange:
        params = {
            k: visit.params[k] for k in ("inputResponses", "requestState") if k in visit.params
        }
        if self.suspended.owns(params.get("requestState")):
            params = {}
        return Exchange(
            era=visit.era,
            meta=meta_for_server(with_header(visit.request.meta, visit.headers)),
            params=params,
            log_level=self._log_level(visit),
            channel=channel,
        )

    def _log_level(self, visit: EndpointRequest) -> str | None:
        if visit.era is Era.MODERN:
            level = visit.request.meta.get(mcp_types.LOG_LEVEL_META_KEY)
            return level if isinstance(level, str) else None
        return self.notifications.level(visit.view.target, visit.caller)

    async def _with_channel(
        self, visit: EndpointRequest, work: Callable[[Channel | None], Awaitable[Result]]
    ) -> Result:
        """Do what was asked, with a way back to the client where a server could use one.

        Raises:
            InputRequiredError: The client must come back with input.
        """
        if not visit.view.relaying:
            return await work(None)
        front = StreamChannel(visit.ctx, self._log_level(visit))
        if visit.era is Era.HANDSHAKE:
            return await work(front)
        binding = [visit.view.target.place, visit.caller, visit.ctx.method, visit.asked]
        state = visit.params.get("requestState")
        if isinstance(state, str) and self.suspended.owns(state):
            answers = visit.params.get("inputResponses")
            return await self.suspended.resume(
                state, answers if isinstance(answers, dict) else {}, binding=binding, front=front
            )
        if not any(name in front.capabilities for name in _ASKING):
            return await work(front)
        owner = Place(visit.view.target.place, visit.caller)
        return await self.suspended.begin(work, owner=owner, binding=binding, front=front)

    def _marked_schema(self, name: str) -> Mapping[str, Any] | None:
        """Find the schema of a tool whose parameters travel as headers; None for all others."""
        target = TARGET.get()
        if target is None:
            return None
        return self.endpoints.marked_schemas(target, _MARK).get(name)


async def _noting_cancellation(run: Callable[[Cancellation], Awaitable[Result]]) -> Result:
    """Run what is shielded from cancellation, and tell it that its caller was cancelled."""
    cancellation = Cancellation()
    results: list[Result] = []
    failures: list[Exception] = []

    async def note() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancellation.set()

    async with anyio.create_task_group() as group:
        group.start_soon(note)
        try:
            results.append(await run(cancellation))
        except Exception as error:  # noqa: BLE001 - raised below, outside of the group
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return results[0]


async def _relayed(answer: Awaitable[Any]) -> Any:
    """Turn what went wrong on the way into what the protocol says of it."""
    try:
        return await answered(answer)
    except InputRequiredError as required:
        return required.result
    except WrongCursorError as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from None
    except (MCPError, ValidationError):  # parameters that do not fit are the SDK's to refuse
        raise
    except Exception as error:  # the SDK would show a bug's text to the client
        _log.exception("a request broke the gateway")
        raise MCPError(mcp_types.INTERNAL_ERROR, "the gateway failed; its log says more") from error
