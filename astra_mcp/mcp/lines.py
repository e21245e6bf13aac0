"""Serving an MCP server of the SDK over lines: standard input and output, with waits that can be cancelled.

Knows descriptors, the SDK's streams and JSON-RPC; knows neither what a server offers nor HTTP.
"""

import os
import select
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import anyio.lowlevel
import mcp_types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json

from astra_mcp.types import JsonObject

__all__ = [
    "MAX_BODY_BYTES",
    "REPEATED",
    "LineWire",
    "MessageRefusedError",
    "encode",
    "id_of",
    "serve_lines",
    "serve_stdio",
]

_READ_BYTES = 1 << 16


@contextmanager
def _claimed_stdio() -> Generator["LineWire"]:
    """Take standard input and output for one client; nothing else in the process can disturb it.

    From then on, whatever reads standard input finds its end, and whatever is printed goes to standard
    error. That stays so: nobody else should speak to the client after the wire is closed.
    """
    with (
        os.fdopen(os.dup(0), "rb", buffering=0) as reading,
        os.fdopen(os.dup(1), "wb", buffering=0) as writing,
    ):
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        yield LineWire(reading.fileno(), writing.fileno(), MAX_BODY_BYTES)


@dataclass(frozen=True, slots=True)
class LineWire:
    """Two open descriptors, which belong to the caller; they may be blocking ones."""

    reading: int
    writing: int
    max_line_bytes: int

    async def lines(self) -> AsyncGenerator[bytes | None]:
        """Read lines without their ends, until the input ends; a last line needs no end.

        A line that is too long comes as None. Takes time and memory in proportion to what arrives.
        """
        waits = _can_wait(self.reading)
        rest = bytearray()
        is_too_long = is_over = False
        while not is_over:
            if waits:
                await anyio.wait_readable(self.reading)
            else:
                await anyio.lowlevel.checkpoint()
            chunk = os.read(self.reading, _READ_BYTES)
            is_over = not chunk
            first, *others = chunk.split(b"\n")
            rest += b"" if is_too_long else first
            if len(rest) > self.max_line_bytes:
                is_too_long = True
                rest.clear()
            if is_over and (rest or is_too_long):
                others = [b""]
            for following in others:
                yield None if is_too_long else bytes(rest)
                is_too_long = False
                rest = bytearray(following)

    async def write(self, line: bytes) -> None:
        """Write a line with its end, as fast as it is read.

        Raises:
            BrokenPipeError: Nobody reads any more; so ConnectionResetError for a socket.
        """
        waits = _can_wait(self.writing)
        rest = memoryview(line)
        while rest:
            if waits:
                await anyio.wait_writable(self.writing)
            else:
                await anyio.lowlevel.checkpoint()
            # So much fits into a pipe that is ready: a write never blocks, although the pipe may.
            rest = rest[os.write(self.writing, rest[: select.PIPE_BUF]) :]


def _can_wait(descriptor: int) -> bool:
    """True where the system tells readiness; files and devices like /dev/null are always ready."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


MAX_BODY_BYTES = 4 << 20
FINISH_SECONDS = 30.0
"""So long after the end of the input a process goes on to answer what it has read."""
REPEATED = "another request with this id is under way"


class MessageRefusedError(Exception):
    """A message that the SDK does not get to see, as the answer that says why."""

    def __init__(self, code: int, message: str, request: mcp_types.RequestId | None = None) -> None:
        super().__init__(code, message)
        error = mcp_types.ErrorData(code=code, message=message)
        self.answer = mcp_types.JSONRPCError(jsonrpc="2.0", id=request, error=error)


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output until it closes either.

    Whatever else the process prints goes to standard error. Can be cancelled at any time, unlike a read
    in a thread, so a signal ends it at once.
    """
    with _claimed_stdio() as wire:
        await serve_lines(server, wire)


