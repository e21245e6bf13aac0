"""Emulated servers at the gateway: whose answers are made up, and where such servers are shown.

They stand at their own endpoints and in the episodes that name them, and nowhere among a person's real
servers (``docs/decisions/0012-emulated-servers-have-their-own-endpoints.md``). Knows servers; knows neither
episodes nor the protocol.
"""

from collections.abc import Iterable
from typing import cast

from astra_mcp.types import ServerKind
from gateway.api.protocol import EmulatedUpstream, Upstream

__all__ = ["emulated", "shown_together"]


def emulated(upstream: Upstream) -> EmulatedUpstream | None:
    """The server with what emulated ones have besides; None where its answers are real.

    Told by its kind: to look whether it has the members would read them, and its documents with them.
    """
    return cast("EmulatedUpstream", upstream) if upstream.kind is ServerKind.EMULATOR else None


def shown_together(upstreams: Iterable[Upstream]) -> tuple[Upstream, ...]:
    """Leave out what the endpoint of all servers does not show; the order stays."""
    return tuple(u for u in upstreams if u.kind is not ServerKind.EMULATOR)
