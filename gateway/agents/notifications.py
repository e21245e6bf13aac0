"""What happens at the servers of an endpoint, and who of its clients hears of it.

Each state of a relaying server is watched once; what it tells goes to the clients of that state alone. A
changed list of tools goes to all clients of the endpoints that show the server. A client of the handshake era
hears on its session's own stream, one of the modern era on the streams that it opened with
``subscriptions/listen``. Knows endpoints, states and the SDK's sessions; knows neither HTTP nor how a server
is reached.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakSet, WeakValueDictionary

import anyio
import mcp_types
from anyio.abc import TaskGroup
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ServerEvent
from mcp.shared.subscriptions import event_from_wire
from mcp_types.methods import SERVER_NOTIFICATIONS

from astra_mcp.errors import AstraError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.mcp.request_context import Exchange, Hear
from astra_mcp.types import JsonObject
from gateway.agents.client_channel import QuietChannel, capabilities_of, log_level_allows
from gateway.agents.endpoints import EndpointRequest, Endpoints, EndpointView
from gateway.agents.targets import (
    AgentEpisode,
    EpisodeTarget,
    InteractiveTarget,
    Place,
    Target,
)
from gateway.api.seams import Upstream
from gateway.api.wire import ALL_SERVERS

SUBSCRIBE_SECONDS = 10.0
MAX_SESSIONS = 10_000
"""Sessions whose level and stream, and states whose subscriptions are remembered; beyond, the oldest hears no
more."""
MAX_WAITING = 256
"""News that a session has not taken yet; the oldest make room."""
SEND_SECONDS = 10.0
_TOOLS_CHANGED = "notifications/tools/list_changed"
_log = logging.getLogger("astra_mcp.gateway")


class ClientListeners:
    """Who listens where."""

    def __init__(self) -> None:
        self._ears: dict[str, dict[str, Listeners[[str, JsonObject]]]] = {}

    def tell(self, place: Place, method: str, params: JsonObject) -> None:
        """Tell those who listen to one caller's state."""
        listeners = self._ears.get(place.endpoint, {}).get(place.caller)
        if listeners is not None:
            listeners.tell(method, params)

    def tell_all(self, endpoint: str, method: str, params: JsonObject) -> None:
        """Tell all who listen at an endpoint."""
        for caller in list(self._ears.get(endpoint, {})):
            self.tell(Place(endpoint, caller), method, params)

    def add(self, place: Place, hear: Hear) -> Callable[[], None]:
        """Listen; the answer ends it, and may be called twice."""
        listeners = self._ears.setdefault(place.endpoint, {}).setdefault(place.caller, Listeners())
        end = listeners.add(hear)

        def remove() -> None:
            end()
            callers = self._ears.get(place.endpoint, {})
            if not callers.get(place.caller):
                callers.pop(place.caller, None)
            if not callers:
                self._ears.pop(place.endpoint, None)

        return remove


@dataclass(frozen=True, slots=True)
class _Bus:
    """One place, as the SDK's listen handler subscribes to it."""

    listeners: ClientListeners
    place: Place

    async def publish(self, event: ServerEvent) -> None:
        """Nothing is published here: the listeners are told."""
        raise NotImplementedError

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        def hear(method: str, params: JsonObject) -> None:
            event = event_from_wire(method, params)
            if event is not None:
                listener(event)

        return self.listeners.add(self.place, hear)


class _SessionListener:
    """A session of the handshake era; news wait in a bounded queue while it does not take them."""

    def __init__(self, session: ServerSession, group: TaskGroup) -> None:
        self._session = session
        self._group = group
        self._waiting: deque[tuple[str, JsonObject]] = deque(maxlen=MAX_WAITING)
        self._is_sending = False

    def hear(self, method: str, params: JsonObject) -> None:
        """Send it soon, where the session's revision has it."""
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


@dataclass(slots=True)
class _Wanted:
    """A resource of a server of one state, of which somebody wants news."""

    exchange: Exchange
    """As which it was asked for."""
    count: int = 0


def _listing_of(upstream: Upstream | None) -> frozenset[str]:
    if upstream is None or not upstream.relays:
        return frozenset()
    return frozenset({"prompts", "resources"} & upstream.capabilities.keys())


