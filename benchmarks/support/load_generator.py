"""A closed-loop load generator for one MCP tool over HTTP, in a process of its own.

    python load_generator.py        (commands on standard input, one JSON object a line)

Sockets and hand-written HTTP/1.1: an HTTP library would cost more than what is measured. Every answer is
decoded, and its id and its text are compared with what was asked. Speaks both eras of MCP, and
understands answers as JSON and as event streams. Knows no gateway.

A command is a :class:`Job`. The generator connects, opens sessions, makes a few calls on each connection,
and prints ``{"ready": true}``. For each number that follows it calls for so many seconds, waits for what is
still under way, and prints the number of right answers; at ``null`` it disconnects and prints the
:class:`Outcome` of all.
"""

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, cast

import anyio
import orjson

__all__ = ["Job", "Outcome", "main"]

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
DRAIN_SECONDS = 60.0
"""Calls that are not answered so long after the end are counted as errors."""
OPEN_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to call, and how often."""

    host: str
    port: int
    paths: Sequence[str]
    """One of each connection."""
    era: str
    """``modern`` or ``handshake``."""
    tool: str = "echo"
    warm_calls: int = 3
    """Calls of each connection before the clock starts."""
    seed: int = 0
    """Part of every nonce."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it."""

    calls: int
    """Right answers."""
    seconds: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    errors: dict[str, int] = field(default_factory=dict[str, int])
    """Wrong or missing answers, by what was wrong."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("closed before the answer"))

    def data_received(self, data: bytes) -> None:
        """Answer who waits, once the answer is whole."""
        self._buffer += data
        answer = _take_answer(self._buffer)
        if answer is not None and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)

    async def ask(self, request: bytes) -> Answer:
        """Send a request; wait for its answer."""
        if self._transport is None:
            msg = "the connection is closed"
            raise ConnectionResetError(msg)
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Close; nobody waits any more."""
        if self._transport is not None:
            self._transport.close()


def _take_answer(buffer: bytearray) -> Answer | None:
    """Cut a whole answer off the beginning of a buffer."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = bytes(buffer[:end]).split(b"\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in lines[1:])
    }
    start = end + 4
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        taken = _take_chunks(buffer, start)
        if taken is None:
            return None
        body, stop = taken
    else:
        stop = start + int(headers.get(b"content-length", b"0"))
        if len(buffer) < stop:
            return None
        body = bytes(buffer[start:stop])
    del buffer[:stop]
    return Answer(int(lines[0].split(b" ", 2)[1]), headers, body)


def _take_chunks(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    body = bytearray()
    while True:
        line = buffer.find(b"\r\n", at)
        if line < 0:
            return None
        size = int(bytes(buffer[at:line]).partition(b";")[0], 16)
        stop = line + 2 + size
        if len(buffer) < stop + 2:
            return None
        body += buffer[line + 2 : stop]
        at = stop + 2
        if size == 0:
            return bytes(body), at


class Caller:
    """One connection's client of MCP."""

    def __init__(self, job: Job, index: int) -> None:
        self._job = job
        self._index = index
        self._ids = count(1)
        self._connection = Connection()
        self._session: list[str] = []

    async def open(self) -> None:
        """Connect, and open a session where the era has them."""
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(
            Connection, self._job.host, self._job.port
        )
        if self._job.era != "handshake" or self._session:
            return
        hello: dict[str, Any] = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "load", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        answer = await self._connection.ask(self._request(body, []))
        version = _message(answer, 0)["result"]["protocolVersion"]
        self._session = [f"MCP-Protocol-Version: {version}"]
        if b"mcp-session-id" in answer.headers:
            self._session.append(f"Mcp-Session-Id: {answer.headers[b'mcp-session-id'].decode()}")
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = await self._connection.ask(self._request(done, self._session))
        if answer.status >= 300:
            msg = f"HTTP {answer.status} after the handshake"
            raise ValueError(msg)

    async def call(self) -> None:
        """Make one call and check its answer."""
        number = next(self._ids)
        nonce = f"{self._job.seed}-{self._index}-{number}"
        params: dict[str, Any] = {"name": self._job.tool, "arguments": {"text": nonce}}
        headers = self._session
        if self._job.era == "modern":
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
            }
            headers = [
                f"MCP-Protocol-Version: {MODERN}",
                "Mcp-Method: tools/call",
                f"Mcp-Name: {self._job.tool}",
            ]
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        answer = await self._connection.ask(self._request(body, headers))
        result = _message(answer, number).get("result")
        if result is None:
            msg = f"HTTP {answer.status}: a JSON-RPC error"
            raise ValueError(msg)
        if result.get("isError"):
            msg = "an answer marked as an error"
            raise ValueError(msg)
        if result["content"][0]["text"] != nonce:
            msg = "the answer of another call"
            raise ValueError(msg)

    async def close(self) -> None:
        """End the session, where there is one, and close the connection."""
        if self._session:
            with contextlib.suppress(OSError):  # a server may have closed the connection first
                await self._connection.ask(self._request(None, self._session))
        self._connection.close()

    def _request(self, body: dict[str, Any] | None, headers: Sequence[str]) -> bytes:
        """Encode a message; none ends the session."""
        content = b"" if body is None else orjson.dumps(body)
        lines = (
            f"{'DELETE' if body is None else 'POST'} {self._job.paths[self._index]} HTTP/1.1",
            f"Host: {self._job.host}:{self._job.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            *headers,
            f"Content-Length: {len(content)}",
        )
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def _message(answer: Answer, number: int) -> dict[str, Any]:
    """Find the message that answers a request; it may be one of several events."""
    if answer.headers.get(b"content-type", b"").startswith(b"text/event-stream"):
        texts = [
            line[5:]
            for line in answer.body.splitlines()
            if line.startswith(b"data:") and line[5:].strip()
        ]
    else:
        texts = [answer.body]
    for text in texts:
        try:
            message = orjson.loads(text)
        except orjson.JSONDecodeError:
            msg = f"HTTP {answer.status}: no JSON"
            raise ValueError(msg) from None
        if message.get("id") == number:
            return message
    msg = f"HTTP {answer.status}: no message with the id of the request"
    raise ValueError(msg)