async def serve_lines(
    server: Server[Any], wire: LineWire, *, finish_seconds: float = FINISH_SECONDS
) -> None:
    """Serve one client whose messages are lines.

    After the end of the input every request is still answered. Where nobody reads the answers, it is over.

    Args:
        server: Made by :func:`build_server`.
        wire: Where lines come from and go to.
        finish_seconds: Requests that take longer after the end of the input are answered as errors.
    """
    async with anyio.create_task_group() as group:
        await _LineSession(wire, group, finish_seconds).run(server)


class _LineSession:
    """One client: what it asked and what it is still owed."""

    def __init__(self, wire: LineWire, group: TaskGroup, finish_seconds: float) -> None:
        self._wire = wire
        self._group = group
        self._finish_seconds = finish_seconds
        self._owed: set[mcp_types.RequestId] = set()
        self._settled = anyio.Event()
        self._writing = anyio.Lock()

    async def run(self, server: Server[Any]) -> None:
        asking, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answering, answers = anyio.create_memory_object_stream[SessionMessage](0)
        async with asking, asked, answering, answers:
            self._group.start_soon(self._read, asking.clone())
            self._group.start_soon(self._write, answers.clone())
            asking.close()
            answers.close()
            await server.run(asked, answering, server.create_initialization_options())

    async def _read(self, asking: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with asking:
            async for line in self._wire.lines():
                if line is not None and not line.strip():
                    continue
                try:
                    await asking.send(self._admit(_message_of(line)))
                except MessageRefusedError as refused:
                    await self._send(refused.answer)
            with anyio.move_on_after(self._finish_seconds):
                while self._owed:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    def _admit(self, message: mcp_types.JSONRPCMessage) -> SessionMessage:
        if not isinstance(message, mcp_types.JSONRPCRequest):
            return SessionMessage(message)
        if coerce_request_id(message.id) in self._owed:
            raise MessageRefusedError(mcp_types.INVALID_REQUEST, REPEATED, message.id)
        self._owed.add(coerce_request_id(message.id))

        async def settle() -> None:
            self._settle(message.id)

        # A request that its client cancelled gets no answer.
        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=settle))

    def _settle(self, request: mcp_types.RequestId) -> None:
        self._owed.discard(coerce_request_id(request))
        self._settled.set()

    async def _write(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for answer in answers:
                await self._send(answer.message)
                match answer.message:
                    case mcp_types.JSONRPCResponse(id=request):
                        self._settle(request)
                    case mcp_types.JSONRPCError(id=str() | int() as request):
                        self._settle(request)
                    case _:
                        pass

    async def _send(self, message: mcp_types.JSONRPCMessage) -> None:
        try:
            async with self._writing:
                await self._wire.write(encode(message) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            self._group.cancel_scope.cancel()  # nobody is left to serve


def _message_of(line: bytes | None) -> mcp_types.JSONRPCMessage:
    if line is None:
        msg = f"a message has at most {MAX_BODY_BYTES} bytes"
        raise MessageRefusedError(mcp_types.INVALID_REQUEST, msg)
    try:
        value = from_json(line)
    except ValueError as error:
        raise MessageRefusedError(mcp_types.PARSE_ERROR, f"no JSON: {error}") from None
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        msg = "no JSON-RPC message"
        raise MessageRefusedError(mcp_types.INVALID_REQUEST, msg, id_of(value)) from None
    if isinstance(message, mcp_types.JSONRPCNotification) and "id" in value:
        # The SDK takes a request whose id it cannot read for a notification.
        msg = "the id of a request is a string or a whole number"
        raise MessageRefusedError(mcp_types.INVALID_REQUEST, msg)
    return message


def id_of(value: Any) -> mcp_types.RequestId | None:
    """Read the id of a message; None where it has none that JSON-RPC allows."""
    found = cast("JsonObject", value).get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def encode(message: mcp_types.JSONRPCMessage) -> bytes:
    """Render a message as one line of JSON, without its end."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
