"""Server-sent events out of chunks of bytes, each event bounded. Does no input or output."""

from dataclasses import dataclass

from astra_mcp.errors import UpstreamError
from servers.deployed.transports.messages import MAX_MESSAGE_BYTES

__all__ = ["Event", "EventParser"]


MAX_RETRY_DIGITS = 7
"""Of the milliseconds to wait before connecting again; who asks for more than some hours is not heard."""


@dataclass(slots=True)
class Event:
    """One event, as far as MCP uses it."""

    kind: str
    data: str
    id: str | None
    """The last id seen on the stream."""
    retry: int | None
    """Milliseconds after which to connect again, as last said."""


class EventParser:
    """Takes chunks and yields the events that are complete; lines may end in LF, CR LF or CR."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._ended_with_cr = False
        self._kind = ""
        self._data: list[str] = []
        self._size = 0
        self._id: str | None = None
        self.last_id: str | None = None
        self.retry: int | None = None

    def begin(self) -> None:
        """Begin with another connection: of an event that broke off nothing stays."""
        self._rest = bytearray()
        self._ended_with_cr = False
        self._kind, self._data, self._size, self._id = "", [], 0, self.last_id

    def feed(self, chunk: bytes) -> list[Event]:
        """Take a chunk.

        Raises:
            UpstreamError: An event is longer than a message may be.
        """
        if self._ended_with_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if chunk:
            self._ended_with_cr = chunk.endswith(b"\r")
        self._rest += chunk
        if self._size + len(self._rest) > MAX_MESSAGE_BYTES:
            raise UpstreamError(f"sent an event of more than {MAX_MESSAGE_BYTES >> 20} MiB")
        if b"\n" not in chunk and b"\r" not in chunk:
            return []
        lines = bytes(self._rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(lines.pop())
        events: list[Event] = []
        for line in lines:
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._finish()
        if line.startswith(b":"):
            return None
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode(errors="replace")
        match name:
            case b"data":
                self._data.append(text)
                self._size += len(text)
            case b"event":
                self._kind = text
            case b"id" if "\0" not in text:
                self._id = text
            case b"retry" if text.isdecimal() and len(text) <= MAX_RETRY_DIGITS:
                self.retry = int(text)
            case _:
                pass
        return None

    def _finish(self) -> Event | None:
        kind, data, had_data = self._kind or "message", "\n".join(self._data), bool(self._data)
        self._kind, self._data, self._size = "", [], 0
        self.last_id = self._id
        return Event(kind, data, self.last_id, self.retry) if had_data else None