class Load:
    """One job under way."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._callers = [Caller(job, index) for index in range(len(job.paths))]
        self._latencies: list[float] = []
        self._errors: Counter[str] = Counter()
        self._seconds = 0.0
        self._stop_at = 0.0

    async def prepare(self) -> None:
        """Connect everybody; fails where one of them cannot."""
        with anyio.fail_after(OPEN_SECONDS):
            async with anyio.create_task_group() as group:
                for caller in self._callers:
                    group.start_soon(self._warm, caller)

    async def _warm(self, caller: Caller) -> None:
        await caller.open()
        for _ in range(self._job.warm_calls):
            await caller.call()

    async def call(self, seconds: float) -> int:
        """Call until the time is over; answers how often that went well."""
        before = len(self._latencies)
        began = time.perf_counter()
        self._stop_at = began + seconds
        with anyio.move_on_after(seconds + DRAIN_SECONDS) as scope:
            async with anyio.create_task_group() as group:
                for caller in self._callers:
                    group.start_soon(self._drive, caller)
        self._seconds += time.perf_counter() - began
        if scope.cancelled_caught:
            self._errors["not answered"] += 1
        return len(self._latencies) - before

    async def finish(self) -> Outcome:
        """Disconnect, and sum up."""
        with anyio.move_on_after(OPEN_SECONDS):
            for caller in self._callers:
                await caller.close()
        ranked = sorted(self._latencies) or [float("nan")]
        return Outcome(
            calls=len(self._latencies),
            seconds=self._seconds,
            p50_ms=ranked[len(ranked) // 2] * 1e3,
            p90_ms=ranked[len(ranked) * 90 // 100] * 1e3,
            p99_ms=ranked[len(ranked) * 99 // 100] * 1e3,
            errors=dict(self._errors),
        )

    async def _drive(self, caller: Caller) -> None:
        while (began := time.perf_counter()) < self._stop_at:
            try:
                await caller.call()
            except (OSError, EOFError) as error:
                self._errors[f"connection: {type(error).__name__}"] += 1
                await caller.open()
            except (ValueError, KeyError, IndexError, TypeError) as error:
                self._errors[str(error)] += 1
            else:
                self._latencies.append(time.perf_counter() - began)


async def _work() -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        load = Load(Job(**orjson.loads(line)))
        try:
            await load.prepare()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - whoever asked is told
            _say({"ready": False, "error": repr(_first(error))})
            continue
        _say({"ready": True})
        while (seconds := orjson.loads(await reader.readline() or b"null")) is not None:
            _say({"calls": await load.call(seconds)})
        _say(asdict(await load.finish()))


def _first(error: BaseException) -> BaseException:
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _first(members[0]) if members else error


def _say(value: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Take commands until the input ends."""
    anyio.run(_work, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
