"""The hot path of an agent's plain requests: ``tools/call``, ``tools/list`` and ``ping``, without the SDK.

In a rollout nearly every request is one of these. Each is parsed once, checked against the envelope of its
era, and answered as plain JSON. Whatever is malformed, rare, or needs a way back to the client is left to
the SDK's server, which then sees the request untouched: there is one authority for the protocol, and this
is its shortcut. Knows the wire of both eras and endpoints; knows no path and no transport.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import anyio
import anyio.lowlevel
import mcp_types
import orjson
from mcp import MCPError
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from astra_mcp import __version__
from astra_mcp.call_record import Encoded
from astra_mcp.errors import AstraError, EpisodeEndedError, ShortageError
from astra_mcp.mcp.bridge import McpRequest, answered, result_to_wire, tool_to_wire
from astra_mcp.mcp.made_up import EMULATOR_KEY, mark_result
from astra_mcp.mcp.request_context import Cancellation, Era, Exchange
from astra_mcp.tracing import tracer
from astra_mcp.types import EmulatorKind, JsonObject, JsonValue, ToolSpec
from gateway.agents.call_meta import CallMeta
from gateway.agents.endpoints import Endpoints
from gateway.agents.hot_wire import HotRequest, is_plain, read_request, shaped
from gateway.agents.notifications import Notifications
from gateway.agents.search import CALL_TOOL, SEARCH_TOOLS, listed
from gateway.agents.sessions import Session, Sessions
from gateway.agents.targets import AgentEpisode, AgentEpisodes, EpisodeTarget, Target
from gateway.api.connections import RETRY_AFTER_SECONDS
from gateway.api.seams import Upstream, abilities
from gateway.api.wire import ALL_SERVERS
from gateway.edge.security import LARGE_BYTES
from gateway.edge.tracing import with_header
from gateway.episodes.shown_tools import of_tools

_MARK = "x-mcp-header"
_ASKING = ("sampling", "elicitation", "roots")
_SERVER_INFO: Final[JsonObject] = {"name": "astra-mcp", "version": __version__}
_STAMP: Final[JsonObject] = {mcp_types.SERVER_INFO_META_KEY: _SERVER_INFO}
_REPEATED = "another request with this id is under way"
_MAX_REMEMBERED = 1024
_MAX_KEY_BYTES = 1024
_PLAIN_JSON = (b"content-type", b"application/json")
_log = logging.getLogger("astra_mcp.gateway")


class _Post(NamedTuple):
    """A request as HTTP brought it, less its body."""

    target: Target
    scope: Scope
    receive: Receive
    send: Send


class _Call(NamedTuple):
    """A tool call that can be made at once."""

    episode: AgentEpisode
    tool: str
    arguments: Mapping[str, JsonValue]
    told: CallMeta
    exchange: Exchange
    emulator: EmulatorKind | None
    """Who makes up the result, where its caller may know it."""
    departure: Cancellation | None
    """Set where the client closes its connection, and thereby cancels the call; None where it does not."""


@dataclass(slots=True)
class HotPath:
    """Answers plain requests; made beside the plane that asks it first."""

    _views: Endpoints
    """What each endpoint shows."""
    _states: Notifications
    """Finds the state of a caller."""
    _episodes: AgentEpisodes
    """Where episodes live."""
    _sessions: Sessions
    """Those of the handshake era."""
    _callers: dict[tuple[bytes, bytes], str] = field(default_factory=dict[Any, Any], init=False)
    _lists: dict[tuple[str, str], bytes] = field(default_factory=dict[Any, Any], init=False)

    async def answer(
        self, target: Target, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> bool:
        """Answer one POST, or answer nothing and say False: then the SDK answers it."""
        request = read_request(scope, body)
        if request is None:
            return False
        if len(body) > LARGE_BYTES:
            await anyio.lowlevel.checkpoint()
        session: Session | None = None
        if request.session_id is not None:
            session = self._sessions.find(request.session_id, target)
            if session is None or session.version not in request.versions_served:
                return False
            request.version = session.version
        post = _Post(target, scope, receive, send)
        if session is None:
            return await self._answer(post, request, None)
        return await self._answer_in_session(post, request, session)

    async def _answer_in_session(self, post: _Post, request: HotRequest, session: Session) -> bool:
        number = coerce_request_id(request.id)
        if number in session.under_way:
            error = mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=_REPEATED)
            await _send(post.send, 400, _error(request, error), None)
            return True
        session.under_way[number] = Cancellation()
        self._sessions.hold(session)
        try:
            return await self._answer(post, request, session)
        finally:
            self._sessions.release(session)
            del session.under_way[number]

    async def _answer(self, post: _Post, request: HotRequest, session: Session | None) -> bool:
        if request.method == "ping":
            result: bytes | None = b"{}"
        elif request.method == "tools/list":
            result = await self._list(post.target, request)
        else:
            call = await self._prepare_call(post, request, session)
            if call is None:
                return False
            if call.departure is None:
                status, content = await self._call(request, call)
            else:
                async with _noting(call.departure, post.receive):
                    status, content = await self._call(request, call)
            await _send(post.send, status, content, session)
            return True
        if result is None:
            return False
        await _send(post.send, 200, _result(request, result), session)
        return True

    async def _list(self, target: Target, request: HotRequest) -> bytes | None:
        try:
            if isinstance(target, EpisodeTarget):
                episode = self._episodes.find_live(target.id)
                if episode is None or episode.expire_if_due() or not episode.is_open:
                    return None
                return await self._rendered(episode.tools_hash, episode.tools, request.version)
            view = await self._views.prepared(target)
            if "tools" not in view.capabilities:
                return None
            tools = listed(self._views.tools(target), of_all=target.place == ALL_SERVERS)
        except AstraError:
            return None  # the SDK's server finds the same, and says it
        key = orjson.dumps([target.place, *((u.name, u.version) for u in view.upstreams)])
        return await self._rendered(f"{key.decode()}{len(tools)}", tools, request.version)

    async def _rendered(self, key: str, tools: tuple[ToolSpec, ...], version: str) -> bytes | None:
        found = self._lists.get((key, version))
        if found is None:
            try:
                found = await of_tools(len(tools), _written_list, tools, version)
            except (MCPError, TypeError):
                return None
            if len(self._lists) >= _MAX_REMEMBERED:
                self._lists.clear()
            self._lists[key, version] = found
        return found

    async def _prepare_call(
        self, post: _Post, request: HotRequest, session: Session | None
    ) -> _Call | None:
        """Find the state that a call uses; None where the call is none for this way."""
        target = post.target
        try:
            told = CallMeta.of(request.meta)
            episode = await self._state(post, request, session, told.call_id)
            if episode is None:
                return None
            upstream = episode.upstream_of(request.name)
            if upstream is None or not self._may_call(target, request, session, upstream):
                return None
        except AstraError:
            return None  # the SDK's server finds the same, and says it
        exchange, departure = _exchange(post.scope, request), None
        if upstream.relays and not isinstance(target, EpisodeTarget):
            # As without a gateway; in an episode a call is done to its end, for its retry to find.
            cancellation: Cancellation | None = None
            if session is not None:
                cancellation = session.under_way[coerce_request_id(request.id)]
            elif told.call_id is None:  # with an id, whoever lost the connection asks again
                cancellation = departure = Cancellation()
            exchange = replace(exchange, cancellation=cancellation)
        made_up = abilities(upstream).made_up
        emulator = self._views.view(target).emulator if made_up else None
        return _Call(episode, request.name, request.arguments, told, exchange, emulator, departure)

    async def _state(
        self, post: _Post, request: HotRequest, session: Session | None, call_id: str | None
    ) -> AgentEpisode | None:
        target = post.target
        if isinstance(target, EpisodeTarget):
            episode = self._episodes.find_live(target.id)
            if episode is None or not episode.relays:
                return episode
            return await self._states.state(self._views.view(target), "")
        caller = session.caller if session else self._caller(post.scope, request)
        if request.name in (SEARCH_TOOLS.name, CALL_TOOL.name):
            return None
        return await self._states.state(self._views.view(target), caller, call_id=call_id)

    def _caller(self, scope: Scope, request: HotRequest) -> str:
        key = (request.authorization, scope["query_string"])
        found = self._callers.get(key)
        if found is None:
            found = McpRequest(request.version, {}, Request(scope)).caller
            if len(self._callers) >= _MAX_REMEMBERED:
                self._callers.clear()
            if len(key[0]) + len(key[1]) <= _MAX_KEY_BYTES:
                self._callers[key] = found
        return found

    def _may_call(
        self, target: Target, request: HotRequest, session: Session | None, upstream: Upstream
    ) -> bool:
        """False where the server could use a way back to the client, or headers carry arguments."""
        if request.era is Era.MODERN and request.name in self._views.marked_schemas(target, _MARK):
            return False
        if not upstream.relays:
            return True
        if request.wants_progress or request.wants_log:
            return False
        if session is not None and "logging" in upstream.capabilities:
            return False
        capabilities = session.capabilities if session else request.capabilities
        return not any(name in capabilities for name in _ASKING)

    async def _call(self, request: HotRequest, call: _Call) -> tuple[int, bytes]:
        """Make a call; answers the HTTP status and the message."""
        told = call.told
        try:
            answer = await call.episode.answer(
                call.tool,
                call.arguments,
                call_id=told.call_id,
                seq=told.seq,
                fault=told.fault,
                exchange=call.exchange,
            )
            return 200, _result(request, _rendered_result(request, answer, call.emulator))
        except EpisodeEndedError as error:
            data = mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=str(error))
            return 410, _error(request, data)
        except (ShortageError, MemoryError) as error:
            message = str(error) or "the gateway has no memory for the answer: try again"
            data = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message=message)
            return 503, _error(request, data)
        except (AstraError, MCPError) as error:
            data = await _said_of(error)
        except Exception:  # noqa: BLE001 - a bug answers an error, as it does elsewhere
            _log.exception("a call broke the gateway")
            data = mcp_types.ErrorData(
                code=mcp_types.INTERNAL_ERROR, message="Internal server error"
            )
        modern = request.era is Era.MODERN
        status = ERROR_CODE_HTTP_STATUS.get(data.code, 200) if modern else 200
        return status, _error(request, data)


def _written_list(tools: tuple[ToolSpec, ...], version: str) -> bytes:
    content: JsonObject = {"tools": [tool_to_wire(tool) for tool in tools]}
    return orjson.dumps(shaped("tools/list", version, content, _SERVER_INFO))


@asynccontextmanager
async def _noting(departure: Cancellation, receive: Receive) -> AsyncGenerator[None]:
    """Tell a call of the modern era that its client has closed the connection: that is how it cancels."""

    async def note() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        departure.set()

    async with anyio.create_task_group() as group:
        group.start_soon(note)
        yield
        group.cancel_scope.cancel()


def _exchange(scope: Scope, request: HotRequest) -> Exchange:
    meta: Mapping[str, Any] = request.own_meta
    if tracer() is not None:
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        meta = with_header(meta, headers)
    if not meta:
        return _PLAIN_EXCHANGES[request.era]
    return Exchange(era=request.era, meta=meta)


_PLAIN_EXCHANGES = {era: Exchange(era=era) for era in Era}


def _begin(era: Era, emulator: EmulatorKind | None) -> bytes:
    """Write the members of a plain result before its content."""
    mark: JsonObject = {EMULATOR_KEY: emulator.value} if emulator is not None else {}
    if era is Era.MODERN:
        meta = orjson.dumps({**mark, **_STAMP})
        return b'{"_meta":' + meta + b',"resultType":"complete","content":'
    return b'{"_meta":' + orjson.dumps(mark) + b',"content":' if mark else b'{"content":'


_BEGINNINGS = {(era, kind): _begin(era, kind) for era in Era for kind in (None, *EmulatorKind)}


def _rendered_result(request: HotRequest, answer: Encoded, emulator: EmulatorKind | None) -> bytes:
    """Write a result as its era has it, with the mark of an emulator where it is to be told.

    Raises:
        MCPError: The server refused the call, or answered what MCP does not have.
    """
    result = answer.result
    if not is_plain(result):
        marked = mark_result(result, emulator)
        wire = shaped(
            "tools/call", request.version, result_to_wire(marked, request.version), _SERVER_INFO
        )
        return orjson.dumps(wire)
    head = _BEGINNINGS[request.era, emulator]
    is_error = b',"isError":true' if result.is_error else b',"isError":false'
    if result.structured is None:
        return head + answer.content + is_error + b"}"
    return head + answer.content + is_error + b',"structuredContent":' + answer.structured + b"}"


async def _said_of(error: AstraError | MCPError) -> mcp_types.ErrorData:
    """Say what the SDK's server would say of an error."""

    async def fail() -> None:
        raise error

    try:
        await answered(fail())
    except (MCPError, ValidationError) as said:
        found = handler_exception_to_error_data(said)
        if found is not None:
            return found
    return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="Internal server error")


def _result(request: HotRequest, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + orjson.dumps(request.id) + b',"result":' + result + b"}"


def _error(request: HotRequest, error: mcp_types.ErrorData) -> bytes:
    said = error.model_dump(mode="json", exclude_none=True)
    return orjson.dumps({"jsonrpc": "2.0", "id": request.id, "error": said})


async def _send(send: Send, status: int, content: bytes, session: Session | None) -> None:
    headers = [_PLAIN_JSON, (b"content-length", b"%d" % len(content))]
    if status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_SECONDS))
    if session is not None:
        headers.append((b"mcp-session-id", session.id.encode("latin-1")))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
