"""A deployed server: what is known of it, its sessions, and the connections that they share.

Satisfies the gateway's ``Upstream`` structurally. Knows the entry's isolation and the card; knows neither
the file that named it nor episodes.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal

import anyio
import anyio.to_thread
import httpx2
import orjson
from anyio.abc import TaskGroup

from astra_mcp.call_record import EndStatus
from astra_mcp.concurrency import BackOff, run_in_background
from astra_mcp.errors import BusyError, UpstreamError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import (
    JsonObject,
    JsonValue,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolSpec,
    canonical_json,
)
from servers.deployed.card import Card, CardFile
from servers.deployed.connecting import Connection, Connector, Opening, Route
from servers.deployed.errors import words_of
from servers.deployed.following import Follower
from servers.deployed.peer import ignore
from servers.deployed.session import DeployedSession
from servers.deployed.tools import ToolHints, ToolList, list_tools, read_tools
from servers.deployed.transports.http_client import HttpLink

__all__ = ["DeployedServer", "DeployedStatus", "Traits"]

_Condition = Literal["unused", "starting", "ready", "broken"]

FIRST_PAUSE: Final = 0.5
"""After a failed :meth:`DeployedServer.prepare`, how long its failure is answered without a new try."""
LONGEST_PAUSE: Final = 30.0
END_SECONDS: Final = 5.0
"""For telling the address of an entry that an episode has ended."""
_JSON: Final = {"content-type": "application/json"}
_MANY_TOOLS: Final = 100
"""A list of more takes longer than 5 ms to read."""
RETIRE_SECONDS: Final = 60.0
"""How long running calls of a removed server may take to finish."""

ABLE: Final[JsonObject] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "sampling": {},
}
"""A client that can do all that servers ask for: tools are listed as it sees them, since some servers show
fewer to a client that can do less, and what is listed must not depend on who called last."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedStatus:
    """How a deployed server is, for people."""

    name: str
    condition: _Condition
    """``unused`` where nobody has opened it yet, and ``starting`` where its first opening is under way."""
    reason: str
    """Why it is broken, in words that name the server; empty otherwise."""
    tools: int
    """How many it lists, as far as is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the entry of a server says of it, beside the way to it."""

    config_hash: str
    is_shared: bool
    """One connection serves all sessions."""
    is_own_process: bool
    """A connection is a process, or a run, of its own, which no restart survives."""
    seconds: float
    """For the start and the handshake."""
    episode_end_url: str | None = None
    """Is told of the ends of episodes; None where nobody wants to know."""


