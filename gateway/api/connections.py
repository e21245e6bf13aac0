"""Kept HTTP/1.1 connections from a client to its gateways: whole answers, redirects, and what is sent again.

A general client costs several times the gateway's own work for each request of a rollout. No proxies: the
gateway is usually on this machine. Knows HTTP and neither the control API nor MCP; no error text holds a
header or the path of an address.
"""

import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.to_thread
import httpx2
import orjson

from astra_mcp import __version__
from astra_mcp.concurrency import BackOff
from astra_mcp.errors import TransportError
from astra_mcp.http.connection import HttpConnection, RestingConnections, connect

__all__ = [
    "MAX_BODY_BYTES",
    "NO_FILES",
    "NO_MEMORY",
    "NO_PROCESSES",
    "NO_SPACE",
    "RETRY_AFTER_SECONDS",
    "STOPPING",
    "TOO_MANY",
    "Answer",
    "Connections",
    "follow",
    "open_http",
    "repeat",
]

CONNECT_SECONDS = 10.0
KEEP_SECONDS = 4.0
"""A connection that rested longer is closed: less than the 5 s after which common servers close theirs, so
that no request meets its end."""
MAX_CONNECTIONS = 512
"""Of one pool, over all origins; requests beyond so many wait for a free connection."""
MAX_BODY_BYTES = 256 << 20
"""Of an answer; the largest are lists and batches of a thousand tool lists."""
MAX_REDIRECTS = 3
RETRY_SECONDS = 0.1
"""Wait before the second attempt; twice as long before each further one."""
MAX_RETRY_SECONDS = 1.0
STOPPING = "stopping"
"""Code of the answer to a request that came too late for a gateway that stops; nothing was done."""
NO_SPACE = "no_disk_space"
"""Code of the answer where records cannot be written for now; nothing was done."""
NO_FILES = "no_files_left"
"""Code of the answer where no more files can be opened for now; nothing was done."""
NO_MEMORY = "no_memory"
"""Code of the answer where no more memory may be used for now; nothing was done."""
NO_PROCESSES = "no_processes_left"
"""Code of the answer where no process can be started for now; nothing was done."""
TOO_MANY = "too_many_connections"
"""Code of the answer where as many connections as can be held are waited at; nothing was done."""
RETRY_AFTER_SECONDS = 1
"""The pause that a gateway asks for with these answers."""
_DID_NOTHING = (STOPPING, NO_SPACE, NO_FILES, NO_MEMORY, NO_PROCESSES, TOO_MANY)
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_OWN_FIELDS = f"Accept-Encoding: identity\r\nUser-Agent: astra-mcp/{__version__}\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, whole."""

    url: str
    """That was asked."""
    status: int
    headers: Mapping[str, str]
    """By names in lower case; of fields that come twice the last."""
    body: bytes

    @property
    def is_success(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    authority: str
    """As the ``Host`` field names it."""
    path: str
    """With its query."""


class Connections:
    """Sends requests to any number of origins; made by :func:`open_http`.

    Deadlines are the caller's, but for that of connecting. A request that is given up closes its connection.
    """

    def __init__(self) -> None:
        self._resting: dict[tuple[str, str, int], RestingConnections] = {}
        self._places = anyio.Semaphore(MAX_CONNECTIONS, fast_acquire=True)
        self._verify: ssl.SSLContext | None = None

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send one request, once.

        Args:
            method: Of HTTP.
            url: Absolute; in ASCII, as addresses travel.
            headers: Beside those that every request has.
            body: None is without.

        Raises:
            httpx2.ConnectError | httpx2.ConnectTimeout: Nothing was sent.
            httpx2.ReadError | httpx2.RemoteProtocolError: Whether it arrived, nobody knows.
            TransportError: The URL is none, or a header is none.
        """
        target = _target(url)
        request = _head(method, target, headers, body) + (body or b"")
        origin = target[:3]
        resting = self._resting.get(origin)
        if resting is None:
            resting = RestingConnections(max_kept=MAX_CONNECTIONS, keep_seconds=KEEP_SECONDS)
            self._resting[origin] = resting
        try:
            self._places.acquire_nowait()
        except anyio.WouldBlock:
            await self._places.acquire()
        try:
            connection = resting.take() or await self._connect(target)
            try:
                head = await connection.send(request)
                content = await _whole(connection)
            finally:
                resting.put(connection)
        finally:
            self._places.release()
        fields = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in head.headers}
        return Answer(url=url, status=head.status, headers=fields, body=content)

    def close(self) -> None:
        """Close what rests; the others are closed with their answers."""
        for resting in self._resting.values():
            resting.close()

    async def _connect(self, target: _Target) -> HttpConnection:
        verify: ssl.SSLContext | None = None
        if target.scheme == "https":
            if self._verify is None:
                self._verify = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
            verify = self._verify
        self._make_room()
        return await connect(target.host, target.port, verify=verify, seconds=CONNECT_SECONDS)

    def _make_room(self) -> None:
        """Have as many connections as there are places at most, those that rest included."""
        under_way = MAX_CONNECTIONS - self._places.value
        kept = [resting for resting in self._resting.values() if len(resting)]
        if kept and under_way + sum(map(len, kept)) > MAX_CONNECTIONS:
            kept[0].close_oldest()


@asynccontextmanager
async def open_http() -> AsyncGenerator[Connections]:
    """Open a connection pool for any number of clients; it holds no key."""
    opened = Connections()
    try:
        yield opened
    finally:
        opened.close()


async def _whole(connection: HttpConnection) -> bytes:
    parts: list[bytes] = []
    size = 0
    while more := await connection.pieces():
        parts += more
        size += sum(map(len, more))
        if size > MAX_BODY_BYTES:
            connection.close()
            msg = f"the answer has more than {MAX_BODY_BYTES >> 20} MiB"
            raise httpx2.RemoteProtocolError(msg)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@lru_cache(maxsize=4096)
def _target(url: str) -> _Target:
    """Read where a request goes.

    Raises:
        TransportError: It is no URL that can be asked; the text does not repeat it.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise TransportError("an address of the gateway is no http or https URL") from None
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if not parts.hostname or "@" in parts.netloc or not is_plain:
        raise TransportError("an address of the gateway is no plain http or https URL")
    return _Target(parts.scheme, parts.hostname, port, parts.netloc, path)


def _head(method: str, target: _Target, headers: Mapping[str, str], body: bytes | None) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if fields.count("\n") != len(headers) or fields.count("\r") != len(headers) or "\0" in fields:
        raise TransportError("a header of the request holds a line end, such as a key might")
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    text = (
        f"{method} {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n"
        f"{_OWN_FIELDS}{fields}{length}\r\n"
    )
    try:
        return text.encode("ascii")
    except UnicodeEncodeError:
        msg = "a header of the request is not in ASCII, such as a key might be"
        raise TransportError(msg) from None


async def follow(send: Callable[[str], Awaitable[Answer]], url: str) -> Answer:
    """Send a request, and again to the worker that it belongs to where another one answers so.

    Raises:
        TransportError: It leads to another host, which must not learn what was meant for this one.
        httpx2.TransportError: No answer came.
    """
    for _ in range(MAX_REDIRECTS):
        answer = await send(url)
        if answer.status != 307 or "location" not in answer.headers:
            return answer
        there = urljoin(url, answer.headers["location"])
        if _target(there)[:2] != _target(url)[:2]:
            msg = "the gateway sends the request on to another host, which is not followed"
            raise TransportError(msg)
        url = there
    raise TransportError(f"the gateway sent a request on more than {MAX_REDIRECTS} times")


async def repeat(
    send: Callable[[], Awaitable[Answer]],
    retried: tuple[type[Exception], ...],
    seconds: float,
    *,
    may_repeat: bool,
) -> Answer:
    """Send until there is an answer that does not ask for another attempt, or the time is over.

    Args:
        send: Makes one attempt.
        retried: What may be tried again.
        seconds: No attempt begins later.
        may_repeat: To do it twice is as well as once; else only a gateway that says that it did nothing, such
            as one that stops, is asked again.
    """
    deadline = time.monotonic() + seconds
    pauses = BackOff(RETRY_SECONDS, MAX_RETRY_SECONDS)
    while True:
        pause = pauses.next()
        is_late = time.monotonic() >= deadline
        try:
            answer = await send()
        except retried:
            if is_late:
                raise
        else:
            wanted = _wanted_pause(answer, may_repeat=may_repeat)
            if is_late or wanted is None or wanted >= seconds:
                return answer
            pause = max(pause, wanted)
        await anyio.sleep(pause)


def _wanted_pause(answer: Answer, *, may_repeat: bool) -> float | None:
    """How long to wait before another attempt, in seconds; None where this answer stands."""
    if answer.status < 500:
        return None
    wanted = _seconds_of(answer.headers.get("retry-after"))
    if answer.status == 503 and _did_nothing(answer):
        return wanted or 0.0
    return wanted if may_repeat else None


def _seconds_of(retry_after: str | None) -> float | None:
    """Read seconds or a date; None where it is neither."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _did_nothing(answer: Answer) -> bool:
    try:
        data: Any = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return False
    match data:
        case {"error": {"code": code}}:
            return code in _DID_NOTHING
        case _:
            return False
