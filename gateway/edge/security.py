"""The gate before both planes: who may speak to the gateway, and how much.

Checks ``Host`` and ``Origin`` (a web page must not reach a gateway on its reader's machine), keys, the sizes
of headers and bodies and what bodies hold, and writes the access log. Whatever is not plainly allowed is
refused. Knows paths and headers, no episode, and of protocols the form of an error; an episode's URL is its
own capability.
"""

import ipaddress
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from astra_mcp.concurrency import within
from astra_mcp.errors import ConfigError
from astra_mcp.text.json_bounds import BATCH_VALUES, MAX_VALUES, bounds_fault
from gateway.edge.keys import MIN_KEY_LENGTH, is_known
from gateway.edge.pages import Pages

__all__ = [
    "LARGE_BYTES",
    "AccessRules",
    "BufferedBody",
    "Gate",
    "Plane",
    "Refusal",
    "access_rules",
    "is_loopback",
    "loggable_path",
    "plane_of",
    "send_json",
]

MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 << 10
MAX_PATH_BYTES = 8 << 10
MAX_LENGTH_DIGITS = 18
MAX_REMEMBERED_HOSTS = 256
LARGE_BYTES = 256 << 10
"""A larger body takes milliseconds at each of its stations, between which others have their turn."""
BODY_SECONDS = 30.0
"""Within so many seconds a request must have arrived whole."""
DISCARD_BYTES = 8 << 20
DISCARD_SECONDS = 2.0
"""So much of a refused request's body is read, for so long, that its client may see the refusal."""
BATCH_PATH = "/v1/episodes:batch"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
ID_CHARACTERS = 6
"""So much of an episode's id may stand in a log."""

_INVALID_REQUEST = -32600
_SINGLE = (
    *(b"mcp-method", b"mcp-name", b"mcp-protocol-version", b"mcp-session-id"),
    *(b"content-length", b"content-type", b"last-event-id"),
)
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ID_LIKE = re.compile(r"[0-9a-fA-F]{16,}")
_access_log = logging.getLogger("astra_mcp.access")


class Plane(StrEnum):
    """Which key a path asks for."""

    OPEN = "open"
    """Health checks: no key."""
    EPISODE = "episode"
    """The episode's id in the path is the capability."""
    INTERACTIVE = "interactive"
    """An API key, where keys are set; also for all paths that do not exist."""
    CONTROL = "control"
    """Always the control key."""
    PAGES = "pages"
    """A browser's session, which the pages look after; it is had by the control key alone."""


def plane_of(path: str) -> Plane:
    """Tell which key a path asks for; unknown paths ask for more, not less."""
    if path in ("/healthz", "/readyz"):
        return Plane.OPEN
    if path.startswith("/episodes/"):
        return Plane.EPISODE
    if path == "/v1" or path.startswith("/v1/"):
        return Plane.CONTROL
    return Plane.INTERACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """What the gate lets through; made by :func:`access_rules`."""

    control_key: str
    api_keys: tuple[str, ...]
    """Empty where the interactive endpoints need none."""
    hosts: frozenset[str]
    """Accepted ``Host`` values in lower case: ``name`` (any port) or ``name:port``."""
    origins: frozenset[str]
    """Hosts of web pages that are accepted beside a request's own ``Host``, in the same form."""
    max_body_bytes: int
    max_body_values: int
    """Names and values of one body; a batch of episodes may hold more."""


