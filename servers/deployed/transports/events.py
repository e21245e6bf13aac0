"""Server-sent events, each bounded, over one connection after another, and where to go on in between.

The events themselves are read by ``httpx2``.
"""

from collections.abc import AsyncGenerator
from typing import Final

from httpx2 import EventSource, Response, ServerSentEvent

from servers.deployed.transports.messages import MAX_MESSAGE_BYTES

__all__ = ["EventReader"]

_RETRY_MILLISECONDS: Final = range(10**7)
"""To wait before connecting again; who asks for more than some hours is not heard."""


class EventReader:
    """Reads one stream of events, which may go on over further connections."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        """The last id seen on the stream, where there was one."""
        self.retry_seconds: float | None = None
        """After which to connect again, as last said."""

    async def read(self, response: Response) -> AsyncGenerator[ServerSentEvent]:
        """Read a connection to its end; of an event that breaks off there nothing stays.

        Raises:
            httpx2.TransportError: It broke, carries no events, or an event is longer than a message may be.
        """
        response.encoding = "utf-8"  # whatever its type names
        async for event in EventSource(response, max_event_size=MAX_MESSAGE_BYTES):
            self.last_id = event.id or self.last_id
            if event.retry is not None and event.retry in _RETRY_MILLISECONDS:
                self.retry_seconds = event.retry / 1000
            yield event
