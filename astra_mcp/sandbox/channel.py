"""The host's end of a socket to an untrusted process: framed messages, bounded and never blocking.

Deadlines are the caller's. Knows sizes; does not know what the messages mean.
"""

import array
import asyncio
import os
import select
import socket
from typing import NamedTuple

import anyio

from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.zygote.frames import PREFIX, encode, join

__all__ = [
    "Channel",
    "ChannelClosedError",
    "InterruptedWaitError",
    "Message",
    "OversizedMessageError",
    "channel_pair",
]

_CHUNK = 1 << 18
_AHEAD = 1 << 12
_ANCILLARY_BYTES = socket.CMSG_SPACE(array.array("i").itemsize)
"""Room for a descriptor."""


class ChannelClosedError(SandboxError):
    """The process at the other end is gone."""


class OversizedMessageError(SandboxError):
    """The process announced a message over the limit; nothing of it was read."""


class InterruptedWaitError(Exception):
    """A wait was ended by :meth:`Channel.interrupt`; it can be gone on with."""


class Message(NamedTuple):
    """What a process sent; undecoded, because it is untrusted."""

    head: bytes
    body: bytes


def channel_pair() -> tuple["Channel", socket.socket]:
    """Make the two ends of a new channel: the host's, and the one to give away.

    Raises:
        SandboxError: The host has no descriptor left.
    """
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise SandboxError(
            f"no socket for a new session: {error.strerror}. Raise the limit of open files "
            "(ulimit -n): a session needs two"
        ) from error
    return Channel(ours), theirs


