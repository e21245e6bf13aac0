"""Frames between the host and a sandboxed process: two lengths, a JSON head and an opaque body.

Head and body have limits of their own, so the host can refuse a result by its announced size before it
reads a byte of it. A call, which is nearly every message, has an empty head: its body is the JSON array of
its name, the function and the arguments. Knows bytes and sockets; does not know what the messages mean.
"""

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any

__all__ = [
    "PREFIX",
    "RETURNED",
    "decode",
    "encode",
    "join",
    "receive_ahead",
]

PREFIX = struct.Struct("!II")
"""Length of the head and length of the body, in bytes."""

RETURNED = b'{"status":"returned","output":"","call":"%b"}'
"""The head of the answer to a call, whose name is of hexadecimal digits, where nothing was printed."""

_CHUNK = 1 << 16
_AHEAD = 1 << 12
# Bound early: tool code may replace what the module offers. Made once: that costs more than most messages.
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_DECODE = json.JSONDecoder().raw_decode


def encode(head: Mapping[str, object], body: bytes = b"") -> bytes:
    """Encode one message; lone surrogates in the head become question marks."""
    return join(_ENCODE(head).encode("utf-8", "replace"), body)


def join(head: bytes, body: bytes) -> bytes:
    """Make a message of a head that is JSON already, and a body."""
    return PREFIX.pack(len(head), len(body)) + head + body


def decode(data: bytes | bytearray) -> Any:
    """Read JSON that the host wrote, without white space around it."""
    return _DECODE(data.decode())[0]


def receive_ahead(channel: socket.socket, ahead: bytearray) -> tuple[bytes, bytes]:
    """Read one message, its head undecoded, by as few steps as it takes.

    Args:
        channel: A blocking socket.
        ahead: What was read beyond the last message; left with what is beyond this one.

    Raises:
        EOFError: The host closed its end.
    """
    size = 0
    while len(ahead) < PREFIX.size or len(ahead) < (size := _size_of(ahead)):
        chunk = channel.recv(min(max(size - len(ahead), _AHEAD), _CHUNK))
        if not chunk:
            raise EOFError
        if not ahead and len(chunk) >= PREFIX.size and len(chunk) == _size_of(chunk):
            return _parts(chunk)  # as nearly always
        ahead += chunk
    message = bytes(ahead[:size])
    del ahead[:size]
    return _parts(message)


def _size_of(begun: bytes | bytearray) -> int:
    head_size, body_size = PREFIX.unpack_from(begun)
    return PREFIX.size + head_size + body_size


def _parts(message: bytes) -> tuple[bytes, bytes]:
    head_end = PREFIX.size + PREFIX.unpack_from(message)[0]
    return message[PREFIX.size : head_end], message[head_end:]
