"""A request on its way from a client to a server, and the way back while it is under way.

The gateway makes an :class:`Exchange` of every request that it passes on; a server that relays hands the
client's ``_meta`` on and speaks to the client through its :class:`Channel`. Knows JSON and the names of
MCP's two eras; knows neither transports nor episodes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import anyio

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["LOG_LEVELS", "SILENT", "Cancellation", "Channel", "Era", "Exchange", "Hear"]

LOG_LEVELS: Final = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
"""Of MCP's log messages, the least severe first."""


class Era(StrEnum):
    """The two ways in which MCP is spoken."""

    HANDSHAKE = "handshake"
    """Up to 2025-11-25: ``initialize``, sessions, requests of the server to its client."""
    MODERN = "modern"
    """From 2026-07-28: every request stands alone; a server that needs input answers what it needs."""


Hear = Callable[[str, JsonObject], None]
"""Takes a notification's method and params; must not raise and must not block."""


class Channel(Protocol):
    """The way back to the client of one request, open until its result is answered."""

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """What the client declares that it can do (``sampling``, ``elicitation``, ``roots``, ...)."""
        ...

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification; one that cannot be delivered any more is dropped."""
        ...

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request to the client and wait for its result.

        Raises:
            RelayedError: The client answered with a JSON-RPC error, or cannot do what is asked.
        """
        ...


class Cancellation:
    """Whether the client of a request has cancelled it; ends the work that is shielded from that."""

    __slots__ = ("_scope", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._scope: anyio.CancelScope | None = None

    def set(self) -> None:
        """Cancel the work."""
        self.is_set = True
        if self._scope is not None:
            self._scope.cancel()

    def attach(self, scope: anyio.CancelScope) -> None:
        """Name the scope of the work, which is cancelled at once where that is already due."""
        self._scope = scope
        if self.is_set:
            scope.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a server may know of the request that it answers."""

    era: Era = Era.HANDSHAKE
    """In which the client speaks."""
    meta: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """``_meta`` for the server: the client's own, ``traceparent`` and ``progressToken`` included, less
    what belongs to the protocol's envelope or to the gateway."""
    params: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further members of a call's params to pass on (``inputResponses``, ``requestState``)."""
    log_level: str | None = None
    """The least level of log messages that the client asked for; None where it never did."""
    channel: Channel | None = None
    """None where the client hears nothing but the result."""
    cancellation: Cancellation | None = None
    """Tells that the client has cancelled the request; None where it is done to its end all the same."""


SILENT = Exchange()
"""A request whose client hears nothing but the result."""
