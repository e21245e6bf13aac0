"""The host's end of a socket to an untrusted process: framed messages, bounded and never blocking.

Deadlines are the caller's. Knows sizes; does not know what the messages mean.
"""

import array
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

import anyio

from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.zygote.wire import PREFIX, encode

__all__ = ["Channel", "ChannelClosedError", "Message", "OversizedMessageError", "channel_pair"]

_CHUNK = 1 << 18
_CREDENTIALS = struct.Struct("3i")


class ChannelClosedError(SandboxError):
    """The process at the other end is gone."""


class OversizedMessageError(SandboxError):
    """The process announced a message over the limit; nothing of it was read."""


class Message(NamedTuple):
    """What a process sent; undecoded, because it is untrusted."""

    head: bytes
    body: bytes


def channel_pair() -> tuple["Channel", socket.socket]:
    """Make the two ends of a new channel: the host's, and the one to give away."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return Channel(ours), theirs


class Channel:
    """Sends and receives frames; one task at a time in each direction."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end

    async def send(
        self, head: dict[str, object], body: bytes = b"", *, descriptors: Sequence[int] = ()
    ) -> None:
        """Send one message, with file descriptors on its first byte.

        Raises:
            ChannelClosedError: The process is gone.
        """
        left = memoryview(encode(head, body))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        while left:
            try:
                sent = self._socket.sendmsg([left], rights if descriptors else [])
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise ChannelClosedError("the process ended") from error
            else:
                left, descriptors = left[sent:], ()

    async def receive(self, *, head_limit: int, body_limit: int) -> Message:
        """Read one message.

        Raises:
            ChannelClosedError: The process is gone.
            OversizedMessageError: Head or body is announced as larger than its limit, in bytes.
        """
        head_size, body_size = PREFIX.unpack(await self._exactly(PREFIX.size))
        if head_size > head_limit or body_size > body_limit:
            raise OversizedMessageError(f"{head_size} + {body_size} bytes announced")
        return Message(await self._exactly(head_size), await self._exactly(body_size))

    async def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            try:
                chunk = self._socket.recv(min(size - len(received), _CHUNK))
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except OSError as error:
                raise ChannelClosedError("the process ended") from error
            if not chunk:
                raise ChannelClosedError("the process ended")
            received += chunk
        return bytes(received)

    def close(self) -> None:
        """Close the host's end."""
        self._socket.close()
