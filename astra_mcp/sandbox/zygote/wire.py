"""Frames between the host and a sandboxed process: two lengths, a JSON head and an opaque body.

Head and body have limits of their own, so the host can refuse a result by its announced size before it
reads a byte of it. Knows bytes and sockets; does not know what the messages mean.
"""

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "PREFIX",
    "Frame",
    "encode",
    "receive",
    "receive_ahead",
    "receive_exactly",
    "receive_with_descriptor",
]

PREFIX = struct.Struct("!II")
"""Length of the head and length of the body, in bytes."""

_CHUNK = 1 << 16
_DUMPS = json.dumps  # bound early: tool code may replace what the module offers
_LOADS = json.loads


class Frame(NamedTuple):
    """One message as a process receives it from the host, which it trusts."""

    head: dict[str, Any]
    body: bytes


def encode(head: Mapping[str, object], body: bytes = b"") -> bytes:
    """Encode one message; lone surrogates in the head become question marks."""
    encoded = _DUMPS(head, ensure_ascii=False).encode("utf-8", "replace")
    return PREFIX.pack(len(encoded), len(body)) + encoded + body


def receive_exactly(channel: socket.socket, size: int) -> bytes:
    """Read ``size`` bytes from a blocking socket.

    Raises:
        EOFError: The other side closed before the last byte.
    """
    received = bytearray()
    while len(received) < size:
        chunk = channel.recv(min(size - len(received), _CHUNK))
        if not chunk:
            raise EOFError
        received += chunk
    return bytes(received)


def receive(channel: socket.socket) -> Frame:
    """Read one message from a blocking socket.

    Raises:
        EOFError: The host closed its end.
    """
    return _finish(channel, receive_exactly(channel, PREFIX.size))


def receive_ahead(channel: socket.socket, ahead: bytearray) -> Frame:
    """Read one message by as few system calls as it takes.

    Args:
        channel: A blocking socket over which no descriptors come.
        ahead: What was read beyond the last message; left with what is beyond this one.

    Raises:
        EOFError: The host closed its end.
    """
    size = PREFIX.size
    while len(ahead) < size:
        chunk = channel.recv(_CHUNK)
        if not chunk:
            raise EOFError
        ahead += chunk
        if len(ahead) >= PREFIX.size:
            size = PREFIX.size + sum(PREFIX.unpack_from(ahead))
    head_end = PREFIX.size + PREFIX.unpack_from(ahead)[0]
    size = PREFIX.size + sum(PREFIX.unpack_from(ahead))
    frame = Frame(_LOADS(ahead[PREFIX.size : head_end]), bytes(ahead[head_end:size]))
    del ahead[:size]
    return frame


def receive_with_descriptor(channel: socket.socket) -> tuple[Frame, int | None]:
    """Read one message and the file descriptor that may come with its first byte.

    Raises:
        EOFError: The host closed its end.
    """
    start, descriptors, _, _ = socket.recv_fds(channel, PREFIX.size, 1)
    if not start:
        raise EOFError
    prefix = start + receive_exactly(channel, PREFIX.size - len(start))
    return _finish(channel, prefix), (descriptors[0] if descriptors else None)


def _finish(channel: socket.socket, prefix: bytes) -> Frame:
    head_size, body_size = PREFIX.unpack(prefix)
    head = receive_exactly(channel, head_size)
    return Frame(_LOADS(head), receive_exactly(channel, body_size))