def access_rules(
    *,
    host: str,
    control_key: str,
    api_keys: Sequence[str] = (),
    allowed_hosts: Sequence[str] = (),
    own_hosts: Sequence[str] = (),
    max_body_bytes: int = 4 << 20,
    max_body_values: int = MAX_VALUES,
) -> AccessRules:
    """Derive the rules from where the gateway listens.

    Args:
        host: The address to listen on.
        control_key: Opens everything.
        api_keys: Open the interactive endpoints.
        allowed_hosts: Accepted as ``Host`` besides the loopback names and ``host``, and as hosts of pages.
        own_hosts: Accepted as ``Host`` as well; of pages that stand there, those at its port alone.
        max_body_bytes: Size of one request's body.
        max_body_values: Names and values that one request's body may hold.

    Raises:
        ConfigError: The address is not loopback and there is no API key, or a key is too short.
    """
    if not is_loopback(host) and not api_keys:
        raise ConfigError(
            f"serve.host {host!r} is reachable from other machines, so the interactive endpoints "
            "need a key: set serve.api_keys in astra.toml, or "
            "ASTRA_MCP_SERVE__API_KEYS='[\"<a long random key>\"]'"
        )
    if any(len(key) < MIN_KEY_LENGTH for key in api_keys):
        msg = f"serve.api_keys: a key has fewer than {MIN_KEY_LENGTH} characters: use a longer one"
        raise ConfigError(msg)
    allowed, own = (
        {h.casefold().strip("[]") for h in given} for given in (allowed_hosts, own_hosts)
    )
    names = {*LOOPBACK_NAMES, *allowed, *own}
    if not _is_wildcard(host):
        names.add(host.casefold())
    return AccessRules(
        control_key=control_key,
        api_keys=tuple(api_keys),
        hosts=frozenset(names),
        origins=frozenset(allowed),
        max_body_bytes=max_body_bytes,
        max_body_values=max_body_values,
    )


