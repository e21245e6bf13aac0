"""What reaches the servers of one episode beside calls: it is passed on, and not recorded.

Knows server sessions and deadlines; knows neither MCP's endpoints nor records.
"""

from collections.abc import Mapping

import anyio

from astra_mcp.errors import NotAvailableError, UnknownNameError, UpstreamError
from astra_mcp.mcp.request_context import Exchange, Hear
from astra_mcp.types import JsonObject
from gateway.api.protocol import RelaySession
from gateway.episodes.calls import Turn

__all__ = ["Relaying"]


class Relaying:
    """Passes requests on, and notifications back."""

    def __init__(self, turns: Mapping[str, Turn], seconds: float) -> None:
        """Pass nothing on yet.

        Args:
            turns: The servers of the episode, by name.
            seconds: Wall time of a request.
        """
        self._turns = turns
        self._seconds = seconds
        self._num_running = 0

    @property
    def is_busy(self) -> bool:
        """True while a request runs."""
        return self._num_running > 0

    async def request(
        self, server: str, method: str, params: JsonObject, exchange: Exchange
    ) -> JsonObject:
        """Pass a request other than a call on to a server.

        Args:
            server: By its name in the catalog.
            method: Such as ``resources/read``.
            params: Without ``_meta``, which comes from the exchange.
            exchange: Who asks.

        Raises:
            UnknownNameError: The episode has no such server.
            NotAvailableError: The server has tools and nothing else.
            RelayedError: The server answered with a JSON-RPC error.
            UpstreamError: It could not answer, or not in time.
        """
        session = self._session(server)
        self._num_running += 1
        try:
            with anyio.move_on_after(self._seconds):
                return await session.request(method, params, exchange)
        finally:
            self._num_running -= 1
        msg = f"no answer within {self._seconds:g} s"
        raise UpstreamError(msg)

    def watch(self, server: str, hear: Hear) -> None:
        """Hear the notifications of a server that belong to no request.

        Raises:
            UnknownNameError: The episode has no such server.
            NotAvailableError: The server has tools and nothing else.
        """
        self._session(server).watch(hear)

    def _session(self, server: str) -> RelaySession:
        turn = self._turns.get(server)
        if turn is None:
            msg = f"this episode has no server named {server!r}"
            raise UnknownNameError(msg)
        if not turn.upstream.relays or not isinstance(turn.session, RelaySession):
            msg = f"{server} has tools and nothing else"
            raise NotAvailableError(msg)
        return turn.session
