"""Which requests are under way on a connection, and to which of them a message of the server belongs."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Channel
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.transports.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    error_message,
    error_of,
    notification,
    result_message,
)

__all__ = [
    "LISTEN",
    "PendingRequest",
    "PendingRequests",
    "answer_request",
    "own_token",
    "params_of",
    "result_of",
    "tell_cancelled",
]

LISTEN: Final = "subscriptions/listen"
CANCEL_SECONDS: Final = 1.0
ABANDONED_SECONDS: Final = 600.0
"""How long a request that nobody waits for any more may still run at the server, for all that we know."""
MAX_NUMBER_DIGITS: Final = 18
MAX_WAITING_NOTES = 1024
"""Notifications for one request that its client has not taken yet; further ones are dropped."""

_log = logging.getLogger(__name__)


class PendingRequest:
    """A request under way."""

    __slots__ = ("answer", "channel", "is_listening", "is_over", "notes", "scopes", "token", "wake")

    def __init__(
        self, channel: Channel | None, token: JsonValue, *, is_listening: bool = False
    ) -> None:
        self.channel = channel
        self.is_listening = is_listening
        """It is nobody's call, but the standing one for changes."""
        self.token = token
        """The client's own progress token; None where it has none."""
        self.answer: JsonObject | None = None
        self.is_over = False
        """The server certainly does nothing for it: it has answered, or never got it."""
        self.notes: deque[tuple[str, JsonObject]] = deque()
        """What is still to go to the client, in order."""
        self.scopes: set[anyio.CancelScope] = set()
        """Of the server's requests that are being answered for it."""
        self.wake = anyio.Event()

    def note(self, method: str, params: JsonObject) -> None:
        """Keep a notification for the client; drops it where too many wait."""
        if len(self.notes) >= MAX_WAITING_NOTES:
            _log.debug("a client does not take the notifications of its request: one is dropped")
            return
        self.notes.append((method, params))
        self.wake.set()

    async def deliver(self) -> None:
        """Hand on what waits."""
        while self.notes:
            note = self.notes.popleft()
            if self.channel is not None:
                await self.channel.notify(*note)


class PendingRequests:
    """The requests under way on one connection, by number."""

    def __init__(self, *, is_shared: bool) -> None:
        """Begin with none.

        Args:
            is_shared: They may be of several clients, so that a message that does not say to which it
                belongs is nobody's.
        """
        self._is_shared = is_shared
        self._flights: dict[int, PendingRequest] = {}
        self._abandoned: dict[int, float] = {}
        """Until when those may still run that were given up before their answer; the oldest first."""

    def add(self, number: int, flight: PendingRequest) -> None:
        """A request is about to be sent."""
        self._flights[number] = flight

    def remove(self, number: int) -> None:
        """Nobody waits for a request any more; what is being answered for it ends."""
        flight = self._flights.pop(number)
        for scope in tuple(flight.scopes):
            scope.cancel()
        is_over = flight.is_over or flight.answer is not None or flight.is_listening
        if self._is_shared and not is_over:
            self._forget_old()
            self._abandoned[number] = anyio.current_time() + ABANDONED_SECONDS

    def settle(self, number: JsonValue) -> None:
        """An answer came that nobody waits for any more: its request has ended at the server."""
        read = _number_of(number)
        if read is not None:
            self._abandoned.pop(read, None)

    def cancel_all(self) -> None:
        """The connection is closed: whoever waits in a scope of its own gives up."""
        for flight in self._flights.values():
            for scope in tuple(flight.scopes):
                scope.cancel()

    def wake_all(self) -> None:
        """The connection failed: have everyone look."""
        for flight in self._flights.values():
            flight.wake.set()

    def find(self, number: JsonValue) -> PendingRequest | None:
        """The request that an answer is for; some servers turn the number into a text."""
        read = _number_of(number)
        return self._flights.get(read) if read is not None else None

    def take_notification(self, method: str, params: JsonObject) -> bool:
        """Keep a notification for the request that it belongs to; False where it is for whoever hears.

        A log message of a shared connection that could be about anyone's request is dropped: it may tell
        one client of another's data.
        """
        if method == "notifications/progress":
            flight = self.find(params.get("progressToken"))
            if flight is not None and flight.token is not None:
                flight.note(method, {**params, "progressToken": flight.token})
            return True  # progress of nothing that is under way is nobody's
        if method != "notifications/message":
            return False
        flight = self.only()
        if flight is None:
            return self._is_shared
        flight.note(method, params)
        return True

    def only(self) -> PendingRequest | None:
        """The request that a message belongs to which does not say; None where that is not certain."""
        flights = [f for f in self._flights.values() if f.channel is not None]
        if not flights:
            return None
        if self._is_shared:
            self._forget_old()
            running = sum(not f.is_listening and f.answer is None for f in self._flights.values())
            if self._abandoned or running > 1:
                return None
        return flights[-1]  # all are of one client; the message came while the latest ran

    def _forget_old(self) -> None:
        now = anyio.current_time()
        while self._abandoned:
            number, end = next(iter(self._abandoned.items()))
            if end > now:
                return
            del self._abandoned[number]