class DeployedServer:
    """One server, the ``SessionHost`` of the sessions that it makes; owns the connections that they share."""

    kind = ServerKind.DEPLOYED
    relays = True
    warnings: tuple[str, ...] = ()
    """What a deployed server does is its own affair."""

    def __init__(
        self,
        name: str,
        route: Route,
        tasks: TaskGroup,
        *,
        traits: Traits,
        card_file: CardFile | None,
        on_change: Callable[[str], None],
    ) -> None:
        """Start nothing.

        Args:
            name: Unique in the catalog.
            route: The way to the server.
            tasks: Run what happens in the background.
            traits: What its entry says.
            card_file: Keeps what is known of it; None for a server that is asked anew each time.
            on_change: Told the name when other tools are listed than before.
        """
        self.name = name
        self.is_shared = traits.is_shared
        self.is_own_process = traits.is_own_process
        self.config_hash = traits.config_hash
        """Of the entry that it was made of."""
        self.status = (ServerStatus.UNKNOWN, "")
        """What the last opening brought."""
        self._tasks = tasks
        self._card_file = card_file
        self._on_change = on_change
        self._connector = Connector(
            route,
            traits.seconds,
            name=name,
            learn=self._learn,
            remedy="" if card_file is None else " (raise timeout_seconds of its entry)",
        )
        self._card = card_file.read() if card_file is not None else Card()
        self._tools = read_tools(self._card.tools or (), name=name)
        self.version = self._version_with(self._tools)
        """Of the entry and the tool list."""
        self._being_opened = 0
        self._preparing = anyio.Lock()
        self._taking = anyio.Lock(fast_acquire=True)
        self._not_before = 0.0
        self._pauses = BackOff(FIRST_PAUSE, LONGEST_PAUSE)
        self._sharing = anyio.Lock()
        self._shared: dict[Era, Connection] = {}
        self._sessions: set[DeployedSession] = set()
        self._connections: dict[int, Connection] = {}
        self._counts = {"opened": 0, "failed": 0, "lost": 0, "closed": 0}
        self.listeners = Listeners[[str, JsonObject]]()
        self.follower = Follower(name, tasks)
        self._is_refreshing = False
        self._stale: Connection | None = None
        url = traits.episode_end_url
        self._end_link = None if url is None else HttpLink(url)
        self._closed_for: str | None = None
        """Why it takes no further sessions; None while it does."""
        self._was_looked_at = False

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order in which the server lists them; empty before the first :meth:`prepare`."""
        return self._tools.specs

    @property
    def tools_hash(self) -> str:
        """Of the tools alone, whatever the server's settings are."""
        return self._tools.hash

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """As the server said at its last opening, in the newest era that it speaks."""
        facts = self._card.facts
        return facts.capabilities if facts is not None else {}

    @property
    def instructions(self) -> str | None:
        """As the server said at its last opening."""
        facts = self._card.facts
        return facts.instructions if facts is not None else None

    @property
    def described(self) -> DeployedStatus:
        """The status for people; an opening under way shows where there was none before."""
        status, reason = self.status
        condition: _Condition = "starting" if self._being_opened else "unused"
        if status is not ServerStatus.UNKNOWN:
            condition = "ready" if status is ServerStatus.READY else "broken"
        return DeployedStatus(
            name=self.name, condition=condition, reason=reason, tools=len(self._tools.specs)
        )

    @property
    def usage(self) -> Mapping[str, int]:
        """Connections ``opened``, ``failed`` to open, ``lost`` and ``closed`` so far; those ``open`` now."""
        live = sum(c.peer.fault is None for c in self._connections.values())
        now = {"open": live, "processes": live} if self.is_own_process else {"open": live}
        return {**self._counts, **now}

    async def prepare(self) -> None:
        """Ask the server for its tools where no card knows them; one asks for all who wait.

        Raises:
            UpstreamError: It could not be started or reached. For a while (0.5 s at first, twice as long
                after each failure) the same is answered without a new try.
        """
        if self._card.tools is not None:
            return
        async with self._preparing:
            if self._card.tools is not None:
                return
            if anyio.current_time() < self._not_before:
                raise UpstreamError(self.status[1])
            try:
                await self._look()
            except UpstreamError:
                self._not_before = anyio.current_time() + self._pauses.next()
                raise

    async def check(self) -> None:
        """Open a connection and ask for the tools, whatever a card knows; the status says what came of it.

        One that serves somebody just now is well, and left alone.
        """
        if any(c.peer.fault is None for c in self._connections.values()):
            return
        async with self._preparing:
            try:
                await self._look()
            except UpstreamError as error:
                _log.debug("upstream %s was checked: %s", self.name, error)

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> DeployedSession:
        """Make a session; its connection is opened at the first use.

        Args:
            key: Names the episode to the server without telling its id.
            seed: Not used: what a deployed server chooses is its own affair.
            past: Calls of an earlier life, which cannot be replayed.
        """
        del seed
        session = DeployedSession(self, key=key, past=past, end=self._closed_for)
        self._sessions.add(session)
        return session

    async def note_end(self, key: str, status: EndStatus) -> None:
        """Tell the address that the entry names of an episode's end, once; a failure is logged."""
        if self._end_link is None:
            return
        body = orjson.dumps({"key": key, "status": status})
        fault = f"no answer within {END_SECONDS:g} s"
        with anyio.move_on_after(END_SECONDS, shield=True):
            try:
                response = await self._end_link.send("POST", _JSON, body)
                await response.aclose()
                fault = "" if response.is_success else f"HTTP status {response.status_code}"
            except (httpx2.HTTPError, httpx2.InvalidURL, UpstreamError) as error:
                fault = words_of(error)
        if fault:
            _log.warning("%s was not told that an episode has ended: %s", self.name, fault)

    async def retire(self, reason: str) -> None:
        """Close after the running calls; later ones are told the reason."""
        await self._close_sessions(reason, RETIRE_SECONDS)

    async def aclose(self) -> None:
        """Close all sessions and connections; running calls are cut off."""
        await self._close_sessions("the gateway stops", 0.0)

    async def open_connection(self, opening: Opening) -> Connection:
        """Open a connection, and look through it whether the tools are still the same."""
        opened: list[Connection] = []

        def hear(method: str, params: JsonObject) -> None:
            """The tool list is the server's matter, the rest goes on."""
            if method == "notifications/tools/list_changed":
                for connection in opened:
                    self._refresh(connection)
            elif method == "notifications/subscriptions/acknowledged":
                for connection in opened:
                    connection.tells.set()
            else:
                opening.hear(method, params)

        self._being_opened += 1
        try:
            connection = await self._connector.open(replace(opening, hear=hear), self._card)
        except BusyError:
            raise  # it is well, and wanted by many
        except UpstreamError as error:
            self.status = (ServerStatus.FAILED, str(error))
            self._counts["failed"] += 1
            raise
        finally:
            self._being_opened -= 1
        if self._closed_for is not None:  # while it was being opened
            await connection.aclose()
            raise UpstreamError(f"upstream {self.name}: {self._closed_for}")
        self._connections[id(connection)] = connection
        self._counts["opened"] += 1
        self.status = (ServerStatus.READY, "")
        self._pauses.reset()
        opened.append(connection)
        self._refresh(connection)
        return connection

    async def shared_connection(self, opening: Opening) -> Connection:
        """The connection of all sessions in an era, opened where there is none."""
        async with self._sharing:
            connection = self._shared.get(opening.era)
            if connection is None or connection.peer.fault is not None:
                opening = replace(opening, capabilities=ABLE, hear=self.listeners.tell)
                connection = self._shared[opening.era] = await self.open_connection(opening)
            return connection

    async def drop(self, connection: Connection) -> None:
        """Close a connection that failed, or that is needed no more.

        Where others wait for answers on one that failed, it takes no further requests, and the last of them
        to come back closes it: a server that forgot the session may have taken their requests before.
        """
        if connection.peer.fault is not None:
            self.status = (ServerStatus.FAILED, f"upstream {self.name} {connection.peer.fault}")
        for era, shared in tuple(self._shared.items()):
            if shared is connection:
                del self._shared[era]
        self.follower.leave(connection)
        if connection.peer.fault is not None and connection.running and self._closed_for is None:
            return
        if self._connections.pop(id(connection), None) is not None:
            self._counts["closed" if connection.peer.fault is None else "lost"] += 1
        await connection.aclose()

    def param_headers(self, tool: str, arguments: Mapping[str, JsonValue]) -> dict[str, str] | None:
        """The headers that mirror arguments of a call."""
        return self._tools.headers(tool, arguments)

    def hints(self, tool: str) -> ToolHints:
        """What the server says of a tool's effects."""
        return self._tools.hints(tool)

    def forget(self, session: DeployedSession) -> None:
        """A session is closed."""
        self._sessions.discard(session)

    async def _look(self) -> None:
        """Open a connection to ask for the tools; a shared one is kept."""
        opening = Opening(
            era=Era.MODERN,
            capabilities=ABLE,
            hear=ignore,
            key=None,
            is_shared=self.is_shared,
        )
        self._was_looked_at = True
        if self.is_shared:
            await self._list(await self.shared_connection(opening))
            return
        connection = await self.open_connection(opening)
        try:
            await self._list(connection)
        finally:
            await self.drop(connection)

    async def _list(self, connection: Connection) -> None:
        try:
            await self._take_tools(await list_tools(connection, name=self.name))
        except UpstreamError as error:
            self.status = (ServerStatus.FAILED, str(error))
            raise

    def _refresh(self, connection: Connection) -> None:
        """Ask for the tools in the background, one at a time; of those who ask meanwhile, the last counts."""
        if self._closed_for is not None or self._preparing.locked():
            return
        self._stale = connection
        if not self._is_refreshing:
            self._is_refreshing = True
            run_in_background(self._tasks, self._refresh_on)

    async def _refresh_on(self) -> None:
        try:
            while self._stale is not None:
                connection, self._stale = self._stale, None
                try:
                    documents = await list_tools(connection, name=self.name)
                    if connection.era is Era.MODERN or connection.declared == ABLE:
                        await self._take_tools(documents)
                    else:
                        await self._take_changes(connection, documents)
                except UpstreamError as error:
                    _log.debug("upstream %s does not list its tools: %s", self.name, error)
        finally:
            self._is_refreshing = False

    async def _take_changes(self, connection: Connection, documents: Sequence[JsonObject]) -> None:
        """Take over what a client that can do less sees to be new or gone; what it never saw stays."""
        now = {str(tool.get("name")): tool for tool in documents}
        gone, connection.listed = connection.listed - now.keys(), frozenset(now)
        known = {str(tool.get("name")): tool for tool in self._card.tools or ()}
        if not self._was_looked_at and (not known or known.keys() - now.keys()):
            await self._look()  # what is missing may be gone since the card was written
            return
        merged = {name: tool for name, tool in (known | now).items() if name not in gone}
        await self._take_tools(tuple(merged.values()))

    async def _take_tools(self, documents: Sequence[JsonObject]) -> None:
        """Take a list over; of many tools it is read in a thread, and others wait for it in their order."""
        async with self._taking:
            if len(documents) > _MANY_TOOLS:
                taken = await anyio.to_thread.run_sync(self._read, documents)
            else:
                taken = self._read(documents)
            if taken is None:
                return
            self._learn(self._card.model_copy(update={"tools": tuple(documents)}))
            before = self._tools.specs
            self._tools, self.version = taken
            if self._tools.specs != before:
                self._on_change(self.name)

    def _read(self, documents: Sequence[JsonObject]) -> tuple[ToolList, str] | None:
        """Read a list, and what version of the server it makes; None where it is the known one."""
        known = self._card.tools
        if known is not None and canonical_json(list(documents)) == canonical_json(list(known)):
            return None
        tools = read_tools(documents, name=self.name)
        return tools, self._version_with(tools)

    def _learn(self, card: Card) -> None:
        """Keep what an opening brought; tools that were learned meanwhile stay."""
        if card.tools is None:
            card = card.model_copy(update={"tools": self._card.tools})
        if card == self._card:
            return
        self._card = card
        if self._card_file is not None:
            self._card_file.write(card)

    def _version_with(self, tools: ToolList) -> str:
        rows = [tool.model_dump(mode="json") for tool in tools.specs]
        return sha256(canonical_json([self.config_hash, rows])).hexdigest()

    async def _close_sessions(self, reason: str, seconds: float) -> None:
        self._closed_for = reason
        async with anyio.create_task_group() as closing:
            for session in tuple(self._sessions):
                closing.start_soon(session.retire, reason, seconds)
        async with anyio.create_task_group() as closing:
            for connection in tuple(self._connections.values()):
                closing.start_soon(self.drop, connection)
        await self._connector.aclose()
        if self._end_link is not None:
            await self._end_link.aclose()