class Notifications:
    """Made by :meth:`open`."""

    def __init__(self, endpoints: Endpoints, group: TaskGroup) -> None:
        self._endpoints = endpoints
        self._listeners = ClientListeners()
        self._group = group
        self._levels: dict[Place, str] = {}
        self._sessions: OrderedDict[Place, Callable[[], None]] = OrderedDict()
        self._watched: WeakSet[AgentEpisode] = WeakSet()
        self._states: WeakValueDictionary[Place, AgentEpisode] = WeakValueDictionary()
        self._wanted: OrderedDict[Place, dict[tuple[str, str], _Wanted]] = OrderedDict()
        shown = endpoints.view(InteractiveTarget(None)).upstreams
        self._listings = {u.name: (u, _listing_of(u)) for u in shown}
        """What each server lists beside its tools, as was last told."""

    @classmethod
    @asynccontextmanager
    async def open(cls, endpoints: Endpoints) -> AsyncGenerator["Notifications"]:
        """Pass news on while the context is open."""
        async with anyio.create_task_group() as group:
            try:
                yield cls(endpoints, group)
            finally:
                group.cancel_scope.cancel()

    def add_session(self, target: Target, caller: str, session: ServerSession) -> None:
        """Let a session of the handshake era hear the news of its endpoint and its state; repeatable."""
        place = Place(target.place, caller)
        if place in self._sessions:
            return

        ear = _SessionListener(session, self._group)

        def hear(method: str, params: JsonObject) -> None:
            is_message = method == "notifications/message"
            if not is_message or log_level_allows(self._levels.get(place), params):
                ear.hear(method, params)

        self._sessions[place] = self._listeners.add(place, hear)
        if len(self._sessions) > MAX_SESSIONS:
            _, remove = self._sessions.popitem(last=False)
            remove()

    def forget_session(self, target: Target, caller: str) -> None:
        """Forget a session that has ended."""
        place = Place(target.place, caller)
        remove = self._sessions.pop(place, None)
        if remove is not None:
            remove()
        self._levels.pop(place, None)
        self._wanted.pop(place, None)

    def set_level(self, target: Target, caller: str, level: str) -> None:
        """Keep the least level of log messages that a session wants."""
        if Place(target.place, caller) in self._sessions:
            self._levels[Place(target.place, caller)] = level

    def level(self, target: Target, caller: str) -> str | None:
        """The least level that a session asked for; None where it never did."""
        return self._levels.get(Place(target.place, caller))

    async def state(
        self, view: EndpointView, caller: str, *, call_id: str | None = None
    ) -> AgentEpisode:
        """Find the state that a request uses, and hear what its servers tell from now on."""
        episode = await self._endpoints.state(view.target, caller, call_id=call_id)
        self.watch(view, caller, episode)
        return episode

    def watch(self, view: EndpointView, caller: str, episode: AgentEpisode) -> None:
        """Hear what the servers of a state tell; repeatable."""
        if not view.relaying or episode in self._watched or not episode.is_open:
            return
        self._watched.add(episode)
        place = _place_of_state(view.target, caller)
        self._states[place] = episode
        for upstream in view.relaying:
            episode.watch(upstream.name, self._teller(place))
        for (server, uri), wanted in self._wanted.get(place, {}).items():
            self._group.start_soon(self._subscribe, episode, server, uri, wanted.exchange)

    def _teller(self, place: Place) -> Hear:
        def tell(method: str, params: JsonObject) -> None:
            if method == _TOOLS_CHANGED:
                return  # the catalog tells it, to everyone
            if place.caller:
                self._listeners.tell(place, method, params)
            else:
                self._listeners.tell_all(place.endpoint, method, params)

        return tell

    def tell_of(self, name: str, upstream: Upstream | None, *, together: bool) -> None:
        """Tell the endpoints that show a server that its lists have changed.

        The upstream is None where it was removed; together: the endpoint of all shows it, or did so before.
        """
        before, told = self._listings.pop(name, (None, frozenset[str]()))
        now = _listing_of(upstream)
        if upstream is not None:
            self._listings[name] = upstream, now
        is_same = before is upstream and told == now
        changed = ("tools",) if is_same else ("tools", *sorted(_listing_of(before) | told | now))
        for endpoint in (name, ALL_SERVERS) if together else (name,):
            for what in changed:
                self._listeners.tell_all(endpoint, f"notifications/{what}/list_changed", {})

    def note_subscription(
        self, visit: EndpointRequest, server: str, uri: str, subscribes: bool
    ) -> None:
        """Remember what a session has subscribed to, for the state that may take the place of its own."""
        place = _place_of_state(visit.view.target, visit.caller)
        if subscribes:
            self._wanted_at(place)[server, uri] = _Wanted(_quiet(visit), 1)
        elif place in self._wanted:
            self._wanted[place].pop((server, uri), None)

    def _wanted_at(self, place: Place) -> dict[tuple[str, str], _Wanted]:
        """Find what is wanted at a place; episodes end without a word here, so the oldest make room."""
        wanted = self._wanted.setdefault(place, {})
        self._wanted.move_to_end(place)
        if len(self._wanted) > MAX_SESSIONS:
            self._wanted.popitem(last=False)
        return wanted

    async def listen(
        self,
        visit: EndpointRequest,
        params: mcp_types.SubscriptionsListenRequestParams,
        servers: Mapping[str, str],
    ) -> mcp_types.SubscriptionsListenResult:
        """Serve one listener of the modern era until it leaves; each resource it names has its server."""
        place = _place_of_state(visit.view.target, visit.caller)
        if visit.view.relaying:
            episode = await self.state(visit.view, visit.caller)
            if visit.view.sole is not None:
                # So that there is a connection by which anything can be told at all. Of several servers
                # none is started for it: each tells once it was used.
                server = visit.view.sole.name
                await self._ask(episode, server, "ping", {}, _quiet(visit), "tells no news")
        entered: list[tuple[str, str]] = []
        try:
            for uri, server in servers.items():
                entered.append((server, uri))
                await self._enter(visit, place, server, uri)
            return await ListenHandler(_Bus(self._listeners, place))(visit.ctx, params)
        finally:
            with anyio.CancelScope(shield=True):
                for server, uri in entered:
                    await self._leave(place, server, uri)

    async def _enter(self, visit: EndpointRequest, place: Place, server: str, uri: str) -> None:
        wanted = self._wanted_at(place).setdefault((server, uri), _Wanted(_quiet(visit)))
        wanted.count += 1
        if wanted.count == 1:
            episode = await self.state(visit.view, visit.caller)
            await self._subscribe(episode, server, uri, wanted.exchange)

    async def _leave(self, place: Place, server: str, uri: str) -> None:
        at_place = self._wanted.get(place, {})
        wanted = at_place.get((server, uri))
        if wanted is None:
            return
        wanted.count -= 1
        if wanted.count > 0:
            return
        del at_place[server, uri]
        if not at_place:
            self._wanted.pop(place, None)
        episode = self._states.get(place)
        if episode is not None and episode.is_open:
            await self._subscribe(episode, server, uri, wanted.exchange, ends=True)

    async def _subscribe(
        self,
        episode: AgentEpisode,
        server: str,
        uri: str,
        exchange: Exchange,
        *,
        ends: bool = False,
    ) -> None:
        """Ask a server for news of a resource, or for no more; one that refuses has none."""
        method = "resources/unsubscribe" if ends else "resources/subscribe"
        await self._ask(episode, server, method, {"uri": uri}, exchange, f"does not take {method}")

    async def _ask(  # noqa: PLR0917 - a request, and what its failure means
        self,
        episode: AgentEpisode,
        server: str,
        method: str,
        params: JsonObject,
        exchange: Exchange,
        failing: str,
    ) -> None:
        try:
            with anyio.fail_after(SUBSCRIBE_SECONDS):
                await episode.relay(server, method, params, exchange)
        except (AstraError, TimeoutError) as error:
            _log.warning("%s %s: %s", server, failing, error or type(error).__name__)


def _quiet(visit: EndpointRequest) -> Exchange:
    return Exchange(era=visit.era, channel=QuietChannel(capabilities_of(visit.ctx)))


def _place_of_state(target: Target, caller: str) -> Place:
    """Where the news of a state happen: of an episode all its clients hear."""
    return Place(target.place, "" if isinstance(target, EpisodeTarget) else caller)
