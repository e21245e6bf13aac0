"""A server at the other end of a connection, and to which request under way there a message of it belongs."""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Final

import anyio
from anyio.abc import TaskGroup

from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Channel, Hear
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.errors import DELIVERY_UNKNOWN
from servers.deployed.transports.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    error_message,
    error_of,
    notification,
    result_message,
)

__all__ = ["LISTEN", "Peer", "PendingRequest", "PendingRequests", "params_of", "result_of"]

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

    __slots__ = (
        "answer", "channel", "is_listening", "is_over", "notes", "number", "scopes", "token", "wake",
    )  # fmt: skip

    def __init__(
        self, number: int, channel: Channel | None, token: JsonValue, *, is_listening: bool
    ) -> None:
        self.number = number
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

    def cancel(self) -> None:
        """End what is being answered for it."""
        for scope in tuple(self.scopes):
            scope.cancel()


class PendingRequests:
    """The requests under way on one connection, by number."""

    def __init__(self, *, is_shared: bool) -> None:
        """Begin with none.

        Args:
            is_shared: They may be of several clients, so that a message that does not say to which it
                belongs is nobody's.
        """
        self._is_shared = is_shared
        self._numbers = count(1)
        self._requests: dict[int, PendingRequest] = {}
        self._abandoned: dict[int, float] = {}
        """Until when those may still run that were given up before their answer; the oldest first."""

    def begin(
        self, method: str, params: JsonObject, channel: Channel | None
    ) -> tuple[PendingRequest, JsonObject]:
        """Number a request that is about to be sent.

        Returns:
            The request, and its params: a progress token in them is replaced by the number, which no other
            request has.
        """
        number = next(self._numbers)
        meta, token = params.get("_meta"), None
        if isinstance(meta, dict) and meta.get("progressToken") is not None:
            token = meta["progressToken"]
            params = {**params, "_meta": {**meta, "progressToken": number}}
        request = PendingRequest(number, channel, token, is_listening=method == LISTEN)
        self._requests[number] = request
        return request, params

    def remove(self, request: PendingRequest) -> None:
        """Nobody waits for a request any more; what is being answered for it ends."""
        del self._requests[request.number]
        request.cancel()
        is_over = request.is_over or request.answer is not None or request.is_listening
        if self._is_shared and not is_over:
            self._forget_old()
            self._abandoned[request.number] = anyio.current_time() + ABANDONED_SECONDS

    def settle(self, number: JsonValue) -> None:
        """An answer came that nobody waits for any more: its request has ended at the server."""
        read = _number_of(number)
        if read is not None:
            self._abandoned.pop(read, None)

    def cancel_all(self) -> None:
        """The connection is closed: whoever waits in a scope of its own gives up."""
        for request in self._requests.values():
            request.cancel()

    def wake_all(self) -> None:
        """The connection failed: have everyone look."""
        for request in self._requests.values():
            request.wake.set()

    def find(self, number: JsonValue) -> PendingRequest | None:
        """The request that an answer is for; some servers turn the number into a text."""
        read = _number_of(number)
        return self._requests.get(read) if read is not None else None

    def take_notification(self, method: str, params: JsonObject) -> bool:
        """Keep a notification for the request that it belongs to; False where it is for whoever hears.

        A log message of a shared connection that could be about anyone's request is dropped: it may tell
        one client of another's data.
        """
        if method == "notifications/progress":
            request = self.find(params.get("progressToken"))
            if request is not None and request.token is not None:
                request.note(method, {**params, "progressToken": request.token})
            return True  # progress of nothing that is under way is nobody's
        if method != "notifications/message":
            return False
        request = self.only()
        if request is None:
            return self._is_shared
        request.note(method, params)
        return True

    def only(self) -> PendingRequest | None:
        """The request that a message belongs to which does not say; None where that is not certain."""
        requests = [r for r in self._requests.values() if r.channel is not None]
        if not requests:
            return None
        if self._is_shared:
            self._forget_old()
            running = sum(not r.is_listening and r.answer is None for r in self._requests.values())
            if self._abandoned or running > 1:
                return None
        return requests[-1]  # all are of one client; the message came while the latest ran

    def _forget_old(self) -> None:
        now = anyio.current_time()
        while self._abandoned:
            number, end = next(iter(self._abandoned.items()))
            if end > now:
                return
            del self._abandoned[number]


