"""What a session asks of a connection to a server, whatever carries it."""

from collections.abc import Mapping
from typing import Protocol

from astra_mcp.mcp.request_context import Channel, Hear
from astra_mcp.types import JsonObject, JsonValue

__all__ = ["Peer", "ignore"]


class Peer(Protocol):
    """A server at the other end of a connection. Requests may run at the same time."""

    @property
    def fault(self) -> str | None:
        """Why it takes no further requests; None while it does."""
        ...

    @property
    def keeps_state(self) -> bool:
        """True where the server may remember calls for as long as this connection lives."""
        ...

    async def request(
        self,
        method: str,
        params: JsonObject,
        channel: Channel | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Send a request and wait for its result; the caller bounds the time.

        What the server sends on the way (progress, log messages, requests of its own) goes to the
        channel. A caller that is cancelled tells the server so.

        Args:
            method: Of the request.
            params: With ``_meta``. A ``progressToken`` is replaced by one that is unique on the
                connection, and put back in what goes to the channel.
            channel: The way back to the client; None refuses requests of the server.
            headers: Further headers where the connection is HTTP.

        Raises:
            RelayedError: The server answered with a JSON-RPC error.
            NotSentError: The request reached nobody.
            UpstreamError: The connection failed; whether the server acted is unknown.
        """
        ...

    async def notify(self, method: str, params: Mapping[str, JsonValue] | None = None) -> None:
        """Send a notification.

        Raises:
            UpstreamError: The connection failed.
        """
        ...

    def agree(self, version: str, *, expects_messages: bool) -> None:
        """Take note of what the handshake brought.

        Args:
            version: The protocol revision of every later request.
            expects_messages: The server may speak without being asked.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection and what carries it; closing twice is allowed."""
        ...


def ignore(method: str, params: JsonObject) -> None:
    """Hear a notification and do nothing."""
    del method, params


_: Hear = ignore
