"""What an episode shows: its tools in their order, under their names, and the servers that they belong to.

Bare names where an episode has one server; on a collision between servers every colliding tool becomes
``server__tool``. Endpoints that show all servers use ``server__tool`` throughout. Shown names keep to
the 64 characters of ``[a-zA-Z0-9_-]`` that model providers accept.

Fixed for the life of an episode proper. The state that a person has at an endpoint lives longer than one tool
list, since a server may list others after a call (a sign-in, say): it shows what its servers list by now.
Knows tools and servers; knows neither calls nor records.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import is_
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

from astra_mcp.types import ToolSpec
from gateway.api.seams import Upstream

_MAX_LENGTH = 64
_HASH_DIGITS = 6
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a shown tool leads."""

    shown: ToolSpec
    """The tool under the name that agents see."""
    server: str
    tool: str
    """The tool's own name at its server."""
    is_distractor: bool = False
    band: str | None = None
    """Of a distractor; see :class:`gateway.api.seams.Distractor`."""


def qualified_name(server: str, tool: str, *, hashed: bool = False) -> str:
    """Join a server's name and a tool's own to ``server__tool``.

    Too long or foreign names are cut and end in 6 hex digits of a hash; so do hashed ones, where the plain
    one is taken.
    """
    name = f"{server}__{tool}"
    plain = _FOREIGN.sub("_", name)
    if plain == name and len(name) <= _MAX_LENGTH and not hashed:
        return name
    digest = sha256(f"{len(server)}:{name}".encode()).hexdigest()[:_HASH_DIGITS]
    return f"{plain[: _MAX_LENGTH - _HASH_DIGITS - 1]}_{digest}"


def routes_of(upstreams: Sequence[Upstream], *, qualify_all: bool = False) -> dict[str, Route]:
    """Lay out the tool list of an episode, in the order of the servers and of their tools.

    A tool is shown as ``server__tool`` where its name collides, or everywhere where all are qualified.
    """
    counts = Counter(tool.name for upstream in upstreams for tool in upstream.tools)
    routes: dict[str, Route] = {}
    for upstream in upstreams:
        for tool in upstream.tools:
            collides = qualify_all or counts[tool.name] > 1
            name = qualified_name(upstream.name, tool.name) if collides else tool.name
            # A tool may be named as another one is shown: the plain names are all taken in turn.
            if name in routes:
                name = qualified_name(upstream.name, tool.name, hashed=True)
            routes[name] = Route(shown=tool.renamed(name), server=upstream.name, tool=tool.name)
    return routes


_MANY = 200
"""Tools: what is made of more takes longer than 5 ms."""
_Arguments = ParamSpec("_Arguments")
_Made = TypeVar("_Made")


async def of_tools(
    num_tools: int,
    make: Callable[_Arguments, _Made],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Made:
    """Make something of so many tools: at once, or in a thread where they are many."""
    if num_tools <= _MANY:
        return make(*args, **kwargs)
    return await anyio.to_thread.run_sync(partial(make, *args, **kwargs))


class Shown:
    """The tools of one episode."""

    def __init__(self, routes: Mapping[str, Route], servers: Mapping[str, str]) -> None:
        """Show these tools, by their shown names; the servers are those of the episode, name to version."""
        self.routes = routes
        self.tools = tuple(route.shown for route in routes.values())
        self.servers = dict(servers)

    def renew(
        self, held: Mapping[str, Upstream], upstreams: Sequence[Upstream], *, qualify_all: bool
    ) -> bool:
        """Show what the servers list by now that an endpoint shows.

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
