"""Where a request of the agent plane leads: an episode, or an interactive endpoint.

The path alone decides, in both eras of the protocol, so that any client can be sent there by its URL.
Knows paths; knows neither MCP nor what stands behind a target.
"""

from dataclasses import dataclass

from gateway.api.protocol import EpisodeId
from gateway.episodes.live import ALL_SERVERS

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
