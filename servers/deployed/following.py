"""Has servers of MCP 2026-07-28 tell of changes: one ``subscriptions/listen`` for a connection.

Of all connections to a server one alone hears of its tools. Knows connections; what is heard goes where the
connection's own ear puts it.
"""

import logging
from collections.abc import Iterable

import anyio
from anyio.abc import TaskGroup

from astra_mcp.concurrency import BackOff, run_in_background
from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.connecting import Connection
from servers.deployed.transports.messages import as_object
from servers.deployed.transports.pending import LISTEN

__all__ = ["Follower"]

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0

_log = logging.getLogger(__name__)


class Follower:
    """The listening streams of one server."""

    def __init__(self, name: str, tasks: TaskGroup) -> None:
        self._name = name
        self._tasks = tasks
        self._of_tools: Connection | None = None
        self._wanted: dict[int, dict[object, JsonObject]] = {}
        self._running: dict[int, tuple[JsonObject, anyio.CancelScope]] = {}

    def follow(self, connection: Connection, owner: object, wanted: JsonObject) -> None:
        """Listen on a connection for what is wanted there by all of its owners.

        Args:
            connection: In the modern era; others tell of changes unasked.
            owner: Who wants it, instead of what it wanted before.
            wanted: Of a ``SubscriptionFilter``, less the tools; what the server cannot tell is left out.
        """
        if connection.era is not Era.MODERN or connection.peer.fault is not None:
            connection.tells.set()
            return
        key = id(connection)
        owners = self._wanted.setdefault(key, {})
        owners[owner] = wanted
        if not wanted:
            del owners[owner]
        if self._of_tools is None or self._of_tools.peer.fault is not None:
            self._of_tools = connection
        asked = _possible(connection, owners.values())
        if self._of_tools is connection and _can(connection, "tools", "listChanged"):
            asked["toolsListChanged"] = True
        before, scope = self._running.pop(key, ({}, anyio.CancelScope()))
        if asked == before and asked:
            self._running[key] = (before, scope)
            return
        scope.cancel()
        connection.tells.set()
        if asked:
            connection.tells = anyio.Event()
            scope = anyio.CancelScope()
            self._running[key] = (asked, scope)
            run_in_background(self._tasks, self._listen, connection, asked, scope)

    def leave(self, connection: Connection) -> None:
        """A connection is about to be closed."""
        self._wanted.pop(id(connection), None)
        _, scope = self._running.pop(id(connection), ({}, anyio.CancelScope()))
        scope.cancel()
        if self._of_tools is connection:
            self._of_tools = None

    async def _listen(
        self, connection: Connection, asked: JsonObject, scope: anyio.CancelScope
    ) -> None:
        pauses = BackOff(FIRST_PAUSE, LONGEST_PAUSE)
        with scope:
            while connection.peer.fault is None:
                try:
                    await connection.request(LISTEN, {"notifications": asked})
                    pauses.reset()
                except RelayedError as error:
                    _log.info("upstream %s tells of no changes: %s", self._name, error)
                    connection.tells.set()
                    return
                except UpstreamError as error:
                    _log.debug("upstream %s stopped telling of changes: %s", self._name, error)
                connection.tells.set()
                await anyio.sleep(pauses.next())


def _can(connection: Connection, what: str, how: str) -> bool:
    members = as_object(connection.facts.capabilities.get(what))
    return members is not None and bool(members.get(how))


def _possible(connection: Connection, wanted: Iterable[JsonObject]) -> JsonObject:
    """Put together what several want, as far as the server can tell it."""
    asked: JsonObject = {}
    uris: dict[JsonValue, None] = {}
    for one in wanted:
        for what in ("prompts", "resources"):
            member = f"{what}ListChanged"
            if one.get(member) and _can(connection, what, "listChanged"):
                asked[member] = True
        subscribed = one.get("resourceSubscriptions")
        if isinstance(subscribed, list) and _can(connection, "resources", "subscribe"):
            uris.update(dict.fromkeys(subscribed))
    if uris:
        asked["resourceSubscriptions"] = list(uris)
    return asked
