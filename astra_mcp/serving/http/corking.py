"""A transport that sends what one step of the event loop wrote by one system call.

uvicorn writes the head and the body of an answer one after the other, and each write wakes the client. Knows
transports alone.
"""

import asyncio
from typing import Any

__all__ = ["CorkedTransport"]


class CorkedTransport(asyncio.Transport):
    """Gathers writes until the running step of the event loop is over; everything else passes through."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Stand before a transport.

        Args:
            transport: What it was; its protocol must write here from now on.
            loop: The one that runs the protocol.
        """
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._gathered: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send soon, in order."""
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        self._gathered.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """True once it was closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Ask the transport."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Let no further data in."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Let data in again."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._transport.write(b"".join(gathered))