def is_loopback(host: str) -> bool:
    """True where only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A request that the gate does not let through, as the answer that says why."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        is_mcp: bool = False,
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.is_mcp = is_mcp
        """True where the answer is one of JSON-RPC, which clients of MCP show."""

    def as_body(self) -> dict[str, Any]:
        """Say it in the form of the plane that was asked."""
        if self.is_mcp:
            error = {"code": _INVALID_REQUEST, "message": self.message}
            return {"jsonrpc": "2.0", "id": None, "error": error}
        return {"error": {"code": self.code, "message": self.message}}


@dataclass(slots=True, eq=False)
class Gate:
    """ASGI middleware; the outermost layer of the gateway."""

    _app: ASGIApp
    """Sees only requests that were let through, with their body in memory."""
    _rules: AccessRules
    """What is let through."""
    _observe: Callable[[Plane, int], None]
    """Told the plane and the HTTP status of every answer."""
    _pages: Pages | None = None
    """Whose addresses need no key of the gateway's."""
    _allowed: dict[bytes, bool] = field(default_factory=dict[bytes, bool], init=False)
    """Values of ``Host`` that were looked at before."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, pass it on or refuse it, and log it."""
        if scope["type"] != "http":
            return  # neither web sockets nor lifespan: the server's owner opens the planes
        began = time.perf_counter()
        status = 500
        plane = self._plane_of(scope)
        is_whole = False

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._check(scope, plane)
            body = await self._read_body(scope, receive)
            if body is None:
                status = 499  # nobody waits for an answer; the number is what proxies log
                return
            is_whole = True
            is_large = len(body.body) > LARGE_BYTES
            if is_large:
                await anyio.lowlevel.checkpoint()
            if plane is not Plane.PAGES:  # whose bodies are forms, and bounded where they are read
                self._check_bounds(scope["path"], body.body)
            if is_large:
                await anyio.lowlevel.checkpoint()
            await self._app(scope, body, watched)
        except Refusal as refusal:
            is_whole = is_whole or not _has_body(scope["headers"])
            await _refuse(refusal, watched, None if is_whole else receive)
        finally:
            self._observe(plane, status)
            if _access_log.isEnabledFor(logging.INFO):
                shown, seconds = loggable_path(scope["path"]), time.perf_counter() - began
                _access_log.info("%s %s %d %.1f ms", scope["method"], shown, status, seconds * 1000)

    def _plane_of(self, scope: Scope) -> Plane:
        plane = plane_of(scope["path"])
        if self._pages is None or plane not in (Plane.INTERACTIVE, Plane.EPISODE):
            return plane
        return Plane.PAGES if self._pages.owns(scope) else plane

    def _check(self, scope: Scope, plane: Plane) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        size = sum(map(len, chain.from_iterable(headers)))
        if len(headers) > MAX_HEADERS or size > MAX_HEADER_BYTES:
            msg = f"at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes in all are accepted"
            raise Refusal(431, "headers_too_large", msg)
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_PATH_BYTES:
            raise Refusal(414, "address_too_long", f"at most {MAX_PATH_BYTES} bytes are accepted")
        single = dict(headers)
        if len(single) == len(headers):  # as nearly always: no field comes twice
            self._check_host([single[b"host"]] if b"host" in single else [])
            if b"origin" in single:
                self._check_origin(_values(headers, b"origin"), single[b"host"])
            if plane is not Plane.EPISODE:
                self._check_key(plane, _values(headers, b"authorization"))
            return
        _check_single([name for name, _ in headers])
        hosts = [value for name, value in headers if name == b"host"]
        self._check_host(hosts)
        self._check_origin(_values(headers, b"origin"), hosts[0])
        self._check_key(plane, _values(headers, b"authorization"))

    def _check_host(self, hosts: Sequence[bytes]) -> None:
        if len(hosts) != 1 or not self._is_known_host(hosts[0]):
            msg = "this Host is not accepted: add it to serve.allowed_hosts if it is the gateway's"
            raise Refusal(421, "wrong_host", msg)

    def _is_known_host(self, host: bytes) -> bool:
        found = self._allowed.get(host)
        if found is None:
            found = _is_among(self._rules.hosts, host.decode("latin-1").strip())
            if len(self._allowed) >= MAX_REMEMBERED_HOSTS:
                self._allowed.clear()
            self._allowed[host] = found
        return found

    def _check_origin(self, origins: Sequence[str], host: bytes) -> None:
        """Let pages of the gateway's own address and of allowed hosts through (decisions/0020)."""
        own = host.decode("latin-1").strip().casefold()
        for origin in origins:
            try:
                parts = urlsplit(origin)
            except ValueError:
                parts = urlsplit("")
            is_page = parts.scheme in ("http", "https")
            if is_page and (
                parts.netloc.casefold() == own or _is_among(self._rules.origins, parts.netloc)
            ):
                continue
            msg = (
                "requests of web pages are accepted from the gateway's own address alone: add the page's "
                "host to serve.allowed_hosts if it may use this gateway"
            )
            raise Refusal(403, "wrong_origin", msg)

    def _check_key(self, plane: Plane, authorizations: Sequence[str]) -> None:
        keys: Iterable[str] = (self._rules.control_key,)
        if plane is Plane.INTERACTIVE:
            if not self._rules.api_keys:
                return
            keys = (*self._rules.api_keys, self._rules.control_key)
        elif plane is not Plane.CONTROL:
            return
        scheme, _, key = authorizations[0].partition(" ") if len(authorizations) == 1 else ("",) * 3
        if scheme.casefold() == "bearer" and is_known(key.strip(), keys):
            return
        which = "control key ($ASTRA_MCP_HOME/control.key)"
        if plane is Plane.INTERACTIVE:
            which = "API key (serve.api_keys)"
        msg = f"a valid {which} is needed: send it as 'Authorization: Bearer <key>'"
        raise Refusal(401, "wrong_key", msg, {"WWW-Authenticate": "Bearer"})

    def _check_bounds(self, path: str, body: bytes) -> None:
        limit = self._rules.max_body_values
        fault = bounds_fault(body, max(limit, BATCH_VALUES) if path == BATCH_PATH else limit)
        if fault is None:
            return
        raise Refusal(413, "body_too_complex", fault, is_mcp=path.endswith("/mcp"))

    async def _read_body(self, scope: Scope, receive: Receive) -> "BufferedBody | None":
        """Take in the whole body within its limits; the application reads it from memory.

        None where the client went away before its request was complete.
        """
        limit = self._rules.max_body_bytes
        for name, value in scope["headers"]:
            if name == b"content-length" and not _is_at_most(limit, value.strip()):
                raise _too_large(limit)
        try:
            body = await within(BODY_SECONDS, _whole_body(receive, limit))
        except TimeoutError:
            msg = f"the request did not arrive within {BODY_SECONDS:g} s"
            raise Refusal(408, "too_slow", msg) from None
        return None if body is None else BufferedBody(body, receive)


