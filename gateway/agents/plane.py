"""The agent plane: MCP at ``/episodes/{id}/mcp``, ``/servers/{name}/mcp`` and ``/mcp``, and over stdio.

The path names the episode or the interactive endpoint, in both eras of the protocol, so that any client
can be sent there by its URL alone. Plain requests are answered at once (see ``gateway.agents.hot_path``),
all others by the SDK's server (see ``gateway.agents.relay``). Knows paths, sessions and transports; keys,
sizes and hosts were checked before.
"""

import logging
from bisect import bisect_left
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from secrets import token_hex
from typing import cast

import anyio
import anyio.lowlevel
import orjson
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import (
    EpisodeEndedError,
    GatewayError,
    RecordError,
    ShortageError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.mcp.bridge import STDIO, McpRequest, session_caller
from astra_mcp.mcp.http import open_http
from astra_mcp.mcp.lines import serve_stdio
from astra_mcp.types import JsonObject
from gateway.agents.endpoints import Endpoints
from gateway.agents.hot_path import HotPath
from gateway.agents.notifications import Notifications
from gateway.agents.relay import TARGET, InitializedClient, Relay
from gateway.agents.sessions import Session, Sessions
from gateway.agents.suspended import SuspendedCalls
from gateway.agents.targets import AgentEpisodes, EpisodeTarget, InteractiveTarget, Place, Target
from gateway.api.connections import RETRY_AFTER_SECONDS
from gateway.api.seams import ServerCatalog
from gateway.edge.security import LARGE_BYTES, BufferedBody, send_json

__all__ = ["AgentPlane"]

_INVALID_REQUEST = -32600
_ARRIVAL_KEY = "astra_mcp.arrival"
_SESSION = b"mcp-session-id"
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(slots=True)
class _Arrival:
    """One HTTP request: where it leads, and what turned out on the way."""

    target: Target
    status: int | None = None
    """Of its answer, where it was refused in a way that clients are to see."""
    session_id: str | None = None
    """The session that it opens."""
    introduction: InitializedClient | None = None
    """What its client said when it opened the session."""


@dataclass(eq=False)
class AgentPlane:
    """MCP for agents; an ASGI application."""

    _catalog: ServerCatalog
    """What interactive endpoints show."""
    _episodes: AgentEpisodes
    """Where episodes live."""
    _: KW_ONLY
    sessions: Sessions = field(default_factory=Sessions)
    """Those of the handshake era."""
    stdio: InteractiveTarget = field(default=InteractiveTarget(None))
    """What a client on standard input and output is shown; by default all servers."""
    num_hot: int = field(default=0, init=False)
    """Requests answered by the hot path."""
    num_sdk: int = field(default=0, init=False)
    """Requests left to the SDK's server."""
    _apps: dict[str, ASGIApp] = field(default_factory=dict[str, ASGIApp], init=False)
    _together: set[str] = field(default_factory=set[str], init=False)
    """Names of the servers that the endpoint of all shows."""
    _notifications: Notifications = field(init=False)
    _suspended: SuspendedCalls = field(init=False)
    _hot: HotPath = field(init=False)
    _plain: ASGIApp | None = field(default=None, init=False)
    _streaming: ASGIApp | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._endpoints = Endpoints(self._catalog, self._episodes)
        # Two clients that each start a process share nothing, so their states must not meet.
        self._stdio_caller = f"{STDIO}-{token_hex(8)}"

    def count_sessions(self) -> int:
        """How many sessions of the handshake era are open."""
        return len(self.sessions)

    @asynccontextmanager
    async def _open_relay(self) -> AsyncGenerator[Relay]:
        async with (
            SuspendedCalls.open() as self._suspended,
            Notifications.open(self._endpoints) as self._notifications,
        ):
            self._together = {u.name for u in self._catalog.together()}
            ends = (
                self._catalog.watch(self._hear_of_server),
                self._episodes.closings.add(self._hear_of_closing),
                self._episodes.replacements.add(self._hear_of_replacement),
            )
            try:
                yield Relay(
                    endpoints=self._endpoints,
                    notifications=self._notifications,
                    suspended=self._suspended,
                    locate=self._locate,
                    on_refused=_mark_refused,
                    on_introduced=self._introduced,
                    on_cancelled=self._cancelled,
                )
            finally:
                for end in ends:
                    end()

    def _hear_of_closing(self, episode: str) -> None:
        target = EpisodeTarget(EpisodeId(episode))
        self.sessions.note_closed(target)
        self._suspended.end_all(target.place)

    def _hear_of_replacement(self, endpoint: str, caller: str) -> None:
        self._suspended.refuse_asked(Place(endpoint, caller))

    def _hear_of_server(self, name: str) -> None:
        # Not by its name: to say that there is none takes long among many.
        upstreams = self._catalog.upstreams()
        place = bisect_left(upstreams, name, key=lambda u: u.name)
        upstream = next((u for u in upstreams[place : place + 1] if u.name == name), None)
        if upstream is None:
            _log.info("%s is not published any more", name)
        was_together = name in self._together
        is_together = any(u.name == name for u in self._catalog.together())
        (self._together.add if is_together else self._together.discard)(name)
        self._endpoints.forget()
        self._notifications.tell_of(name, upstream, together=was_together or is_together)

    def _locate(self, request: McpRequest) -> tuple[Target, str]:
        """Find where a request leads, and the caller whose state it uses."""
        if request.http is None:
            return self.stdio, self._stdio_caller
        return _arrival_of(request.http.scope).target, request.caller

    @asynccontextmanager
    async def open(self, *, max_body_bytes: int) -> AsyncGenerator[None]:
        """Answer HTTP requests while the context is open; can be opened once."""
        async with self._open_relay() as relay:
            self._hot = HotPath(self._endpoints, self._notifications, self._episodes, self.sessions)
            serve = partial(
                open_http,
                relay.server,
                max_body_bytes=max_body_bytes,
                session_idle_seconds=None,  # requests that the SDK never sees keep a session too
                has_news=True,
            )
            async with (
                serve() as self._plain,
                serve(json_answers=False) as self._streaming,
                anyio.create_task_group() as group,
            ):
                group.start_soon(self.sessions.end_idle, self._end_idle, self._is_over)
                try:
                    yield
                finally:
                    group.cancel_scope.cancel()
        self._plain = self._streaming = None

    async def answer(self, target: Target, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request, whose path leads to the target, while the plane is open."""
        body: bytes | None = None
        if scope["method"] == "POST":
            receive = held = await _take_body(receive)
            body = held.body
            if len(body) > LARGE_BYTES:
                await anyio.lowlevel.checkpoint()
            if await self._hot.answer(target, scope, body, receive, send):
                self.num_hot += 1
                return
        if not await self._is_found(target, scope, send):
            return
        arrival = _Arrival(target)
        send = self._watching(arrival, scope, send)
        if body is not None and not await self._is_admitted(target, scope, body, send):
            return
        self.num_sdk += 1
        TARGET.set(target)
        app = self._app_for(target, scope)
        session = self.sessions.find(_session_of(scope), target)
        if session is None:
            await app({**scope, _ARRIVAL_KEY: arrival}, receive, send)
            return
        self.sessions.hold(session)
        try:
            await app({**scope, _ARRIVAL_KEY: arrival}, receive, send)
        finally:
            self.sessions.release(session)

    async def _is_found(self, target: Target, scope: Scope, send: Send) -> bool:
        """False where a request leads nowhere and was answered so."""
        try:
            await self._find(target)
            self._check_session(target, scope)
            if scope["method"] == "GET" and not self._has_news(target, scope):
                fields = {"Allow": "POST, DELETE"}
                await _send_error(send, 405, "POST a JSON-RPC message here", fields)
                return False
        except UnknownNameError as error:
            await _send_error(send, 404, str(error))
        except RecordError:
            _log.exception("a record cannot be read")
            await _send_error(send, 500, "the gateway failed; its log says more")
        except ShortageError as error:
            await _send_error(send, 503, str(error), {"Retry-After": str(RETRY_AFTER_SECONDS)})
        except UpstreamError as error:
            await _send_error(send, 502, str(error))
        else:
            return True
        return False

    async def _find(self, target: Target) -> None:
        if isinstance(target, EpisodeTarget):
            await self._episodes.get(target.id)
        elif target.server is not None:
            self._catalog.upstream(target.server)

    def _check_session(self, target: Target, scope: Scope) -> None:
        """Refuse a session at an endpoint other than its own as if it did not exist."""
        if self.sessions.is_elsewhere(_session_of(scope), target):
            raise UnknownNameError("Session not found")

    def _has_news(self, target: Target, scope: Scope) -> bool:
        """True where a session may hear what nobody asked for."""
        if _session_of(scope) not in self._apps:
            return False
        return isinstance(target, InteractiveTarget) or self._relays(target)

    def _relays(self, target: Target) -> bool:
        return any(u.relays for u in self._endpoints.view(target).upstreams)

    async def _is_admitted(self, target: Target, scope: Scope, body: bytes, send: Send) -> bool:
        """Answer where an episode has ended, but for calls: a retried one answers its recorded result."""
        if not isinstance(target, EpisodeTarget) or _method_of(scope, body) == "tools/call":
            return True
        try:
            self._endpoints.open_episode(target.id)
        except EpisodeEndedError as error:
            await _send_error(send, 410, str(error))
            return False
        return True

    def _app_for(self, target: Target, scope: Scope) -> ASGIApp:
        """Choose who answers: where a server could speak on the way, answers are streams."""
        if self._plain is None or self._streaming is None:
            raise GatewayError("the agent plane is not open")
        name = _session_of(scope)
        if name and _header(scope, b"mcp-protocol-version") in ("", *HANDSHAKE_PROTOCOL_VERSIONS):
            return self._apps.get(name, self._plain)
        accepted = b",".join(v for k, v in scope["headers"] if k == b"accept")
        if b"text/event-stream" in accepted and self._relays(target):
            return self._streaming
        return self._plain

    def _watching(self, arrival: _Arrival, scope: Scope, send: Send) -> Send:
        """Note from the answers which sessions begin and end, and which episodes have ended."""

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                if arrival.status is not None:
                    fields = (*message["headers"], *_fields_of(arrival.status))
                    message = {**message, "status": arrival.status, "headers": fields}
                if message["status"] < 300:
                    await self._note_session(arrival, scope, message)
            await send(message)

        return watched

    async def _note_session(self, arrival: _Arrival, scope: Scope, message: Message) -> None:
        if scope["method"] == "DELETE":
            await self._forget(arrival.target, _session_of(scope))
        elif scope["method"] == "POST" and not _session_of(scope):
            name = next((v for k, v in message["headers"] if k.lower() == _SESSION), None)
            if name is not None:
                arrival.session_id = session_id = name.decode("latin-1")
                self._apps[session_id] = self._app_for(arrival.target, scope)
                self._open_session(arrival)

    def _introduced(self, request: McpRequest, introduction: InitializedClient) -> None:
        if request.http is not None:
            arrival = _arrival_of(request.http.scope)
            arrival.introduction = introduction
            self._open_session(arrival)

    def _cancelled(self, request: McpRequest, request_id: object) -> None:
        """Cancel a request that is answered without the SDK; the SDK cancels its own."""
        if request.http is None or not isinstance(request_id, str | int):
            return
        arrival = _arrival_of(request.http.scope)
        session = self.sessions.find(_session_of(request.http.scope), arrival.target)
        if session is not None:
            session.cancel(request_id)

    def _open_session(self, arrival: _Arrival) -> None:
        """Remember a session once both its id and its client are known, whichever is known first."""
        if arrival.session_id is not None and arrival.introduction is not None:
            self.sessions.add(
                arrival.session_id,
                arrival.target,
                caller=session_caller(arrival.session_id),
                version=arrival.introduction.version,
                capabilities=arrival.introduction.capabilities,
            )

    def _is_over(self, target: Target) -> bool:
        return isinstance(target, EpisodeTarget) and not self._episodes.is_open(target.id)

    async def _end_idle(self, session: Session) -> None:
        """End a session that nobody uses, as its client would have."""
        app = self._apps.get(session.id)
        if app is not None:
            await app(_delete_request(session.id), _no_body, _ignore)
        await self._forget(session.target, session.id)

    async def _forget(self, target: Target, session_id: str) -> None:
        """Free the state of a session that has ended."""
        self.sessions.remove(session_id)
        self._apps.pop(session_id, None)
        await self._free(target, session_caller(session_id))

    async def _free(self, target: Target, caller: str) -> None:
        self._notifications.forget_session(target, caller)
        self._suspended.end(Place(target.place, caller))
        if isinstance(target, InteractiveTarget):
            await self._episodes.close_state(target.endpoint, caller)

    async def serve_stdio(self) -> None:
        """Serve the one client that started this process until it closes the input.

        Raises:
            UnknownNameError: There is no such server.
        """
        if self.stdio.server is not None:
            self._catalog.upstream(self.stdio.server)
        async with self._open_relay() as relay:
            try:
                await serve_stdio(relay.server)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._free(self.stdio, self._stdio_caller)


def _delete_request(session_id: str) -> Scope:
    return {
        "type": "http",
        "method": "DELETE",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(_SESSION, session_id.encode("latin-1"))],
    }


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(message: Message) -> None:
    del message


def _header(scope: Scope, name: bytes) -> str:
    """Read a header of a request; empty where it has none."""
    return next((v.decode("latin-1").strip() for k, v in scope["headers"] if k == name), "")


def _session_of(scope: Scope) -> str:
    return _header(scope, _SESSION)


def _arrival_of(scope: Mapping[str, object]) -> _Arrival:
    """Find what the plane has put into the scope of a request."""
    return cast("_Arrival", scope[_ARRIVAL_KEY])


def _method_of(scope: Scope, body: bytes) -> str:
    """Read the method of a request; empty where it has none, which is for the SDK to say."""
    named = next((v for k, v in scope["headers"] if k == b"mcp-method"), b"").strip()
    if named:
        return named.decode("latin-1")
    try:
        message: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(message, dict):
        return ""
    return str(cast("JsonObject", message).get("method", ""))


def _mark_refused(request: McpRequest, status: int) -> None:
    if request.http is not None:
        _arrival_of(request.http.scope).status = status


def _fields_of(status: int) -> list[tuple[bytes, bytes]]:
    return [(b"retry-after", b"%d" % RETRY_AFTER_SECONDS)] if status == 503 else []


async def _take_body(receive: Receive) -> BufferedBody:
    """Take the body in, where the gate has not done so."""
    if isinstance(receive, BufferedBody):
        return receive
    body, goes_on = b"", True
    while goes_on:
        message = await receive()
        body += message.get("body", b"")
        goes_on = message.get("more_body", False)
    return BufferedBody(body, receive)


async def _send_error(
    send: Send, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with an error that MCP clients and people can read; never repeats an episode's id."""
    error = {"code": _INVALID_REQUEST, "message": message}
    await send_json(send, status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
