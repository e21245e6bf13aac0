"""What an episode shows: its tools in their order, and the servers that they belong to.

Fixed for the life of an episode proper. The state that a person has at an endpoint lives longer than one tool
list, since a server may list others after a call (a sign-in, say): it shows what its servers list by now.
Knows tools and servers; knows neither calls nor records.
"""

from collections.abc import Mapping, Sequence
from operator import is_

from gateway.api.protocol import Upstream
from gateway.episodes.naming import Route, routes_of

__all__ = ["Shown"]


class Shown:
    """The tools of one episode."""

    def __init__(self, routes: Mapping[str, Route], servers: Mapping[str, str]) -> None:
        """Show these tools.

        Args:
            routes: By the tools' shown names.
            servers: Name to version of all servers of the episode.
        """
        self.routes = routes
        self.tools = tuple(route.shown for route in routes.values())
        self.servers = dict(servers)

    def renew(
        self, held: Mapping[str, Upstream], upstreams: Sequence[Upstream], *, qualify_all: bool
    ) -> bool:
        """Show what the servers list by now.

        Args:
            held: The servers that hold the episode's state, by name.
            upstreams: What its endpoint shows.
            qualify_all: Its tools bear their servers' names.

        Returns:
            False where these are not the very servers that hold the state, or one that changed has tools and
            nothing else, so that other tools are another server: then nothing is changed.
        """
        changed = [u for u in upstreams if self.servers.get(u.name) != u.version]
        same = all(map(is_, (held.get(u.name) for u in upstreams), upstreams))
        if not same or len(held) != len(upstreams) or not all(u.relays for u in changed):
            return False
        self.routes = routes_of(upstreams, qualify_all=qualify_all)
        self.tools = tuple(route.shown for route in self.routes.values())
        self.servers.update((u.name, u.version) for u in changed)
        return True
