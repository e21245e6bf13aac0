"""Streamable HTTP: a POST for every request, with its own answer stream.

In the handshake era also a session id, and a standing GET stream for what belongs to no request. Redirects
stay within the configured origin, so that headers with secrets go nowhere else. Knows HTTP; knows neither
episodes nor what a method means.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import httpx2
import orjson
from anyio.abc import TaskGroup
from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from astra_mcp.concurrency import BackOff, run_in_background
from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import Channel, Hear
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.errors import (
    DELIVERY_UNKNOWN,
    NotSentError,
    SessionLostError,
    StatusError,
    words_of,
)
from servers.deployed.transports.events import EventReader
from servers.deployed.transports.http_client import HttpLink
from servers.deployed.transports.messages import (
    MAX_MESSAGE_BYTES,
    error_of,
    notification,
    parse_message,
    request_message,
)
from servers.deployed.transports.pending import Peer, PendingRequest, params_of, result_of

__all__ = ["StreamablePeer"]

CLOSE_SECONDS = 2.0
STAND_SECONDS = 0.5
"""How long requests wait for the standing stream; some servers begin it with their first message."""
NOTIFY_SECONDS = 30.0
DRAIN_SECONDS = 0.02
"""How long the end of an answer stream is awaited after the answer, so that its connection can be kept."""
RESUME_ATTEMPTS = 5
RESUME_SECONDS = 1.0
"""Before a stream that ended is resumed, where the server does not say how long to wait."""
MIN_LISTEN_SECONDS = 0.5
"""Between two openings of the standing stream; doubles while it ends soon after it was opened."""
MAX_LISTEN_SECONDS = 30.0
LASTING_SECONDS = 5.0
ERROR_BODY_BYTES = 1 << 16

_log = logging.getLogger(__name__)
_EVENTS: Final = "text/event-stream"
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class StreamablePeer(Peer):
    """A server at a URL: one session with it, or, in the modern era, one client of it."""

    def __init__(
        self,
        link: HttpLink,
        tasks: TaskGroup,
        *,
        name: str,
        hear: Hear,
        is_shared: bool,
        headers: Mapping[str, str],
        redact: Callable[[str], str],
    ) -> None:
        """Connect to nothing yet; see :class:`Peer`."""
        super().__init__(tasks, name=name, hear=hear, is_shared=is_shared)
        self._redact = redact
        """Takes secrets out of what a server says."""
        self._link = link
        """The connections, shared by all peers of the server."""
        self._own_headers = dict(headers)
        """Of every request."""
        self._version = ""
        self._session: str | None = None
        self._listening = anyio.CancelScope()
        self._stands: anyio.Event | None = None
        self._headers = self._make_headers()

    @property
    def keeps_state(self) -> bool:
        """True in a session that the server named."""
        return self._session is not None

    def agree(self, version: str, *, expects_messages: bool) -> None:
        """Name the revision in every later request; listen where the server may speak by itself."""
        self._version = version
        self._headers = self._make_headers()
        if expects_messages and self._session is not None:
            self._stands = anyio.Event()
            run_in_background(self._tasks, self._listen)

    async def request(
        self,
        method: str,
        params: JsonObject,
        channel: Channel | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Send a request and wait for its result; see :class:`Peer`."""
        if self.fault is not None:
            raise NotSentError(f"upstream {self._name} {self.fault}")
        await self._listen_first()
        answer: JsonObject = {}
        scope = anyio.CancelScope()
        request, params = self._pending.begin(method, params, channel)
        request.scopes.add(scope)
        is_over = False
        try:
            body = orjson.dumps(request_message(request.number, method, params))
            with scope:
                sent = self._headers_of(method, params, headers)
                answer = await self._exchange(request, body, sent)
            is_over = request.is_over = True
        except UpstreamError as error:
            is_over, request.is_over = True, isinstance(error, NotSentError)
            raise
        finally:
            self._pending.remove(request)
            if (
                not is_over
                and self._version not in MODERN_PROTOCOL_VERSIONS
                and method != "initialize"
            ):
                await self._tell_cancelled(request)
        if scope.cancelled_caught:
            raise self._unknown(f"{self.fault}")
        what = f"upstream {self._name} answered {method} with no object; {DELIVERY_UNKNOWN}"
        return result_of(answer, what)

    async def notify(self, method: str, params: Mapping[str, JsonValue] | None = None) -> None:
        """Send a notification; dropped in the modern era, which has none from clients over HTTP."""
        if self._version in MODERN_PROTOCOL_VERSIONS:
            return
        with anyio.move_on_after(NOTIFY_SECONDS) as scope:
            await self._post(notification(method, params))
        if scope.cancelled_caught:
            raise UpstreamError(
                f"upstream {self._name} did not take {method} in {NOTIFY_SECONDS:.0f} s"
            )

    async def aclose(self) -> None:
        """End the session at the server; requests under way fail."""
        self._listening.cancel()
        session, self._session = self._session, None
        had_fault = self.fault is not None
        self.fault = self.fault or "was closed by the gateway"
        self._pending.cancel_all()
        if session is None or had_fault:
            return
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            try:
                response = await self._link.send("DELETE", self._headers, b"")
                await response.aclose()
            except (httpx2.HTTPError, UpstreamError) as error:
                _log.debug(
                    "upstream %s was not told of the end of a session: %r", self._name, error
                )

    def _make_headers(self) -> dict[str, str]:
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **self._own_headers,
        }
        if self._version:
            headers["mcp-protocol-version"] = self._version
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        return headers

    def _headers_of(
        self, method: str, params: JsonObject, further: Mapping[str, str] | None
    ) -> dict[str, str]:
        if self._version not in MODERN_PROTOCOL_VERSIONS:
            return self._headers
        headers = {**self._headers, "mcp-method": method}
        member = NAME_BEARING_METHODS.get(method)
        if member is not None:
            headers["mcp-name"] = encode_header_value(str(params.get(member, "")))
        if further:
            headers.update(further)
        return headers

    async def _exchange(
        self, request: PendingRequest, body: bytes, headers: dict[str, str]
    ) -> JsonObject:
        async with self._sent("POST", headers, body) as response:
            if response.status_code >= 300:
                return await self._read_refusal(request, response)
            if self._version == "" and (session := response.headers.get("mcp-session-id")):
                self._session = session
            kind = response.headers.get("content-type", "")
            if kind.startswith(_EVENTS):
                answer = await self._read_stream(request, response)
            elif kind.startswith("application/json"):
                answer = parse_message(await self._read_body(response, MAX_MESSAGE_BYTES))
                said: JsonValue = request.number  # an error need not name what could not be read
                if answer is not None and (answer.get("id") is not None or "result" in answer):
                    said = answer.get("id")
                if self._pending.find(said) is not request:
                    raise self._unknown("answered another request")
            else:
                what = f"HTTP {response.status_code} with {kind or 'no type'!r}"
                msg = f"upstream {self._name} answered {what}, which is no MCP{self._fate()}"
                raise StatusError(msg, response.status_code)
        if answer is None:
            raise self._unknown("answered what is no JSON-RPC")
        return answer

    @asynccontextmanager
    async def _sent(
        self, method: str, headers: dict[str, str], body: bytes
    ) -> AsyncGenerator[httpx2.Response]:
        """Send and give the response, its body unread; transport failures get words."""
        try:
            response = await self._link.send(method, headers, body)
            try:
                yield response
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        except _NOT_SENT as error:
            raise NotSentError(
                f"upstream {self._name} cannot be reached: {words_of(error)}"
            ) from None
        except httpx2.HTTPError as error:
            raise self._unknown(f"broke the connection: {words_of(error)}") from None
        except httpx2.InvalidURL as error:
            raise UpstreamError(f"upstream {self._name} redirects to no URL: {error}") from None

    async def _read_body(self, response: httpx2.Response, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > limit:
                msg = f"upstream {self._name} answered more than {limit >> 10} KiB{self._fate()}"
                raise UpstreamError(msg)
            parts.append(part)
        return b"".join(parts) if len(parts) != 1 else parts[0]

    async def _read_refusal(self, request: PendingRequest, response: httpx2.Response) -> JsonObject:
        """Read an answer whose HTTP status is no success: a JSON-RPC error, or no answer at all."""
        status = response.status_code
        body = await self._read_body(response, ERROR_BODY_BYTES)
        message = parse_message(body)
        if self._session is not None and _is_unknown_session(status, message, request.number):
            self.fault = f"does not know the session any more (HTTP {status})"
            raise SessionLostError(f"upstream {self._name} {self.fault}")
        if message is not None and message.get("error") is not None and "jsonrpc" in message:
            return message
        text = self._redact(body.decode(errors="replace").strip().partition("\n")[0])[:200]
        msg = f"upstream {self._name} answered HTTP {status}" + (f": {text}" if text else "")
        if 300 <= status < 400:
            msg = f"upstream {self._name} redirects elsewhere, which is not followed: configure its new URL"
        elif status in (401, 403):
            msg += " (check the headers of its entry)"
        elif status >= 500:
            msg += self._fate()
        raise StatusError(msg, status)

    def _fate(self) -> str:
        """What is to be said of a request that may have been executed; the first ones do nothing."""
        return f"; {DELIVERY_UNKNOWN}" if self._version else ""

    async def _read_stream(self, request: PendingRequest, response: httpx2.Response) -> JsonObject:
        """Read an answer stream to the answer; one that ends before it is resumed where it can be."""
        events = EventReader()
        answer: JsonObject | None = None
        failure: UpstreamError | None = None
        async with anyio.create_task_group() as asking:
            try:
                try:
                    answer = await self._read_events(request, response, events, asking)
                except httpx2.HTTPError as error:
                    failure = self._unknown(f"broke its answer off: {words_of(error)}")
                if answer is None and events.last_id is not None and self._session is not None:
                    answer = await self._resume(request, events, asking)
            except UpstreamError as error:
                failure = error
            asking.cancel_scope.cancel()
        if answer is None:
            raise failure or self._unknown("ended its answer without a result")
        return answer

    async def _read_events(
        self,
        request: PendingRequest,
        response: httpx2.Response,
        events: EventReader,
        asking: TaskGroup,
    ) -> JsonObject | None:
        answer: JsonObject | None = None
        with anyio.CancelScope() as draining:
            try:
                async for event in events.read(response):
                    message = parse_message(event.data) if answer is None else None
                    if message is None:
                        continue
                    if isinstance(message.get("method"), str):
                        self._take(message, request, asking)
                        await request.deliver()
                    elif self._pending.find(message.get("id")) is request:
                        answer = message
                        draining.deadline = anyio.current_time() + DRAIN_SECONDS
            except (httpx2.HTTPError, UpstreamError) as error:
                if answer is None:
                    raise
                _log.debug("upstream %s broke off after its answer: %r", self._name, error)
        return answer

    async def _resume(
        self, request: PendingRequest, events: EventReader, asking: TaskGroup
    ) -> JsonObject | None:
        """Ask for the rest of an answer stream, by the id of its last event; executes nothing again."""
        attempts = 0
        while attempts < RESUME_ATTEMPTS:
            attempts += 1
            seconds = RESUME_SECONDS if events.retry_seconds is None else events.retry_seconds
            await anyio.sleep(min(seconds, MAX_LISTEN_SECONDS))
            before = events.last_id
            headers = {**self._headers, "accept": _EVENTS, "last-event-id": before or ""}
            try:
                async with self._sent("GET", headers, b"") as response:
                    if response.status_code != 200:
                        return None
                    answer = await self._read_events(request, response, events, asking)
            except UpstreamError as error:
                _log.debug("an answer was not resumed: %s", error)
                answer = None
            if answer is not None:
                return answer
            if events.last_id != before:
                attempts = 0
        return None

    def _take(self, message: JsonObject, request: PendingRequest | None, asking: TaskGroup) -> None:
        """Take a notification or a request that came on a request's own stream, or on the standing one."""
        method, params = str(message["method"]), params_of(message)
        if "id" in message:
            owner = request or self._pending.only()
            scope = anyio.CancelScope()
            run_in_background(asking, self._answer, message, owner, scope)
        elif method == "notifications/message" and request is not None:
            request.note(method, params)
        elif not self._pending.take_notification(method, params):
            self._hear(method, params)

    async def _post(self, message: JsonObject) -> None:
        """Send what has no answer."""
        async with self._sent("POST", self._headers, orjson.dumps(message)) as response:
            if response.status_code == 404 and self._session is not None:
                self.fault = "does not know the session any more (HTTP 404)"
                raise SessionLostError(f"upstream {self._name} {self.fault}")
            if response.status_code >= 300:
                msg = f"upstream {self._name} answered HTTP {response.status_code}"
                raise StatusError(msg, response.status_code)

    async def _listen(self) -> None:
        """Read the standing stream of the session until the peer is closed."""
        events = EventReader()
        pauses = BackOff(MIN_LISTEN_SECONDS, MAX_LISTEN_SECONDS)
        with self._listening:
            async with anyio.create_task_group() as asking:
                while self.fault is None:
                    opened = anyio.current_time()
                    try:
                        if not await self._listen_once(events, asking):
                            break
                    except UpstreamError as error:
                        _log.debug("the standing stream of upstream %s: %s", self._name, error)
                    if anyio.current_time() - opened >= LASTING_SECONDS:
                        pauses.reset()
                    asked = RESUME_SECONDS if events.retry_seconds is None else events.retry_seconds
                    await anyio.sleep(min(max(pauses.next(), asked), MAX_LISTEN_SECONDS))

    async def _listen_first(self) -> None:
        """Let the standing stream come before requests: a server may ask there at once, or never."""
        if self._stands is not None and not self._stands.is_set():
            with anyio.move_on_after(STAND_SECONDS):
                await self._stands.wait()
            self._stands.set()

    async def _listen_once(self, events: EventReader, asking: TaskGroup) -> bool:
        """Read one connection to its end; False where the server offers no such stream."""
        headers = {**self._headers, "accept": _EVENTS}
        if events.last_id is not None:
            headers["last-event-id"] = events.last_id
        async with self._sent("GET", headers, b"") as response:
            if self._stands is not None:
                self._stands.set()
            if response.status_code != 200:
                return response.status_code >= 500
            async for event in events.read(response):
                message = parse_message(event.data)
                if message is not None and isinstance(message.get("method"), str):
                    self._take(message, None, asking)
        return True


def _is_unknown_session(status: int, message: JsonObject | None, number: int) -> bool:
    if status == 404:
        return message is None or message.get("id") != number
    if status != 400 or message is None or message.get("id") is not None:
        return False
    return "session" in str(error_of(message.get("error"))).lower()