class Channel:
    """Sends and receives frames; one task at a time in each direction."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._arrived = bytearray()
        """What was read and not yet asked for; a wait that is cancelled loses nothing of it."""
        self._unsent = memoryview(b"")
        self._ahead = 0
        self._missing = 0
        self._is_watched = False
        """True while the event loop looks for bytes, which it goes on doing between two messages."""
        self._is_at_end = False
        self._is_interrupted = False
        self._waiting: asyncio.Future[None] | None = None

    async def send(self, head: dict[str, object], body: bytes = b"") -> None:
        """Send one message.

        Raises:
            ChannelClosedError: The process is gone.
        """
        left = memoryview(encode(head, body))
        while left:
            try:
                sent = self._socket.send(left)
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise ChannelClosedError("the process ended") from error
            else:
                left = left[sent:]

    def read_ahead(self) -> None:
        """Take in what has arrived at once, where nothing more comes beside the bytes."""
        self._ahead = _AHEAD

    def post(self, body: bytes) -> None:
        """Send as much of a message without a head as goes at once; :meth:`flush` sends the rest.

        Args:
            body: Any.

        Raises:
            ChannelClosedError: The process is gone, and has not seen the message.
        """
        self._is_interrupted = False  # what concerned an earlier message
        self._unsent = memoryview(join(b"", body))
        self._send_on()

    @property
    def is_flushed(self) -> bool:
        """True where all of what was posted is sent."""
        return not self._unsent

    async def flush(self) -> None:
        """Send the rest of what was posted; can be interrupted and gone on with.

        Raises:
            ChannelClosedError: The process is gone.
            InterruptedWaitError: By :meth:`interrupt`.
        """
        while self._unsent:
            loop = asyncio.get_running_loop()
            loop.add_writer(self._socket, self._wake)
            try:
                await self._wait()
            finally:
                loop.remove_writer(self._socket)
            self._send_on()

    def interrupt(self) -> None:
        """End the wait of :meth:`flush` or :meth:`receive` after :meth:`post`, under way or the next."""
        self._is_interrupted = True
        self._wake()

    def _send_on(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            return
        except OSError as error:
            raise ChannelClosedError("the process ended") from error
        self._unsent = self._unsent[sent:]

    async def receive(self, *, head_limit: int, body_limit: int) -> Message:
        """Read one message; one whose reading was cancelled or interrupted is gone on with.

        Raises:
            ChannelClosedError: The process is gone.
            InterruptedWaitError: By :meth:`interrupt`, where it reads ahead.
            OversizedMessageError: Head or body is announced as larger than its limit, in bytes.
        """
        if len(self._arrived) < PREFIX.size:
            await self._fill(PREFIX.size)
        return await self._finish(head_limit, body_limit)

    async def receive_with_descriptors(self, *, head_limit: int) -> tuple[Message, tuple[int, ...]]:
        """Read a message without a body, and the descriptors that come with its first bytes.

        Raises:
            ChannelClosedError: The process is gone.
            OversizedMessageError: The head is announced as larger than its limit, in bytes.
        """
        start, descriptors = await self._start()
        try:
            self._arrived += start
            await self._fill(PREFIX.size)
            return await self._finish(head_limit, 0), descriptors
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise

    async def _start(self) -> tuple[bytes, tuple[int, ...]]:
        self._unwatch()  # the event loop has one watch for each socket
        while True:
            try:
                start, control, _, _ = self._socket.recvmsg(PREFIX.size, _ANCILLARY_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
                continue
            except OSError as error:
                raise ChannelClosedError("the process ended") from error
            if not start:
                raise ChannelClosedError("the process ended")
            return start, _descriptors_of(control)

    async def _finish(self, head_limit: int, body_limit: int) -> Message:
        head_size, body_size = PREFIX.unpack_from(self._arrived)
        if head_size > head_limit or body_size > body_limit:
            raise OversizedMessageError(f"{head_size} + {body_size} bytes announced")
        begin = PREFIX.size + head_size
        end = begin + body_size
        if len(self._arrived) < end:
            await self._fill(end)
        message = bytes(self._arrived[:end])
        del self._arrived[:end]
        return Message(message[PREFIX.size : begin], message[begin:])

    async def _fill(self, size: int) -> None:
        """Read until so many bytes have arrived, and no more than a chunk beyond."""
        while (missing := size - len(self._arrived)) > 0:
            self._missing = missing
            if self._is_at_end:
                raise ChannelClosedError("the process ended")
            if self._ahead:
                self._watch()
                await self._wait()
            elif not self._take():
                await anyio.wait_readable(self._socket)

    def _take(self) -> bool:
        """Take in what is there; False where nothing is."""
        try:
            chunk = self._socket.recv(min(max(self._missing, self._ahead), _CHUNK))
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        self._is_at_end = not chunk
        self._arrived += chunk
        return True

    async def _wait(self) -> None:
        """Wait for the event loop to see the socket ready, or for an interruption."""
        if not self._is_interrupted:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        if self._is_interrupted:
            self._is_interrupted = False
            raise InterruptedWaitError

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _watch(self) -> None:
        """Have the event loop look for bytes; it goes on, which spares it system calls next time."""
        if not self._is_watched:
            self._is_watched = True
            asyncio.get_running_loop().add_reader(self._socket, self._on_readable)

    def _on_readable(self) -> None:
        if self._waiting is None or self._waiting.done() or self._unsent:
            self._unwatch()  # nobody reads; the loop would call without end
        elif self._take():
            self._wake()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            asyncio.get_running_loop().remove_reader(self._socket)

    @property
    def has_unread(self) -> bool:
        """True where bytes of the process wait to be received, or its end does."""
        return bool(self._arrived) or bool(self._events(select.POLLIN))

    @property
    def is_hung_up(self) -> bool:
        """True where nobody holds the other end any more."""
        return bool(self._events(0) & select.POLLHUP)

    def _events(self, wanted: int) -> int:
        poll = select.poll()
        poll.register(self._socket, wanted)
        return sum(events for _, events in poll.poll(0))

    def close(self) -> None:
        """Close the host's end."""
        self._unwatch()
        self._socket.close()


def _descriptors_of(control: list[tuple[int, int, bytes]]) -> tuple[int, ...]:
    descriptors = array.array("i")
    for _, kind, data in control:
        if kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return tuple(descriptors)