class BufferedBody:
    """What a request is received by once its whole body is in memory."""

    __slots__ = ("_is_given", "_receive", "body")

    def __init__(self, body: bytes, receive: Receive) -> None:
        """Hold a body.

        Args:
            body: Given first, in one piece, to whoever asks for the request's messages.
            receive: Says what follows.
        """
        self.body = body
        self._receive = receive
        self._is_given = False

    async def __call__(self) -> Message:
        """Give the next message of the request."""
        if self._is_given:
            return await self._receive()
        self._is_given = True
        return {"type": "http.request", "body": self.body, "more_body": False}


async def _whole_body(receive: Receive, limit: int) -> bytes | None:
    """Take in a body of at most ``limit`` bytes; None where the client went away before its end.

    Raises:
        Refusal: It is larger.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_among(known: frozenset[str], host: str) -> bool:
    match = _HOST.fullmatch(host.casefold())
    if match is None:
        return False
    name, port = match["name"].strip("[]"), match["port"]
    return name in known or f"{name}:{port}" in known


def _is_at_most(limit: int, length: bytes) -> bool:
    return length.isdigit() and len(length) <= MAX_LENGTH_DIGITS and int(length) <= limit


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "body_too_large", f"at most {limit} bytes are accepted")


def _check_single(names: Sequence[bytes]) -> None:
    """Refuse a field that comes twice and that two readers of the request could read differently."""
    if len(set(names)) == len(names):
        return
    twice = next((name for name in _SINGLE if names.count(name) > 1), None)
    if twice is not None:
        raise Refusal(400, "header_twice", f"send the header {twice.decode()} once")


async def _refuse(refusal: Refusal, send: Send, rest: Receive | None) -> None:
    """Answer a request, and close its connection where the rest of its body would still come."""
    body = refusal.as_body()
    if rest is None:
        await send_json(send, refusal.status, body, refusal.headers)
        return

    async def send_but_stay(message: Message) -> None:
        # The answer is complete, by its length; its end would close the connection at once, and the
        # client, which still sends, would be told of that instead.
        is_end = message["type"] == "http.response.body"
        await send({**message, "more_body": True} if is_end else message)

    await send_json(send_but_stay, refusal.status, body, {**refusal.headers, "Connection": "close"})
    discarded = 0
    is_complete = False
    with anyio.move_on_after(DISCARD_SECONDS):
        while not is_complete and discarded <= DISCARD_BYTES:
            message = await rest()
            discarded += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
    await send({"type": "http.response.body", "body": b""})


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in headers
    )


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in headers if key == name]


def loggable_path(path: str) -> str:
    """Render a path for a log: of each episode id only the beginning, no control characters.

    An id is what follows ``episodes``, and, because paths are mistyped, each long run of hex digits. Of what
    follows ``login`` nothing is shown.
    """
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        following = parts[index + 1]
        if part == "episodes" and len(following) > ID_CHARACTERS:
            parts[index + 1] = f"{following[:ID_CHARACTERS]}…"
        if part == "login" and following:
            parts[index + 1] = "…"
    shown = _ID_LIKE.sub(lambda match: f"{match[0][:ID_CHARACTERS]}…", "/".join(parts))
    return "".join(c if c.isprintable() else "?" for c in shown)[:256]


async def send_json(
    send: Send, status: int, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    """Answer a request with a JSON document."""
    content = orjson.dumps(body)
    fields = {"content-type": "application/json", "content-length": str(len(content))}
    fields |= {name.lower(): value for name, value in (headers or {}).items()}
    encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": content})
