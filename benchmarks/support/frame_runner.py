"""Sends fuzzed frames to a gateway, several connections at once, and looks at how each is answered.

A frame must be answered, or its connection closed, within a deadline; no answer may be a 5xx; and frames
that are right must be answered rightly in the midst of all others.
"""

import asyncio
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
import orjson

from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeRequest

from fuzz_frames import Frame, FrameMaker

__all__ = ["FuzzOutcome", "fuzz"]

ANSWER_SECONDS = 45.0
"""The gateway itself gives 30 s to a request that never gets whole, and to a ``seq`` that is to come."""
PATIENT_SHARE = 0.0005
"""Of incomplete requests, so many are left open until the gateway gives up; others end there."""
FRAMES_PER_EPISODE = 2000
MAX_SESSIONS = 4
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3}) ")
_SESSION = re.compile(rb"\r\nmcp-session-id: ([^\r\n]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: ([0-9]+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: chunked", re.IGNORECASE)
_EVENTS = re.compile(rb"\r\ncontent-type: text/event-stream", re.IGNORECASE)


@dataclass(kw_only=True)
class FuzzOutcome:
    """What came of many frames."""

    frames: int = 0
    checked: int = 0
    """Frames that were right, and were answered rightly."""
    statuses: Counter[int] = field(default_factory=Counter[int])
    closed: int = 0
    """Frames that were answered by closing the connection."""
    violations: list[str] = field(default_factory=list[str])


async def fuzz(
    url: str,
    key: str,
    *,
    frames: int,
    lanes: int,
    seed: int,
    server: str = "echo",
    outcome: FuzzOutcome | None = None,
) -> FuzzOutcome:
    """Send frames to all three kinds of endpoint.

    Args:
        url: Of the gateway.
        key: Its control key.
        frames: How many in all.
        lanes: Connections at once.
        seed: Decides all frames.
        server: Has a tool ``echo``.
        outcome: Of earlier frames, to go on in; it can be looked at meanwhile.
    """
    outcome = outcome or FuzzOutcome()
    async with GatewayClient(url, key) as client, anyio.create_task_group() as group:
        for lane in range(lanes):
            share = frames // lanes + (lane < frames % lanes)
            runner = _Lane(url, client, outcome, f"{seed}-{lane}", server)
            group.start_soon(runner.run, share)
    return outcome


class _Lane:
    """One connection after another, one frame after another."""

    def __init__(
        self, url: str, client: GatewayClient, outcome: FuzzOutcome, seed: str, server: str
    ) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port or 0
        self._client = client
        self._outcome = outcome
        self._number = seed.rpartition("-")[2]
        """Of the lane; the same in every run, and so are its callers."""
        self._server = server
        self._maker = FrameMaker(seed, host=address.netloc)
        self._chance = random.Random(f"lane-{seed}")  # noqa: S311 - no secrets
        self._sessions: list[tuple[str, str]] = []
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def run(self, frames: int) -> None:
        """Send so many frames."""
        done = 0
        while done < frames:
            source = {"kind": "servers", "names": [self._server]}
            body = {"source": source, "limits": {"calls": None}}
            episode = await self._client.create_episode(EpisodeRequest.model_validate(body))
            paths = (
                urlsplit(episode.mcp_url).path,
                f"/servers/{self._server}/mcp?caller=lane-{self._number}",
                "/mcp",
            )
            for _ in range(min(FRAMES_PER_EPISODE, frames - done)):
                await self._send(self._maker.make(paths, self._sessions))
                done += 1
            while self._sessions:
                await self._end(*self._sessions.pop())
            await self._client.close_episode(episode.id)
        await self._hang_up()

    async def _send(self, frame: Frame) -> None:
        self._outcome.frames += 1
        patient = not frame.is_whole and self._chance.random() < PATIENT_SHARE
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                if frame.is_whole:
                    received = await self._exchange(frame)
                else:
                    await self._hang_up()
                    received = await self._exchange_all(frame, end=not patient)
        except TimeoutError:
            self._blame(frame, "not answered")
            await self._hang_up()
            return
        self._judge(frame, received)
        session = _SESSION.search(received)
        if session and b" 200 " in received[:20]:
            self._sessions.append((frame.path, session[1].decode("latin-1")))
            if len(self._sessions) > MAX_SESSIONS:
                await self._end(*self._sessions.pop(0))

    async def _end(self, path: str, session: str) -> None:
        """End a session in the order of the protocol; what is left alone would be kept for long."""
        content = (
            f"DELETE {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
        )
        with anyio.fail_after(ANSWER_SECONDS):
            await self._exchange(Frame(content=content.encode()))

    def _judge(self, frame: Frame, received: bytes) -> None:
        statuses = [int(s) for s in _STATUS.findall(received)]
        self._outcome.statuses.update(statuses)
        if not statuses:
            self._outcome.closed += 1
        if any(status >= 500 for status in statuses):
            self._blame(frame, f"answered {received[:300]!r}")
        if frame.number is None:
            return
        try:
            message = orjson.loads(received.partition(b"\r\n\r\n")[2])
            is_right = message["id"] == frame.number
            is_right = is_right and message["result"]["content"][0]["text"] == frame.text
        except (orjson.JSONDecodeError, KeyError, IndexError, TypeError):
            is_right = False
        if is_right:
            self._outcome.checked += 1
        else:
            self._blame(frame, f"a right request was answered {received[:300]!r}")

    def _blame(self, frame: Frame, what: str) -> None:
        head = frame.content[:1500]
        self._outcome.violations.append(f"{what} [{frame.what}] {head!r}")

    # --- sockets ---------------------------------------------------------------------------------

    async def _exchange(self, frame: Frame) -> bytes:
        """Send a whole request and read its answer; a connection that was closed is opened again."""
        reader, writer = await self._connection()
        try:
            writer.write(frame.content)
            await writer.drain()
            received = await _read_answer(reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            received = b""
        if not received or b"\r\nconnection: close" in received.lower() or _EVENTS.search(received):
            await self._hang_up()
        return received

    async def _exchange_all(self, frame: Frame, *, end: bool) -> bytes:
        """Send what may be anything, and read until the connection is closed."""
        reader, writer = await self._connection()
        received = b""
        try:
            writer.write(frame.content)
            await writer.drain()
            if end:
                writer.write_eof()
                received = await reader.read()
            else:
                received = await reader.read(1 << 16)  # an answer or the end of the connection
        except OSError:
            pass
        await self._hang_up()
        return received

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is None or self._writer is None or self._writer.is_closing():
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, limit=1 << 22
            )
        return self._reader, self._writer

    async def _hang_up(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    """Read one answer; of an event stream, which may never end, only the head."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    if _EVENTS.search(head):
        return head
    if _CHUNKED.search(head):
        body = bytearray()
        while (size := int((await reader.readline()).split(b";")[0], 16)) > 0:
            body += await reader.readexactly(size + 2)
        await reader.readline()
        return head + bytes(body)
    length = _LENGTH.search(head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")
