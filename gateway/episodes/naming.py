"""The names under which an episode shows its tools.

Bare names where an episode has one server; on a collision between servers every colliding tool becomes
``server__tool``. Endpoints that show all servers use ``server__tool`` throughout. Shown names keep to
the 64 characters of ``[a-zA-Z0-9_-]`` that model providers accept.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from astra_mcp.types import ToolSpec
from gateway.api.protocol import Upstream

__all__ = ["Route", "qualified_name", "routes_of"]

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
    """Of a distractor; see :class:`gateway.api.protocol.Distractor`."""


def qualified_name(server: str, tool: str, *, hashed: bool = False) -> str:
    """Join to ``server__tool``.

    Too long or foreign names are cut and end in 6 hex digits of a hash.

    Args:
        server: The server's name.
        tool: The tool's own name.
        hashed: Add the hash although the name would fit, where the plain one is taken.
    """
    name = f"{server}__{tool}"
    plain = _FOREIGN.sub("_", name)
    if plain == name and len(name) <= _MAX_LENGTH and not hashed:
        return name
    digest = sha256(f"{len(server)}:{name}".encode()).hexdigest()[:_HASH_DIGITS]
    return f"{plain[: _MAX_LENGTH - _HASH_DIGITS - 1]}_{digest}"


def routes_of(upstreams: Sequence[Upstream], *, qualify_all: bool = False) -> dict[str, Route]:
    """Lay out the tool list of an episode, in the order of the servers and of their tools.

    Args:
        upstreams: The servers of the episode.
        qualify_all: Show every tool as ``server__tool``, not only those that collide.
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
