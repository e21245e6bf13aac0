"""HTTP connections that are bounded where uvicorn leaves them open, and can be let go.

Bounds the size and the time of a request's head, and what may follow a body. Knows HTTP alone.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import anyio
import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from astra_mcp.concurrency import Timer
from astra_mcp.serving.http.crowd import Crowd
from astra_mcp.serving.http.drain import IsStream

__all__ = ["HEAD_SECONDS", "MAX_HEAD_BYTES", "Connection", "Server"]

MAX_HEAD_BYTES = 64 << 10
"""Above the gate's own limit on headers, whose answer explains itself."""
HEAD_SECONDS = 30.0
"""Within so many seconds a connection must have sent its first head, and each head that it began."""
DATE_SECONDS = 1.0
_TOO_LARGE = b"431 Request Header Fields Too Large"
_TOO_SLOW = b"408 Request Timeout"
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
)
_TOO_MANY_BODY = (
    b'{"error":{"code":"too_many_connections","message":"as many connections as this process may hold '
    b'(ulimit -n) wait for answers: nothing was done, try again"}}'
)


class _CorkedTransport(asyncio.Transport):
    """Sends what one step of the event loop wrote by one system call; everything else passes through.

    uvicorn writes the head and the body of an answer one after the other, and each write wakes the client.
    """

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
            if self._transport.is_closing():
                return  # the client went after the write: nobody reads what it said
            try:
                self._transport.write(b"".join(gathered))
            except MemoryError:  # half an answer is none: whoever waits for it asks again
                self._transport.abort()


class Connection(HttpToolsProtocol):
    """Refuses heads and trailers that grow too large while they arrive, and heads that take too long.

    Tells every request, not only the last one, when its client is gone; so nobody answers it.
    """

    head_deadline = HEAD_SECONDS
    crowd = Crowd()
    """Of all connections of the server."""
    _is_in_head = False
    _bytes_in_vain = 0
    """Since the last piece of a body or the last complete head."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unanswered: deque[RequestResponseCycle] = deque()
        self._head_alarm = Timer(self._head_is_late)
        self._idle_alarm = Timer(self.timeout_keep_alive_handler)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first head."""
        super().connection_made(_CorkedTransport(transport, self.loop))
        if not self.crowd.add(self):
            self.transport.write(_TOO_MANY % (len(_TOO_MANY_BODY), _TOO_MANY_BODY))
            self.transport.close()
            return
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all requests under way; uvicorn tells the last one alone."""
        self.crowd.remove(self)
        self._head_alarm.close()
        self._idle_alarm.close()
        self._forget_requests()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what is neither a body nor a complete head."""
        self._bytes_in_vain += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._bytes_in_vain > MAX_HEAD_BYTES:
            self._give_up(_TOO_LARGE)
        elif not self._head_alarm.is_set and (self._is_in_head or not self._is_answering()):
            self._expect_head()  # the rest of one, or line ends before a request, which begin none

    def on_message_begin(self) -> None:
        """Expect the rest of the head, where it does not come at once."""
        self._is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head; one after the body would pass for one that was checked."""
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass the request on; the gate limits the body."""
        self._is_in_head = False
        self._bytes_in_vain = 0
        self._head_alarm.clear()
        self.crowd.note_use(self)
        super().on_headers_complete()
        while self._unanswered and self._unanswered[0].response_complete:
            self._unanswered.popleft()
        self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Start to count anew."""
        self._bytes_in_vain = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Start to count anew; what follows is another request."""
        self._bytes_in_vain = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request, or close the connection where none comes; by one timer for all."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._idle_alarm.set(self.loop.time() + self.timeout_keep_alive)

    def let_go(self, is_stream: IsStream) -> None:
        """Close it where nobody waits for an answer that will end; else once that is given.

        One that was just made is left: its first request is on the way, and can be told to come back.
        """
        if self.cycle is None:  # pyright: ignore[reportUnnecessaryComparison] - so it begins
            return
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        for cycle in waiting:
            cycle.keep_alive = False
        if all(is_stream(cast("Scope", cycle.scope)) for cycle in waiting):
            self._forget_requests()
            self.transport.close()

    def abort(self) -> None:
        """Break it."""
        self._forget_requests()
        self.transport.abort()

    @property
    def is_idle(self) -> bool:
        """True where nobody waits for an answer, be it to a request of which the head is still to come."""
        return not self._is_answering()

    @property
    def is_sending(self) -> bool:
        """True where one request is unanswered, and the rest of its body is still to come."""
        num_unanswered = sum(not cycle.response_complete for cycle in self._unanswered)
        return num_unanswered == 1 and self._unanswered[-1].more_body

    def leave(self) -> None:
        """Give the place up to another connection."""
        self._forget_requests()
        self.transport.abort()

    def _expect_head(self) -> None:
        self._head_alarm.set(self.loop.time() + self.head_deadline)

    def _unset_keepalive_if_required(self) -> None:
        """Keep the connection: something came over it."""
        self._idle_alarm.clear()

    def _head_is_late(self) -> None:
        if self._is_answering():
            self._expect_head()  # nothing is read meanwhile; it is not the client who is late
        elif self._is_in_head:
            self._give_up(_TOO_SLOW)
        else:
            self.transport.close()

    def _is_answering(self) -> bool:
        return bool(self._unanswered) and not self._unanswered[-1].response_complete

    def _give_up(self, status: bytes) -> None:
        """Close the connection; say why where that cannot be taken for the answer to another request."""
        waiting = [cycle for cycle in self._unanswered if not cycle.response_complete]
        is_next = waiting == ([] if self._is_in_head else [self.cycle])
        if is_next and not any(cycle.response_started for cycle in waiting):
            self.transport.write(
                b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status
            )
        self._forget_requests()
        self.transport.close()

    def _forget_requests(self) -> None:
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self._unanswered.clear()
        self.pipeline.clear()


class Server(uvicorn.Server):
    """Answers on :class:`Connection` s; its owner hears the signals, and asks it to end by :meth:`stop`."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = anyio.Event()

    def stop(self) -> None:
        """End as soon as the requests under way are answered."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Renew the date of the answers until the end; uvicorn would look ten times a second."""
        while not await self.on_tick(0):
            with anyio.move_on_after(DATE_SECONDS):
                await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what listens, and wait for the requests under way; uvicorn would look every 0.1 s."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in self._connections():
            connection.shutdown()
        state = self.server_state
        with anyio.move_on_after(self.config.timeout_graceful_shutdown) as grace:
            while (state.connections or state.tasks) and not self.force_exit:  # noqa: ASYNC110 - it has no event
                await anyio.sleep(0.01)
        if grace.cancelled_caught:
            for task in state.tasks:
                task.cancel()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the command, whose resources must be closed in order."""
        yield

    def let_go(self, is_stream: IsStream) -> None:
        """Close the connections that nobody waits at."""
        for connection in self._connections():
            connection.let_go(is_stream)

    def abort(self) -> None:
        """Break all connections, and wait for nothing."""
        self.force_exit = True
        for connection in self._connections():
            connection.abort()

    def _connections(self) -> list[Connection]:
        return [cast("Connection", c) for c in self.server_state.connections]
