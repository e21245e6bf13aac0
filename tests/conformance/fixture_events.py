"""The conformance fixture's memory of sent events, by which a client takes up a stream that was closed."""

from collections import deque

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp_types import JSONRPCMessage

KEPT = 1_000
"""Events; a client that comes back later than this many has to ask again."""


class RecentEvents(EventStore):
    """The last events of all streams, in the order in which they were sent."""

    def __init__(self) -> None:
        self._sent = 0
        self._events: deque[tuple[int, StreamId, JSONRPCMessage | None]] = deque(maxlen=KEPT)

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep an event; one without a message opens a stream."""
        self._sent += 1
        self._events.append((self._sent, stream_id, message))
        return str(self._sent)

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """Send again what followed an event on its stream."""
        last = int(last_event_id)
        stream = next((stream for number, stream, _ in self._events if number == last), None)
        for number, of_stream, message in tuple(self._events):
            if of_stream == stream and number > last and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