class Peer(ABC):
    """A server at the other end of a connection. Requests may run at the same time."""

    def __init__(self, tasks: TaskGroup, *, name: str, hear: Hear, is_shared: bool) -> None:
        """Send nothing yet.

        Args:
            tasks: Run what goes on beside the requests; it ends with :meth:`aclose`.
            name: Of the server, for messages.
            hear: Takes what belongs to no request.
            is_shared: Requests of several clients run here.
        """
        self._tasks = tasks
        self._name = name
        self._hear = hear
        self._pending = PendingRequests(is_shared=is_shared)
        self.fault: str | None = None
        """Why it takes no further requests; None while it does."""

    @property
    def nonsense(self) -> str:
        """What the server said last that is no message; empty where it said nothing else."""
        return ""

    @property
    @abstractmethod
    def keeps_state(self) -> bool:
        """True where the server may remember calls for as long as this connection lives."""

    @abstractmethod
    async def request(
        self,
        method: str,
        params: JsonObject,
        channel: Channel | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Send a request and wait for its result; the caller bounds the time.

        What the server sends on the way (progress, log messages, requests of its own) goes to the
        channel. A caller that is cancelled tells the server so.

        Args:
            method: Of the request.
            params: With ``_meta``. A ``progressToken`` is replaced by one that is unique on the
                connection, and put back in what goes to the channel.
            channel: The way back to the client; None refuses requests of the server.
            headers: Further headers where the connection is HTTP.

        Raises:
            RelayedError: The server answered with a JSON-RPC error.
            NotSentError: The request reached nobody.
            UpstreamError: The connection failed; whether the server acted is unknown.
        """

    @abstractmethod
    async def notify(self, method: str, params: Mapping[str, JsonValue] | None = None) -> None:
        """Send a notification.

        Raises:
            UpstreamError: The connection failed.
        """

    @abstractmethod
    def agree(self, version: str, *, expects_messages: bool) -> None:
        """Take note of what the handshake brought.

        Args:
            version: The protocol revision of every later request.
            expects_messages: The server may speak without being asked.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connection and what carries it; closing twice is allowed."""

    @abstractmethod
    async def _post(self, message: JsonObject) -> None:
        """Send what has no answer; raises ``UpstreamError``."""

    def _unknown(self, fault: str) -> UpstreamError:
        """Say of a request that was sent that nobody knows what became of it."""
        return UpstreamError(f"upstream {self._name} {fault}; {DELIVERY_UNKNOWN}")

    async def _answer(
        self, message: JsonObject, request: PendingRequest | None, scope: anyio.CancelScope
    ) -> None:
        """Answer a request of the server by the client of what it belongs to, until that one ends.

        Args:
            message: The request of the server.
            request: What it belongs to; None refuses, ``ping`` aside.
            scope: Cancelled where nobody needs the answer any more.
        """
        if request is not None:
            request.scopes.add(scope)
        try:
            with scope:
                await self._post(await self._answer_to(message, request and request.channel))
        except UpstreamError as error:
            _log.debug("upstream %s did not get an answer: %s", self._name, error)
        finally:
            if request is not None:
                request.scopes.discard(scope)

    async def _answer_to(self, message: JsonObject, channel: Channel | None) -> JsonObject:
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
            _log.exception("a request of upstream %s could not be passed on", self._name)
            return error_message(
                number, RelayedError(INTERNAL_ERROR, f"{method} was not passed on")
            )

    async def _tell_cancelled(self, request: PendingRequest) -> None:
        """Tell the server that nobody waits for a request any more; for a second, whatever cancelled it."""
        with anyio.move_on_after(CANCEL_SECONDS, shield=True):
            try:
                await self._post(
                    notification("notifications/cancelled", {"requestId": request.number})
                )
            except UpstreamError as error:
                _log.debug("upstream %s was not told of a cancelled request: %s", self._name, error)


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
