"""Where a request of the agent plane leads: an episode, or an interactive endpoint.

The path alone decides, in both eras of the protocol, so that any client can be sent there by its URL.
Knows paths; knows neither MCP nor what stands behind a target.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from astra_mcp.errors import UnknownNameError
from gateway.episodes import ALL_SERVERS
from gateway.protocol import EpisodeId

__all__ = ["EpisodeTarget", "InteractiveTarget", "Target", "is_agent_path", "target_at"]

_MAX_REMEMBERED = 4096
_PATH = re.compile(r"/mcp|/episodes/(?P<episode>[^/]+)/mcp|/servers/(?P<server>[^/]+)/mcp")


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


@lru_cache(_MAX_REMEMBERED)
def is_agent_path(path: str) -> bool:
    """True where the agent plane answers."""
    return _PATH.fullmatch(path) is not None


@lru_cache(_MAX_REMEMBERED)
def target_at(path: str) -> Target:
    """Read where a path leads; whether anything is there is not known here.

    Raises:
        UnknownNameError: It is no path of the agent plane.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        msg = "MCP is spoken at /mcp, /servers/{name}/mcp and /episodes/{id}/mcp"
        raise UnknownNameError(msg)
    if match["episode"] is not None:
        return EpisodeTarget(EpisodeId(match["episode"]))
    return InteractiveTarget(match["server"])
