"""Makes connections to one server: its process or its URL, and the era that both sides speak.

Knows every transport and the card; knows neither sessions nor what is asked over a connection.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)

from astra_mcp.errors import BusyError, UpstreamError
from astra_mcp.mcp.request_context import SILENT, Era, Exchange, Hear
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.card import Card, EraFacts
from servers.deployed.errors import DELIVERY_UNKNOWN, NotSentError, StatusError
from servers.deployed.peer import OtherEraError, begin
from servers.deployed.transports.duplex import DuplexPeer, Wire
from servers.deployed.transports.http_client import HttpLink
from servers.deployed.transports.in_process import MemoryWire, ServerFactory
from servers.deployed.transports.messages import CLIENT_INFO
from servers.deployed.transports.old_sse import SseWire
from servers.deployed.transports.pending import Peer
from servers.deployed.transports.process import Watchdog
from servers.deployed.transports.stdio import Command, StdioWire
from servers.deployed.transports.streamable import StreamablePeer

__all__ = [
    "Connection",
    "Connector",
    "HttpRoute",
    "MountedRoute",
    "Opening",
    "ProcessRoute",
    "Route",
    "Slots",
]

_EPISODE_KEY: Final = "dev.astra-mcp/episode-key"
"""``_meta`` of a request to a server that serves one episode at a time: names it without telling its id."""
PROBE_SHARE: Final = 3
"""Of the time to start, a third for finding out whether a server of unknown age speaks the modern era, before
it is asked in the other one too."""
GRACE_SECONDS: Final = 1.0
"""How much later than the refusal of the older question the answer to the first one may come."""
_NO_STREAMABLE: Final = (400, 404, 405)
"""What a server answers that has the old transport only."""


@dataclass(slots=True, kw_only=True)
class Connection:
    """A peer that has agreed on an era."""

    peer: Peer
    facts: EraFacts
    key: str | None
    """Names the episode in every request; None where it is not to."""
    declared: Mapping[str, JsonValue]
    """What the client can do, as the server was told in a handshake."""
    listed: frozenset[str] = frozenset()
    """Names of the tools when they were last asked for here, by a client that cannot do all."""
    log_level: str | None = None
    """As last set by a request of the handshake era."""
    running: int = 0
    """Requests under way that sessions sent here."""
    subscribers: dict[str, set[object]] = field(default_factory=dict[str, set[object]])
    """Who wants news of a resource, by URI; of a server of the handshake era."""
    tells: anyio.Event = field(default_factory=anyio.Event)
    """Set once the server has said that it tells of the changes that are wanted here, or that it will not."""

    @property
    def era(self) -> Era:
        """In which they speak."""
        return self.facts.era

    async def request(
        self,
        method: str,
        params: Mapping[str, JsonValue],
        exchange: Exchange = SILENT,
        headers: Mapping[str, str] | None = None,
        *,
        key: str | None = None,
    ) -> JsonObject:
        """Send a request with its ``_meta``: the client's own, the episode's key, and the modern envelope.

        Args:
            method: Of the request.
            params: Without ``_meta``.
            exchange: Who asks.
            headers: Further headers where the connection is HTTP.
            key: Names an episode where the connection names none.
        """
        meta: JsonObject = dict(exchange.meta)
        channel = exchange.channel
        if (named := key or self.key) is not None:
            meta[_EPISODE_KEY] = named
        if self.era is Era.MODERN:
            meta[PROTOCOL_VERSION_META_KEY] = self.facts.version
            meta[CLIENT_INFO_META_KEY] = CLIENT_INFO
            meta[CLIENT_CAPABILITIES_META_KEY] = dict(channel.capabilities) if channel else {}
            if exchange.log_level is not None:
                meta[LOG_LEVEL_META_KEY] = exchange.log_level
        sent: JsonObject = {**params, "_meta": meta} if meta else dict(params)
        return await self.peer.request(method, sent, channel, headers)

    async def aclose(self) -> None:
        """Close it; closing twice is allowed."""
        with anyio.CancelScope(shield=True):  # every wire bounds the time of its own end
            await self.peer.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """For whom a connection is opened."""

    era: Era
    """In which the client speaks."""
    capabilities: Mapping[str, JsonValue]
    """What the client can do."""
    hear: Hear
    key: str | None
    is_shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(ABC):
    """One way to a server. Makes peers that have not said a word yet."""

    name: str
    """Of the server, for messages."""
    tasks: TaskGroup
    """Run what reads from it."""

    @abstractmethod
    async def make(self, opening: Opening, card: Card) -> Peer:
        """Make a peer; the caller bounds the time.

        Raises:
            UpstreamError: It cannot be started or reached.
        """

    async def make_old(self, opening: Opening) -> Peer | None:
        """Make a peer of the transport of 2024-11-05; None where there is none to fall back to."""
        del opening
        return None

    async def aclose(self) -> None:  # noqa: B027 - most share nothing
        """Release what all peers share, where they share anything."""

    def over(
        self, wire: Wire, opening: Opening, on_end: Callable[[], None] = lambda: None
    ) -> DuplexPeer:
        """Make a peer of a wire; ``on_end`` is told when that is gone."""
        return DuplexPeer(
            wire,
            self.tasks,
            name=self.name,
            hear=opening.hear,
            is_shared=opening.is_shared,
            on_end=on_end,
        )


class Slots:
    """Places for processes; whoever finds none waits in a queue with a deadline."""

    def __init__(self, limit: int, seconds: float, *, name: str) -> None:
        self._limit = limit
        self._seconds = seconds
        self._name = name
        self._free = anyio.Semaphore(limit)

    async def take(self) -> Callable[[], None]:
        """Wait for a place.

        Returns:
            Gives it back; calling it twice is allowed.

        Raises:
            BusyError: None became free in time.
        """
        try:
            with anyio.fail_after(self._seconds):
                await self._free.acquire()
        except TimeoutError:
            raise BusyError(
                f"upstream {self._name} is busy: {self._limit} processes run, and none ended within "
                f"{self._seconds:g} s (raise max_processes or queue_seconds of its entry)"
            ) from None
        place = ExitStack()
        place.callback(self._free.release)
        return place.close


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRoute(Route):
    """A process of this machine for each connection."""

    command: Command
    slots: Slots
    watchdog: Watchdog
    redact: Callable[[str], str]

    async def make(self, opening: Opening, card: Card) -> Peer:
        """Wait for a place and start a process."""
        del card
        give_back = await self.slots.take()
        is_started = False
        try:
            wire = await StdioWire.start(
                self.command, self.tasks, self.watchdog, name=self.name, redact=self.redact
            )
            is_started = True
        finally:
            if not is_started:
                give_back()
        return self.over(wire, opening, give_back)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedRoute(Route):
    """A server object of this process."""

    factory: ServerFactory

    async def make(self, opening: Opening, card: Card) -> Peer:
        """Run the server for one connection."""
        del card
        wire = MemoryWire(self.factory(), name=self.name)
        wire.start(self.tasks)
        return self.over(wire, opening)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRoute(Route):
    """A server at a URL."""

    link: HttpLink
    headers: Mapping[str, str]
    """Of every request."""
    is_old: bool
    """It is known to speak the transport of 2024-11-05."""
    may_fall_back: bool
    """It may turn out to."""
    redact: Callable[[str], str]
    """Takes secrets out of what a server says."""

    async def make(self, opening: Opening, card: Card) -> Peer:
        """Make a peer of Streamable HTTP, or of the old transport where that is known."""
        if self.is_old or (card.is_old_sse and self.may_fall_back):
            return await self._make_old(opening)
        return StreamablePeer(
            self.link,
            self.tasks,
            name=self.name,
            hear=opening.hear,
            is_shared=opening.is_shared,
            headers=self._all_headers(opening),
            redact=self.redact,
        )

    async def make_old(self, opening: Opening) -> Peer | None:
        """Try the old transport where the entry does not say which one it is."""
        return await self._make_old(opening) if self.may_fall_back else None

    async def aclose(self) -> None:
        """Close all connections."""
        await self.link.aclose()

    async def _make_old(self, opening: Opening) -> Peer:
        wire = await SseWire.open(self.link, self._all_headers(opening), name=self.name)
        return self.over(wire, opening)

    def _all_headers(self, opening: Opening) -> dict[str, str]:
        key = {"astra-episode-key": opening.key} if opening.key else {}
        return {**self.headers, **key}


class Connector:
    """Opens connections to one server, and learns from each what to try first the next time."""

    def __init__(
        self,
        route: Route,
        seconds: float,
        *,
        name: str,
        learn: Callable[[Card], None],
        remedy: str = "",
    ) -> None:
        """Open nothing yet.

        Args:
            route: The way to the server.
            seconds: For the start and the handshake.
            name: Of the server, for messages.
            learn: Takes a card that says more than the one before.
            remedy: Ends the message about a server that took longer.
        """
        self._route = route
        self._remedy = remedy
        self._seconds = seconds
        self._name = name
        self._learn = learn

    async def open(self, opening: Opening, card: Card) -> Connection:
        """Connect and agree on an era.

        Raises:
            BusyError: As many processes as allowed run.
            NotSentError: Nobody listens.
            UpstreamError: It cannot be started, or does not answer as a server of MCP does.
        """
        peers: list[Peer] = []
        is_open = False
        try:
            peer = await self._route.make(opening, card)
            peers.append(peer)
            with anyio.fail_after(self._seconds):
                connection = await self._agree(peers, opening, card)
            is_open = True
        except TimeoutError:
            words = f"did not answer the handshake within {self._seconds:g} s{self._remedy}"
            if said := next((peer.nonsense for peer in peers if peer.nonsense), ""):
                words += f"; it wrote {said!r}, which is no JSON-RPC"
            raise UpstreamError(f"upstream {self._name} {words}") from None
        except UpstreamError as error:
            text = str(error)
            if text.endswith(DELIVERY_UNKNOWN):  # of the handshake, which does nothing
                raise NotSentError(text.removesuffix(f"; {DELIVERY_UNKNOWN}")) from None
            raise
        finally:
            for peer in peers if not is_open else peers[:-1]:
                with anyio.CancelScope(shield=True):  # bounds its own time
                    await peer.aclose()
        return connection

    async def aclose(self) -> None:
        """Release what all connections share."""
        await self._route.aclose()

    async def _agree(self, peers: list[Peer], opening: Opening, card: Card) -> Connection:
        """Try the eras, the client's own first unless the server is known not to speak it."""
        eras = [opening.era, *(era for era in Era if era is not opening.era)]
        if card.eras.get(eras[0], ...) is None:
            eras.reverse()
        refusals: list[UpstreamError] = []
        for era in eras:
            try:
                facts = await self._begin_anew(peers, era, opening, card, was_asked=bool(refusals))
            except OtherEraError as error:
                refusals.append(error)
            except StatusError as error:
                if error.status not in _NO_STREAMABLE:
                    raise
                refusals.append(error)
            else:
                self._note(card.with_era(facts.era, facts), missing=eras[: eras.index(facts.era)])
                return _connection(peers[-1], facts, opening)
        return await self._fall_back(peers, opening, card, refusals)

    def _note(self, card: Card, *, missing: Sequence[Era]) -> None:
        for era in missing:
            card = card.with_era(era, None)
        self._learn(card)

    async def _begin_anew(
        self, peers: list[Peer], era: Era, opening: Opening, card: Card, *, was_asked: bool
    ) -> EraFacts:
        """Open the conversation, with another peer where the question of the other era has ended this one.

        Some servers show only at the next message that they have ended.
        """
        is_known = card.eras.get(era) is not None
        if peers[-1].fault is None:
            try:
                return await self._begin(peers[-1], era, opening, is_known=is_known)
            except UpstreamError:
                if not was_asked or peers[-1].fault is None:
                    raise
        peers.append(await self._route.make(opening, card))
        return await self._begin(peers[-1], era, opening, is_known=is_known)

    async def _begin(self, peer: Peer, era: Era, opening: Opening, *, is_known: bool) -> EraFacts:
        """Open the conversation; a server of unknown age that fails at a modern opening may be an old one."""
        if era is Era.HANDSHAKE or is_known:
            return await begin(peer, era, opening.capabilities, name=self._name)
        try:
            if peer.keeps_state:
                return await self._begin_in_either(peer, opening)
            with anyio.move_on_after(self._seconds / PROBE_SHARE):
                return await begin(peer, era, opening.capabilities, name=self._name)
        except UpstreamError as error:
            if peer.fault is None:
                raise
            raise OtherEraError(str(error)) from None  # such as: ended at a method it does not know
        raise OtherEraError(f"upstream {self._name} does not answer server/discover")

    async def _begin_in_either(self, peer: Peer, opening: Opening) -> EraFacts:
        """Ask in the modern era, and after a while in the other one too: the first to succeed counts.

        A server that is slow to start takes the era of the first message that it reads, so that the question
        must stand until it is answered; an old server may never answer it.
        """
        facts: list[EraFacts] = []
        refusals: list[UpstreamError] = []
        is_settled = anyio.Event()

        async def ask(era: Era) -> None:
            try:
                facts.append(await begin(peer, era, opening.capabilities, name=self._name))
                asking.cancel_scope.cancel()
            except UpstreamError as error:
                refusals.append(error)
                if era is Era.HANDSHAKE and len(refusals) == 1:
                    await anyio.sleep(GRACE_SECONDS)
                    asking.cancel_scope.cancel()
            is_settled.set()

        async with anyio.create_task_group() as asking:
            asking.start_soon(ask, Era.MODERN)
            with anyio.move_on_after(self._seconds / PROBE_SHARE) as scope:
                await is_settled.wait()
            if scope.cancelled_caught:
                asking.start_soon(ask, Era.HANDSHAKE)
        if not facts:
            raise refusals[0]
        return facts[0]

    async def _fall_back(
        self, peers: list[Peer], opening: Opening, card: Card, refusals: Sequence[UpstreamError]
    ) -> Connection:
        """Try the transport of 2024-11-05 where a server knows nothing of the one after it."""
        is_old = any(isinstance(refusal, StatusError) for refusal in refusals)
        old = await self._route.make_old(opening) if is_old else None
        if old is None:
            raise refusals[-1]
        peers.append(old)
        era = Era.HANDSHAKE
        facts = await begin(old, era, opening.capabilities, name=self._name)
        card = card.model_copy(update={"is_old_sse": True})
        self._note(card.with_era(era, facts), missing=[Era.MODERN])
        return _connection(old, facts, opening)


def _connection(peer: Peer, facts: EraFacts, opening: Opening) -> Connection:
    return Connection(peer=peer, facts=facts, key=opening.key, declared=opening.capabilities)
