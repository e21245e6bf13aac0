"""Where a request of the agent plane leads, and what is asked of the episodes that stand there.

The path alone decides, in both eras of the protocol, so that any client can be sent there by its URL. The
Protocols are what agents may do with an episode; :mod:`gateway.episodes` satisfies them. Knows paths; knows
neither MCP nor how an episode runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.call_record import Encoded, EpisodeId
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.types import JsonObject, JsonValue, ToolResult, ToolSpec
from gateway.api.seams import Upstream
from gateway.api.wire import ALL_SERVERS, EpisodeState

__all__ = ["EpisodeTarget", "InteractiveTarget", "Target", "target_at"]

_ALL = "/mcp"
_EPISODE = "/episodes/"
_SERVER = "/servers/"


@dataclass(frozen=True, slots=True)
class EpisodeTarget:
    """One episode."""

    id: EpisodeId

    @property
    def place(self) -> str:
        """Name of where its news happen; no endpoint is named so."""
        return f"/{self.id}"


@dataclass(frozen=True, slots=True)
class InteractiveTarget:
    """An endpoint whose state belongs to the caller."""

    server: str | None
    """None for all servers."""

    @property
    def endpoint(self) -> str:
        """Name of the endpoint in records."""
        return self.server or ALL_SERVERS

    @property
    def place(self) -> str:
        """Name of where its news happen."""
        return self.endpoint


Target = EpisodeTarget | InteractiveTarget


def target_at(path: str) -> Target | None:
    """Read where a path leads; whether anything is there is not known here.

    Remembers nothing by path: of the many episodes each has an own one.

    Returns:
        None where the agent plane does not answer.
    """
    if episode := _name_in(path, _EPISODE):
        return EpisodeTarget(EpisodeId(episode))
    if server := _name_in(path, _SERVER):
        return InteractiveTarget(server)
    return InteractiveTarget(None) if path == _ALL else None


def _name_in(path: str, prefix: str) -> str:
    """Read the one segment between a prefix and ``/mcp``; empty where a path is not made so."""
    if not (path.startswith(prefix) and path.endswith(_ALL)):
        return ""
    name = path[len(prefix) : -len(_ALL)]
    return "" if "/" in name else name


@dataclass(frozen=True, slots=True)
class Place:
    """Where news happen: an endpoint, and whose state there."""

    endpoint: str
    caller: str
    """Empty for an episode, whose state is its own."""


class AgentEpisode(Protocol):
    """An episode, or the state that a caller has at an interactive endpoint."""

    own_upstreams: tuple[Upstream, ...]
    """The servers of its source."""
    relays: bool
    """True where more than tools can be reached at one of them."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tool list under its shown names."""
        ...

    @property
    def tools_hash(self) -> str:
        """Hash of the shown tool list."""
        ...

    @property
    def is_open(self) -> bool:
        """True while it takes calls."""
        ...

    def state(self) -> EpisodeState:
        """Tell where it stands."""
        ...

    def expire_if_due(self) -> bool:
        """End it where its time is over; tells whether it did."""
        ...

    def upstream_of(self, shown: str) -> Upstream | None:
        """The server of a listed tool; None for a tool that is not listed."""
        ...

    async def call(
        self,
        shown: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
        exchange: Exchange = SILENT,
    ) -> ToolResult:
        """Run one tool call; see :meth:`gateway.episodes.episode.Episode.call`."""
        ...

    async def answer(
        self,
        shown: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
        exchange: Exchange = SILENT,
    ) -> Encoded:
        """Do what :meth:`call` does for a name and arguments that are known to be sound JSON."""
        ...

    async def relay(
        self, server: str, method: str, params: JsonObject, exchange: Exchange
    ) -> JsonObject:
        """Pass a request other than a call on to one of its servers."""
        ...

    def watch(self, server: str, hear: Hear) -> None:
        """Hear the notifications of a server that belong to no request."""
        ...


class AgentEpisodes(Protocol):
    """The episodes of one gateway; see :class:`gateway.episodes.live.Episodes` for each."""

    closings: Listeners[[str]]
    """Who is told of each episode that somebody closes."""
    replacements: Listeners[[str, str]]
    """Who is told the endpoint and the caller of each state that another one takes the place of."""

    async def get(self, episode: str) -> AgentEpisode:
        """Find an episode, in memory or in its record."""
        ...

    def find_live(self, episode: str) -> AgentEpisode | None:
        """Find an episode that is in memory and takes calls, or did so a moment ago."""
        ...

    def at_hand(self, episode: str) -> AgentEpisode:
        """Find an episode that was brought into memory for this request."""
        ...

    def is_open(self, episode: str) -> bool:
        """Tell whether an episode takes calls, in memory or parked."""
        ...

    async def prepared(
        self, upstreams: Sequence[Upstream], *, of_all: bool
    ) -> tuple[Upstream, ...]:
        """Name those of an interactive endpoint's servers whose tools are known now."""
        ...

    async def interactive(
        self, endpoint: str, caller: str, servers: Sequence[str], *, call_id: str | None = None
    ) -> AgentEpisode:
        """Find or make the state that one caller has at an interactive endpoint."""
        ...

    async def close_state(self, endpoint: str, caller: str) -> None:
        """End the state that a caller has at an interactive endpoint, where it holds anything."""
        ...
