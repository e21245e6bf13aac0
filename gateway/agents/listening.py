"""News for the clients of each endpoint: changed lists, updated resources, log messages.

News belong to one endpoint, and most of them to one caller's state there; they reach exactly those. A client
of the handshake era hears them on its session's own stream, one of the modern era on the streams that it
opened with ``subscriptions/listen``. Knows the SDK's sessions and events; knows neither episodes nor servers.
"""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import mcp_types
from anyio.abc import TaskGroup
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ServerEvent
from mcp.shared.subscriptions import event_from_wire
from mcp_types.methods import SERVER_NOTIFICATIONS

from astra_mcp.mcp.listeners import Hearers
from astra_mcp.mcp.request_context import Hear
from astra_mcp.types import JsonObject

__all__ = ["Listeners", "Place"]

MAX_WAITING = 256
"""News that a session has not taken yet; the oldest make room."""
SEND_SECONDS = 10.0
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(frozen=True, slots=True)
class Place:
    """Where news happen: an endpoint, and whose state there."""

    endpoint: str
    caller: str
    """Empty for an episode, whose state is its own."""


class Listeners:
    """Who listens where; made by :meth:`open`."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._ears: dict[str, dict[str, Hearers[[str, JsonObject]]]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncGenerator["Listeners"]:
        """Pass news on while the context is open."""
        async with anyio.create_task_group() as group:
            try:
                yield cls(group)
            finally:
                group.cancel_scope.cancel()

    def tell(self, place: Place, method: str, params: JsonObject) -> None:
        """Tell those who listen to one caller's state."""
        hearers = self._ears.get(place.endpoint, {}).get(place.caller)
        if hearers is not None:
            hearers.tell(method, params)

    def tell_all(self, endpoint: str, method: str, params: JsonObject) -> None:
        """Tell all who listen at an endpoint."""
        for caller in list(self._ears.get(endpoint, {})):
            self.tell(Place(endpoint, caller), method, params)

    def add(self, place: Place, hear: Hear) -> Callable[[], None]:
        """Listen; the answer ends it, and may be called twice."""
        hearers = self._ears.setdefault(place.endpoint, {}).setdefault(place.caller, Hearers())
        end = hearers.add(hear)

        def remove() -> None:
            end()
            callers = self._ears.get(place.endpoint, {})
            if not callers.get(place.caller):
                callers.pop(place.caller, None)
            if not callers:
                self._ears.pop(place.endpoint, None)

        return remove

    def add_session(
        self, place: Place, session: ServerSession, allows: Callable[[str, JsonObject], bool]
    ) -> Callable[[], None]:
        """Let a session of the handshake era hear news on its own stream.

        Args:
            place: What it hears of.
            session: As the SDK hands it to a handler; outlives the request.
            allows: Whether the client wants to hear one.
        """
        ear = _SessionEar(session, self._group)

        def hear(method: str, params: JsonObject) -> None:
            if allows(method, params):
                ear.hear(method, params)

        return self.add(place, hear)

    async def listen(
        self,
        place: Place,
        ctx: ServerRequestContext[Any, Any],
        params: mcp_types.SubscriptionsListenRequestParams,
    ) -> mcp_types.SubscriptionsListenResult:
        """Serve one ``subscriptions/listen`` until its client leaves."""
        return await ListenHandler(_Bus(self, place))(ctx, params)


class _Bus:
    """One place, as the SDK's listen handler subscribes to it."""

    def __init__(self, listeners: Listeners, place: Place) -> None:
        self._listeners = listeners
        self._place = place

    async def publish(self, event: ServerEvent) -> None:
        """Nothing is published here: the listeners are told."""
        raise NotImplementedError

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        def hear(method: str, params: JsonObject) -> None:
            event = event_from_wire(method, params)
            if event is not None:
                listener(event)

        return self._listeners.add(self._place, hear)


class _SessionEar:
    """A session of the handshake era; news wait in a bounded queue while it does not take them."""

    def __init__(self, session: ServerSession, group: TaskGroup) -> None:
        self._session = session
        self._group = group
        self._waiting: deque[tuple[str, JsonObject]] = deque(maxlen=MAX_WAITING)
        self._is_sending = False

    def hear(self, method: str, params: JsonObject) -> None:
        if (method, self._session.protocol_version) not in SERVER_NOTIFICATIONS:
            return
        self._waiting.append((method, params))
        if not self._is_sending:
            self._is_sending = True
            self._group.start_soon(self._send)

    async def _send(self) -> None:
        try:
            while self._waiting:
                method, params = self._waiting.popleft()
                sent = mcp_types.Notification[dict[str, Any], str](method=method, params=params)
                with anyio.move_on_after(SEND_SECONDS) as scope:
                    await self._session.send_notification(
                        cast("mcp_types.ServerNotification", sent)
                    )
                if scope.cancelled_caught:
                    _log.debug("a session does not read its news: %s was dropped", method)
        finally:
            self._is_sending = False
