"""The agent plane: MCP at ``/episodes/{id}/mcp``, ``/servers/{name}/mcp`` and ``/mcp``, and over stdio.

The path names the episode or the interactive endpoint, in both eras of the protocol, so that any client
can be sent there by its URL alone. Knows episodes and MCP; keys, sizes and hosts were checked before.
"""

import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Protocol, cast

import anyio
from mcp.server.lowlevel import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp import __version__
from astra_mcp.errors import (
    CallFaultError,
    EpisodeEndedError,
    GatewayError,
    RecordError,
    UnknownNameError,
)
from astra_mcp.mcp_bridge import STDIO, McpRequest, build_server, open_http, serve_stdio
from astra_mcp.types import JsonObject, ToolResult, ToolSpec, json_fault
from gateway.episode import Episode
from gateway.episodes import Episodes
from gateway.naming import routes_of
from gateway.protocol import CALL_ID_KEY, FAULT_KEY, SEQ_KEY, Catalog, EpisodeId, EpisodeStatus
from gateway.search import CALL_TOOL, MAX_LISTED, SEARCH_TOOLS, ToolCall, answer_search, read_call
from gateway.security import send_json
from gateway.targets import EpisodeTarget, InteractiveTarget, Target, target_at

__all__ = ["AgentPlane", "HotAnswers"]

MAX_CALL_ID_LENGTH = 128
MAX_SEQ = 2**53
MAX_FAULT_LENGTH = 2000
MAX_SESSIONS = 10_000
"""Sessions whose state is freed when their client ends them; older ones are parked when idle."""
_INVALID_REQUEST = -32600
_EXCHANGE_KEY = "astra_mcp.exchange"
_log = logging.getLogger("astra_mcp.gateway")
_INSTRUCTIONS = (
    "Call the listed tools to solve the task. A result marked as an error says what to change."
)


@dataclass(slots=True)
class _Exchange:
    """One HTTP request: where it leads, and whether its episode turned out to have ended."""

    target: Target
    has_ended: bool = False


class HotAnswers(Protocol):
    """Answers the plain requests of agents without the SDK (see ``gateway.hot_path``)."""

    async def answer(self, target: Target, scope: Scope, body: bytes, send: Send) -> bool:
        """Answer one POST, or answer nothing and say False: then the SDK answers it."""
        ...


