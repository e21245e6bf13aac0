"""One caller's conversation with a deployed server.

Opens its connection at the first use, keeps apart what may be sent again and what must not, and says what is
lost when a server dies. Knows its server and connections; knows neither transports nor episodes.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import anyio

from astra_mcp.concurrency import BackOff
from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.mcp.request_context import LOG_LEVELS, SILENT, Era, Exchange, Hear
from astra_mcp.types import CallOutcome, JsonObject, JsonValue, PastCall, UpstreamReply
from servers.deployed.connecting import Connection, Opening
from servers.deployed.errors import NotSentError, SessionLostError, in_words
from servers.deployed.following import Follower
from servers.deployed.results import (
    InputError,
    answer_asks,
    is_input_required,
    read_reply,
    refused_reply,
    text_reply,
)
from servers.deployed.tools import ToolHints

__all__ = ["DeployedSession"]

RETRIES: Final = 10
"""Of what was certainly not sent."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 0.5
"""Between them; short, so that a server which is back is found within a second."""
RESENDS: Final = 2
"""Of a call that may be executed twice, where the process that had it ended."""
FOLLOW_SECONDS: Final = 2.0
"""How long a server may take to say that it tells of changes; then requests go on without that."""
_SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"
_SUBSCRIBING: Final = (_SUBSCRIBE, _UNSUBSCRIBE)
_TRANSLATED: Final = (*_SUBSCRIBING, "logging/setLevel", "ping")

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Call:
    """A call of a tool, beside its params."""

    hints: ToolHints
    headers: Mapping[str, str] | None = None
    """That mirror its arguments."""
    resent: int = 0
    """How often it was sent again after the process that had it ended."""


_NO_CALL = _Call(ToolHints())
"""Stands for what is never sent again."""


class SessionHost(Protocol):
    """What a session asks of its server."""

    name: str
    """Of the server."""
    is_shared: bool
    """True where one connection serves all sessions."""
    is_own_process: bool
    """True where a connection is a process, or a run, of its own, which no restart survives."""
    listeners: Listeners[[str, JsonObject]]
    """Hear what shared connections bring."""
    follower: Follower
    """Has a server of the modern era tell of changes, those of its tools included."""

    async def open_connection(self, opening: Opening) -> Connection:
        """Open a connection of the session's own."""
        ...

    async def shared_connection(self, opening: Opening) -> Connection:
        """The connection of all sessions, opened where there is none."""
        ...

    async def drop(self, connection: Connection) -> None:
        """Close a connection that failed."""
        ...

    def param_headers(self, tool: str, arguments: Mapping[str, JsonValue]) -> dict[str, str] | None:
        """The headers that mirror arguments of a call."""
        ...

    def hints(self, tool: str) -> ToolHints:
        """What the server says of a tool's effects."""
        ...

    def forget(self, session: "DeployedSession") -> None:
        """A session is closed."""
        ...