Send = Callable[[JsonObject], Awaitable[None]]
"""Sends a message to the server; raises ``UpstreamError``."""


async def answer_request(
    name: str,
    message: JsonObject,
    flight: PendingRequest | None,
    scope: anyio.CancelScope,
    send: Send,
) -> None:
    """Answer a request of a server by the client of the request that it belongs to, until that one ends.

    Args:
        name: Of the server, for the log.
        message: The request.
        flight: What it belongs to; None refuses, ``ping`` aside.
        scope: Cancelled where nobody needs the answer any more.
        send: Takes the answer.
    """
    if flight is not None:
        flight.scopes.add(scope)
    try:
        with scope:
            await send(await _answer(name, message, flight.channel if flight is not None else None))
    except UpstreamError as error:
        _log.debug("upstream %s did not get an answer: %s", name, error)
    finally:
        if flight is not None:
            flight.scopes.discard(scope)


async def _answer(name: str, message: JsonObject, channel: Channel | None) -> JsonObject:
    number, method = message["id"], str(message["method"])
    if method == "ping":
        return result_message(number, {})
    if channel is None:
        text = f"no client that could answer {method} waits for this server just now"
        return error_message(number, RelayedError(METHOD_NOT_FOUND, text))
    try:
        return result_message(number, await channel.ask(method, params_of(message)))
    except RelayedError as error:
        return error_message(number, error)
    except Exception:  # noqa: BLE001 - a fault of the gateway is the answer to one request
        _log.exception("a request of upstream %s could not be passed on", name)
        return error_message(number, RelayedError(INTERNAL_ERROR, f"{method} was not passed on"))


async def tell_cancelled(name: str, number: int, send: Send) -> None:
    """Tell a server that nobody waits for a request any more; for a second, whatever cancelled it."""
    with anyio.move_on_after(CANCEL_SECONDS, shield=True):
        try:
            await send(notification("notifications/cancelled", {"requestId": number}))
        except UpstreamError as error:
            _log.debug("upstream %s was not told of a cancelled request: %s", name, error)


def result_of(answer: JsonObject, what: str) -> JsonObject:
    """Read the result of an answer.

    Args:
        answer: To a request.
        what: Is said where it holds none.

    Raises:
        RelayedError: The server answered an error.
        UpstreamError: It answered neither.
    """
    if answer.get("error") is not None:
        raise error_of(answer["error"])
    result = answer.get("result")
    if not isinstance(result, dict):
        raise UpstreamError(what)
    return result


def _number_of(number: JsonValue) -> int | None:
    """Read the number of a request; None for what cannot be one of ours."""
    if isinstance(number, str):
        is_number = number.isdecimal() and len(number) <= MAX_NUMBER_DIGITS
        return int(number) if is_number else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def params_of(message: JsonObject) -> JsonObject:
    """The ``params`` of a message; empty where there are none."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def own_token(params: JsonObject, number: int) -> tuple[JsonObject, JsonValue]:
    """Replace a progress token by the request's number, which no other request has.

    Returns:
        The params to send, and the client's own token.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or meta.get("progressToken") is None:
        return params, None
    return {**params, "_meta": {**meta, "progressToken": number}}, meta["progressToken"]