class AgentPlane:
    """Lists and calls the tools of episodes and interactive endpoints; an ASGI application."""

    def __init__(
        self,
        catalog: Catalog,
        episodes: Episodes,
        *,
        hot: HotAnswers | None = None,
        stdio: InteractiveTarget | None = None,
    ) -> None:
        """Serve the episodes of one gateway.

        Args:
            catalog: What interactive endpoints show.
            episodes: Where episodes live.
            hot: Asked first for each POST; None leaves all to the SDK.
            stdio: What a client on standard input and output is shown; by default all servers.
        """
        self._catalog = catalog
        self._episodes = episodes
        self._hot = hot
        self._stdio = stdio or InteractiveTarget(None)
        # Two clients that each start a process share nothing, so their states must not meet.
        self._stdio_caller = f"{STDIO}-{token_hex(8)}"
        self._mcp: ASGIApp | None = None
        self._sessions: OrderedDict[tuple[str, str], EpisodeId] = OrderedDict()
        self._server: Server[Any] = build_server(
            "astra-mcp",
            version=__version__,
            list_tools=self.list_tools,
            call_tool=self.call_tool,
            instructions=_INSTRUCTIONS,
        )

    # --- what MCP asks for -----------------------------------------------------------------------

    async def list_tools(self, request: McpRequest) -> Sequence[ToolSpec]:
        """List the tools of the request's endpoint, in their fixed order."""
        match self._target_of(request):
            case EpisodeTarget(id=name):
                try:
                    return (await self._open_episode(name)).tools
                except EpisodeEndedError:
                    _mark_ended(request)
                    raise
            case InteractiveTarget() as target:
                tools = self._tools_of(target)
                return tools if len(tools) <= MAX_LISTED else (SEARCH_TOOLS, CALL_TOOL)

    async def call_tool(self, request: McpRequest, name: str, arguments: JsonObject) -> ToolResult:
        """Call a tool of the request's endpoint.

        Raises:
            GatewayError: There is no such tool, or the call's ``_meta`` is wrong.
            EpisodeEndedError: The episode takes no more calls.
        """
        target = self._target_of(request)
        if isinstance(target, InteractiveTarget) and name in (SEARCH_TOOLS.name, CALL_TOOL.name):
            tools = self._tools_of(target)
            if len(tools) > MAX_LISTED:
                if name == SEARCH_TOOLS.name:
                    return answer_search(tools, arguments)
                return await self._call_found(target, request, arguments)
        return await self._call(target, request, name, arguments)

    async def _call_found(
        self, target: InteractiveTarget, request: McpRequest, arguments: JsonObject
    ) -> ToolResult:
        called = read_call(arguments)
        if not isinstance(called, ToolCall):
            return called
        try:
            return await self._call(target, request, called.name, called.arguments)
        except UnknownNameError:
            text = f"There is no tool {called.name[:128]!r}: find its name with search_tools."
            return ToolResult.from_text(text, is_error=True)

    async def _call(
        self, target: Target, request: McpRequest, name: str, arguments: JsonObject
    ) -> ToolResult:
        call_id, seq, fault = _call_id(request), _seq(request), _fault(request)
        match target:
            case EpisodeTarget(id=episode_id):
                episode = await self._episodes.get(episode_id)
            case InteractiveTarget():
                episode = await self._state_of(target, request)
        try:
            return await episode.call(name, arguments, call_id=call_id, seq=seq, fault=fault)
        except EpisodeEndedError:
            _mark_ended(request)
            raise

    async def _state_of(self, target: InteractiveTarget, request: McpRequest) -> Episode:
        servers = [u.name for u in self._catalog.upstreams()]
        if target.server is not None:
            servers = [target.server]
        caller = self._stdio_caller if request.http is None else request.caller
        state = await self._episodes.interactive(target.endpoint, caller, servers)
        if request.http is None or request.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            self._sessions[target.endpoint, caller] = state.id
            self._sessions.move_to_end((target.endpoint, caller))
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return state

    def _tools_of(self, target: InteractiveTarget) -> tuple[ToolSpec, ...]:
        if target.server is not None:
            return self._catalog.upstream(target.server).tools
        routes = routes_of(self._catalog.upstreams(), qualify_all=True)
        return tuple(route.shown for route in routes.values())

    def _target_of(self, request: McpRequest) -> Target:
        if request.http is None:
            return self._stdio
        return cast("_Exchange", request.http.scope[_EXCHANGE_KEY]).target

    async def _open_episode(self, name: EpisodeId) -> Episode:
        episode = await self._episodes.get(name)
        episode.expire_if_due()
        if not episode.is_open:
            status = episode.state().status
            if status in (EpisodeStatus.CLOSED, EpisodeStatus.EXPIRED):
                msg = f"this episode is {status.value}: create a new one with POST /v1/episodes"
                raise EpisodeEndedError(msg)
        return episode

    # --- HTTP ------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request at one of the three paths."""
        if self._mcp is None:
            msg = "the agent plane is not open"
            raise GatewayError(msg)
        target = await self._admit(scope, send)
        if target is None:
            return
        exchange = _Exchange(target)

        async def with_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                if exchange.has_ended:
                    message = {**message, "status": 410}
                if scope["method"] == "DELETE" and message["status"] < 300:
                    await self._end_session(target, scope)
            await send(message)

        if self._hot is not None and scope["method"] == "POST":
            body, receive = await _take_body(receive)
            if await self._hot.answer(target, scope, body, with_status):
                return
        await self._mcp({**scope, _EXCHANGE_KEY: exchange}, receive, with_status)

    async def _admit(self, scope: Scope, send: Send) -> Target | None:
        """Find where a request leads; None where it leads nowhere and was answered so."""
        try:
            target = target_at(scope["path"])
            if scope["method"] == "GET":
                # Nothing is ever sent unasked, so no stream is offered; MCP allows that answer.
                fields = {"Allow": "POST, DELETE"}
                await _send_error(send, 405, "POST a JSON-RPC message here", fields)
                return None
            await self._check(target, scope)
        except UnknownNameError as error:
            await _send_error(send, 404, str(error))
        except RecordError:
            _log.exception("a record cannot be read")
            await _send_error(send, 500, "the gateway failed; its log says more")
        except EpisodeEndedError as error:
            await _send_error(send, 410, str(error))
        else:
            return target
        return None

    async def _check(self, target: Target, scope: Scope) -> None:
        """Refuse what leads nowhere, before the protocol begins.

        A call is let through to an ended episode, since a retried one still answers its recorded result.
        """
        headers = dict(scope["headers"])
        method = headers.get(b"mcp-method", b"").strip()
        may_be_call = method == b"tools/call" or (not method and b"mcp-session-id" in headers)
        match target:
            case EpisodeTarget(id=name) if may_be_call:
                await self._episodes.get(name)
            case EpisodeTarget(id=name):
                await self._open_episode(name)
            case InteractiveTarget(server=str(server)):
                self._catalog.upstream(server)
            case _:
                pass

    async def _end_session(self, target: Target, scope: Scope) -> None:
        """Free the state of a session that its client has ended."""
        if isinstance(target, InteractiveTarget):
            caller = McpRequest(LATEST_HANDSHAKE_VERSION, {}, Request(scope)).caller
            await self._free_state(target, caller)

    async def _free_state(self, target: InteractiveTarget, caller: str) -> None:
        state = self._sessions.pop((target.endpoint, caller), None)
        if state is not None:
            await self._episodes.close(state)

    @asynccontextmanager
    async def open(self, *, max_body_bytes: int) -> AsyncGenerator[ASGIApp]:
        """Answer HTTP requests while the context is open; can be opened once."""
        async with open_http(self._server, max_body_bytes=max_body_bytes) as self._mcp:
            yield self
        self._mcp = None

    # --- stdio -----------------------------------------------------------------------------------

    async def serve_stdio(self) -> None:
        """Serve the one client that started this process until it closes the input.

        Raises:
            UnknownNameError: There is no such server.
        """
        if self._stdio.server is not None:
            self._catalog.upstream(self._stdio.server)
        try:
            await serve_stdio(self._server)
        finally:
            with anyio.CancelScope(shield=True):
                await self._free_state(self._stdio, self._stdio_caller)