class DeployedSession:
    """Calls run as they come: their order is the gateway's. Nothing is sent twice that may not be."""

    def __init__(
        self, host: SessionHost, *, key: str, past: Sequence[PastCall], end: str | None = None
    ) -> None:
        """Open nothing yet.

        Args:
            host: The server.
            key: Names the episode to the server.
            past: Calls of an earlier life; the state that they made is gone where it lived in a process.
            end: Why it takes no calls, where the server was retired before.
        """
        self._host = host
        self._key = key
        self.connection: Connection | None = None
        """To the server; None while it has none."""
        self._opening = anyio.Lock()
        self._has_past = any(call.outcome is CallOutcome.APPLIED for call in past)
        self._has_state = False
        self._lost: str | None = None
        self._end = end
        self._running = 0
        self._idle = anyio.Event()
        self._listeners: list[Hear] = []
        self._unlisten: list[Callable[[], None]] = []
        self._subscribed: dict[str, None] = {}
        self._log_level: str | None = None

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool; what the server says, errors included, is a reply.

        Args:
            tool: Its own name.
            arguments: As the agent gave them: the server checks them.
            exchange: Who asks. The caller bounds the time; one that is cancelled cancels the call.

        Raises:
            BusyError: As many processes as allowed run.
            UpstreamError: The server could not answer; says whether the state of the episode is lost.
        """
        params: JsonObject = {"name": tool, "arguments": dict(arguments), **exchange.params}
        try:
            with in_words(self._host.name):
                headers = self._host.param_headers(tool, arguments)
                call = _Call(self._host.hints(tool), headers)
                result = await self._send("tools/call", params, exchange, call)
                reply = read_reply(result)
                return replace(reply, resent=call.resent) if call.resent else reply
        except InputError as error:
            return text_reply(error.message)
        except RelayedError as error:
            return refused_reply(error)

    async def request(self, method: str, params: JsonObject, exchange: Exchange) -> JsonObject:
        """Pass on another request; see ``RelaySession``.

        Requests that only the handshake era knows are translated for a server of the modern one:
        ``resources/subscribe`` and ``resources/unsubscribe`` change what it tells of, and
        ``logging/setLevel`` the level that later requests ask for.
        """
        with in_words(self._host.name):
            params = {**params, **exchange.params}
            return await self._send(method, params, exchange, _NO_CALL)

    def watch(self, hear: Hear) -> None:
        """Pass on the notifications that belong to no request.

        Changes of the tool list are left out: the server notices them for everybody.
        """
        self._listeners.append(hear)
        if self._host.is_shared:
            self._unlisten.append(self._host.listeners.add(hear))
        if self.connection is not None:
            self._follow(self.connection)

    async def aclose(self) -> None:
        """Close the connection, cutting off what runs; closing twice is allowed."""
        self._end = self._end or "the session is closed"
        for unlisten in self._unlisten:
            unlisten()
        self._unlisten.clear()
        connection, self.connection = self.connection, None
        if connection is not None and self._host.is_shared:
            for wanted_by in connection.subscribers.values():
                wanted_by.discard(self)
            self._host.follower.follow(connection, self, {})
        elif connection is not None:
            await self._host.drop(connection)
        self._host.forget(self)

    async def retire(self, reason: str, seconds: float) -> None:
        """Take no further calls, let those that run finish, and close.

        Args:
            reason: What later callers are told.
            seconds: How long what runs may take.
        """
        self._end = reason
        with anyio.move_on_after(seconds):
            while self._running:
                self._idle = anyio.Event()
                await self._idle.wait()
        await self.aclose()

    async def _send(
        self,
        method: str,
        params: JsonObject,
        exchange: Exchange,
        call: _Call,
    ) -> JsonObject:
        self._require_open()
        self._running += 1
        try:
            result = await self._send_or_retry(method, params, exchange, call)
            if exchange.era is Era.HANDSHAKE and is_input_required(result):

                async def repeat(further: JsonObject) -> JsonObject:
                    return await self._send_or_retry(method, {**params, **further}, exchange, call)

                what = f"tool {params.get('name')}" if method == "tools/call" else method
                result = await answer_asks(result, exchange.channel, repeat, what=what)
            return result
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _send_or_retry(
        self,
        method: str,
        params: JsonObject,
        exchange: Exchange,
        call: _Call,
    ) -> JsonObject:
        """Send once; repeat only what certainly reached nobody, and calls that may be executed twice.

        A server that does not know the session any more is there, and gets a new one without a pause; one
        that then does not know that either is as one that is not there.
        """
        pauses, retries = BackOff(FIRST_PAUSE, LONGEST_PAUSE, factor=3), 0
        was_lost, connection = False, None
        while True:
            try:
                connection = await self._connect(exchange)
                if connection.era is Era.MODERN and method in _TRANSLATED:
                    return await self._translate(connection, method, params)
                if method in _SUBSCRIBING:
                    return await self._subscribe(connection, method, params, exchange)
                return await self._send_once(connection, method, params, exchange, call)
            except NotSentError as error:
                is_lost = isinstance(error, SessionLostError) and not was_lost
                retries += not is_lost
                if retries > RETRIES:
                    raise
                was_lost = is_lost
            except RelayedError:
                raise  # it is an answer
            except UpstreamError as error:
                if not self._may_resend(call, connection):
                    raise
                call.resent += 1
                _log.warning("%s; its tool may be called twice: sent again", error)
            connection = None
            self._require_open()
            await anyio.sleep(0 if was_lost else pauses.next())

    def _may_resend(self, call: _Call, connection: Connection | None) -> bool:
        """True where the process that had a call ended, and a new one can stand for it."""
        if not call.hints.is_repeatable or call.resent >= RESENDS:
            return False
        return connection is not None and connection.peer.fault is not None and self._lost is None

    async def _send_once(
        self,
        connection: Connection,
        method: str,
        params: JsonObject,
        exchange: Exchange,
        call: _Call,
    ) -> JsonObject:
        """Send, and note what that did to the state and what the end of a connection does to the session."""
        is_sent = True
        connection.running += 1
        try:
            if exchange.log_level is not None:
                await self._set_log_level(connection, exchange.log_level)
            leveled = exchange
            if self._log_level is not None and exchange.log_level is None:
                leveled = replace(exchange, log_level=self._log_level)
            return await connection.request(method, params, leveled, call.headers, key=self._key)
        except NotSentError:
            is_sent = False
            raise
        finally:
            connection.running -= 1
            if is_sent and method == "tools/call" and not _is_undone(call, connection):
                self._has_state |= connection.peer.keeps_state and not self._host.is_shared
            if connection.peer.fault is not None:
                await self._let_go(connection)
                self._note_loss(connection)

    async def _subscribe(
        self, connection: Connection, method: str, params: JsonObject, exchange: Exchange
    ) -> JsonObject:
        """Pass a subscription of the handshake era on, and remember it for the next connection.

        Of the sessions that share a connection, the last one that wants a resource no more says so.
        """
        uri = str(params.get("uri"))
        wanted_by = connection.subscribers.setdefault(uri, set())
        if method == _UNSUBSCRIBE:
            self._subscribed.pop(uri, None)
            wanted_by.discard(self)
            if wanted_by:
                return {}
            del connection.subscribers[uri]
            return await self._send_once(connection, method, params, exchange, _NO_CALL)
        is_known = self in wanted_by
        wanted_by.add(self)  # before it is answered: another may leave meanwhile
        try:
            answer = await self._send_once(connection, method, params, exchange, _NO_CALL)
        except BaseException:
            if not is_known:
                wanted_by.discard(self)
            raise
        self._subscribed[uri] = None
        return answer

    def _note_loss(self, connection: Connection) -> None:
        if self._has_state and self._lost is None:
            self._lost = connection.peer.fault

    async def _let_go(self, connection: Connection) -> None:
        if self.connection is connection:
            self.connection = None
        await self._host.drop(connection)

    def _require_open(self) -> None:
        if self._end is not None:
            raise UpstreamError(f"upstream {self._host.name}: {self._end}")
        if self._lost is not None:
            raise UpstreamError(
                f"upstream {self._host.name} {self._lost}; the state that earlier calls of this "
                "episode made there is lost"
            )

    async def _connect(self, exchange: Exchange) -> Connection:
        connection = self.connection
        if connection is not None and connection.peer.fault is None:
            return connection
        async with self._opening:
            self._require_open()
            connection = self.connection
            if connection is not None:
                if connection.peer.fault is None:
                    return connection
                await self._let_go(connection)
                self._note_loss(connection)
                self._require_open()
            connection = await self._open(exchange)
            if self._end is not None:  # closed meanwhile
                if not self._host.is_shared:
                    await self._host.drop(connection)
                self._require_open()
            self.connection = connection
            await self._follow_first(connection)
            return connection

    async def _open(self, exchange: Exchange) -> Connection:
        if self._has_past and not self._host.is_shared and self._host.is_own_process:
            self._lost = "ended with the gateway before its restart"
            self._require_open()
        opening = Opening(
            era=exchange.era,
            capabilities=exchange.channel.capabilities if exchange.channel is not None else {},
            hear=self._hear,
            key=None if self._host.is_shared else self._key,  # one connection serves all
            is_shared=self._host.is_shared,
        )
        if self._host.is_shared:
            return await self._host.shared_connection(opening)
        connection = await self._host.open_connection(opening)
        if self._has_past and connection.peer.keeps_state:
            await self._host.drop(connection)
            self._lost = "had a session that ended with the gateway before its restart"
            self._require_open()
        return connection

    def _hear(self, method: str, params: JsonObject) -> None:
        for hear in self._listeners:
            hear(method, params)

    def _follow(self, connection: Connection) -> None:
        """Have a server of the modern era tell what this session wants to hear."""
        if connection.era is not Era.MODERN:
            return
        wanted: JsonObject = {}
        if self._listeners:
            wanted = {"promptsListChanged": True, "resourcesListChanged": True}
        if self._subscribed:
            wanted["resourceSubscriptions"] = list(self._subscribed)
        self._host.follower.follow(connection, self, wanted)

    async def _follow_first(self, connection: Connection) -> None:
        """Have the server tell of changes before it is asked for one, so that none is missed."""
        self._follow(connection)
        with anyio.move_on_after(FOLLOW_SECONDS):
            if connection.era is Era.MODERN:
                await connection.tells.wait()
            else:
                await self._subscribe_again(connection)

    async def _subscribe_again(self, connection: Connection) -> None:
        """Tell a server of the handshake era, which is another one by now, what this session wants."""
        try:
            for uri in tuple(self._subscribed):
                await self._subscribe(connection, _SUBSCRIBE, {"uri": uri}, SILENT)
        except UpstreamError as error:
            _log.warning("upstream %s tells no news of a resource: %s", self._host.name, error)

    async def _translate(
        self, connection: Connection, method: str, params: JsonObject
    ) -> JsonObject:
        if method == "logging/setLevel":
            self._log_level = str(params.get("level"))
        uri = str(params.get("uri"))
        if method == _SUBSCRIBE:
            self._subscribed[uri] = None
            await self._follow_first(connection)
        elif method == _UNSUBSCRIBE and self._subscribed.pop(uri, ...) is None:
            self._follow(connection)
        return {}

    async def _set_log_level(self, connection: Connection, level: str) -> None:
        """Ask a server of the handshake era for the client's level; a shared one for the most of all."""
        takes_levels = connection.era is not Era.MODERN and (
            "logging" in connection.facts.capabilities
        )
        if not takes_levels or level == connection.log_level:
            return
        if self._host.is_shared and _is_more(connection.log_level, level):
            return
        connection.log_level = level
        try:
            await connection.peer.request("logging/setLevel", {"level": level})
        except RelayedError as error:
            _log.warning("upstream %s refuses the log level %s: %s", self._host.name, level, error)


def _is_undone(call: _Call, connection: Connection) -> bool:
    """True where a call that was sent left nothing in its process, or left it in one that has ended.

    Of any other call it is not known what it did, however it ended.
    """
    is_gone = call.hints.is_idempotent and connection.peer.fault is not None
    return call.hints.is_read_only or is_gone


def _is_more(level: str | None, other: str) -> bool:
    """Tell whether a level lets through at least what the other does."""
    return (
        level in LOG_LEVELS
        and other in LOG_LEVELS
        and LOG_LEVELS.index(level) <= LOG_LEVELS.index(other)
    )