def _call_id(request: McpRequest) -> str | None:
    call_id = request.meta.get(CALL_ID_KEY)
    if call_id is None:
        return None
    if not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_CALL_ID_LENGTH:
        msg = f"_meta {CALL_ID_KEY}: send a string of 1 to {MAX_CALL_ID_LENGTH} characters"
        raise CallFaultError(msg)
    if json_fault(call_id) is not None:
        msg = f"_meta {CALL_ID_KEY}: send whole characters"
        raise CallFaultError(msg)
    return call_id


def _seq(request: McpRequest) -> int | None:
    seq = request.meta.get(SEQ_KEY)
    if seq is None:
        return None
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= MAX_SEQ:
        msg = f"_meta {SEQ_KEY}: send an integer from 0"
        raise CallFaultError(msg)
    return seq


def _fault(request: McpRequest) -> str | None:
    fault = request.meta.get(FAULT_KEY)
    if fault is None:
        return None
    if not isinstance(fault, str) or not fault or json_fault(fault) is not None:
        msg = f"_meta {FAULT_KEY}: send a text that says what is wrong with the arguments"
        raise CallFaultError(msg)
    return fault[:MAX_FAULT_LENGTH]


def _mark_ended(request: McpRequest) -> None:
    if request.http is not None:
        cast("_Exchange", request.http.scope[_EXCHANGE_KEY]).has_ended = True


async def _take_body(receive: Receive) -> tuple[bytes, Receive]:
    """Take the body, which the gate holds in memory, and give it to whoever reads next."""
    body, goes_on = b"", True
    while goes_on:
        message = await receive()
        body += message.get("body", b"")
        goes_on = message.get("more_body", False)
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return body, replayed


async def _send_error(
    send: Send, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with an error that MCP clients and people can read; never repeats an episode's id."""
    error = {"code": _INVALID_REQUEST, "message": message}
    await send_json(send, status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
