"""JSON-RPC over one connection that carries everything both ways: stdio, the old SSE, memory streams.

One task reads; each request waits for its own answer and hands on, in order, what the server sends for it
meanwhile. Knows neither sessions nor what a method means, cancellation aside.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from astra_mcp.concurrency import run_in_background
from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Channel, Hear
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.errors import NotSentError
from servers.deployed.transports.messages import notification, request_message
from servers.deployed.transports.pending import Peer, PendingRequest, params_of, result_of

__all__ = ["DuplexPeer", "Wire"]

MAX_SERVER_REQUESTS = 64
CHECK_SECONDS = 10.0
"""A server of several clients that is silent for so long, after one gave a request up, is gone."""

_log = logging.getLogger(__name__)


class Wire(Protocol):
    """Carries messages to and from one server. Its errors begin with a verb: the peer names the server."""

    nonsense: str
    """What came last that is no message, without secrets; empty where nothing did."""

    async def send(self, message: JsonObject) -> None:
        """Send a message.

        Raises:
            UpstreamError: The wire is broken.
        """
        ...

    async def receive(self) -> JsonObject | None:
        """Wait for a message; None at the end.

        Raises:
            UpstreamError: What comes is not JSON-RPC, or too long.
        """
        ...

    async def describe_end(self) -> str:
        """Say why it ended, such as ``closed (exit status 1): out of memory``; bounds its own time."""
        ...

    async def aclose(self) -> None:
        """Close it and what is behind it; closing twice is allowed."""
        ...


class DuplexPeer(Peer):
    """A server at the other end of a wire."""

    def __init__(
        self,
        wire: Wire,
        tasks: TaskGroup,
        *,
        name: str,
        hear: Hear,
        is_shared: bool,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over the wire, which is closed with the peer, and begin to read; see :class:`Peer`.

        ``on_end`` is told when the wire, and what is behind it, is gone.
        """
        super().__init__(tasks, name=name, hear=hear, is_shared=is_shared)
        self._wire = wire
        self._on_end = on_end
        self._is_shared = is_shared
        self._is_checking = False
        self._answering: dict[str, anyio.CancelScope] = {}
        self._reading = anyio.CancelScope()
        self._is_ending = False
        self._ended = anyio.Event()
        tasks.start_soon(self._read)

    @property
    def nonsense(self) -> str:
        """What the wire brought last that is no message."""
        return self._wire.nonsense

    @property
    def keeps_state(self) -> bool:
        """Always: what is behind the wire lives as long as it."""
        return True

    async def request(
        self,
        method: str,
        params: JsonObject,
        channel: Channel | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Send a request and wait for its result; see :class:`Peer`."""
        del headers
        await self._require_no_fault()
        request, params = self._pending.begin(method, params, channel)
        is_over = False
        try:
            await self._send(request_message(request.number, method, params))
            answer = await self._wait(request)
            is_over = True
        except UpstreamError:
            is_over = True
            raise
        finally:
            self._pending.remove(request)
            if not is_over and method not in ("initialize", "ping"):
                await self._tell_cancelled(request)
                self._check_soon()
        return result_of(answer, f"upstream {self._name} answered {method} with no object")

    async def notify(self, method: str, params: Mapping[str, JsonValue] | None = None) -> None:
        """Send a notification."""
        await self._require_no_fault()
        await self._send(notification(method, params))

    def agree(self, version: str, *, expects_messages: bool) -> None:
        """Nothing on this wire depends on it."""

    async def aclose(self) -> None:
        """Close the wire; requests under way fail."""
        self._end("was closed by the gateway")
        await self._wire.aclose()
        self._reading.cancel()

    async def _require_no_fault(self) -> None:
        if self._is_ending:  # what is sent now is never answered: rather wait to hear why
            await self._ended.wait()
        if self.fault is not None:
            raise NotSentError(f"upstream {self._name} {self.fault}")

    async def _post(self, message: JsonObject) -> None:
        await self._wire.send(message)

    async def _send(self, message: JsonObject) -> None:
        try:
            await self._wire.send(message)
        except UpstreamError as error:
            raise self._unknown(str(error)) from None

    async def _wait(self, request: PendingRequest) -> JsonObject:
        while True:
            await request.wake.wait()
            await request.deliver()
            if request.answer is not None:
                return request.answer
            if self.fault is not None:
                raise self._unknown(self.fault)
            if not request.notes:
                request.wake = anyio.Event()

    def _check_soon(self) -> None:
        """Find out whether a server that serves all still answers, once somebody has given it up."""
        if self._is_shared and not self._is_checking and self.fault is None:
            self._is_checking = True
            run_in_background(self._tasks, self._check)

    async def _check(self) -> None:
        is_answered = False
        try:
            with anyio.move_on_after(CHECK_SECONDS):
                await self.request("ping", {})
                is_answered = True
        except RelayedError:
            is_answered = True  # it has no ping, and says so
        except UpstreamError:
            return  # it has ended meanwhile
        finally:
            self._is_checking = False
        if not is_answered:
            self._end(f"did not answer a ping in {CHECK_SECONDS:g} s")
            self._reading.cancel()

    async def _read(self) -> None:
        fault = "was closed by the gateway"
        with self._reading:
            try:
                while (message := await self._wire.receive()) is not None:
                    self._take(message)
                self._is_ending = True
                fault = await self._wire.describe_end()
            except UpstreamError as error:
                fault = str(error)
            except Exception:  # noqa: BLE001 - a fault here ends this connection, not the gateway
                _log.exception("reading from upstream %s failed", self._name)
                fault = "failed: what it sent could not be handled"
        self._end(fault)
        for scope in tuple(self._answering.values()):
            scope.cancel()
        with anyio.CancelScope(shield=True):  # the wire bounds the time of its own end
            await self._wire.aclose()
        self._on_end()

    def _end(self, fault: str) -> None:
        if self.fault is None:
            self.fault = fault
        self._ended.set()
        self._pending.wake_all()

    def _take(self, message: JsonObject) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            request = self._pending.find(message.get("id"))
            if request is None or ("result" not in message and "error" not in message):
                self._pending.settle(message.get("id"))
                _log.debug("upstream %s answered what nobody waits for", self._name)
                return
            request.answer = message
            request.wake.set()
        elif "id" in message:
            self._take_request(message)
        elif method == "notifications/cancelled":
            scope = self._answering.get(repr(params_of(message).get("requestId")))
            if scope is not None:
                scope.cancel()
        elif not self._pending.take_notification(method, params_of(message)):
            self._hear(method, params_of(message))

    def _take_request(self, message: JsonObject) -> None:
        if len(self._answering) >= MAX_SERVER_REQUESTS:
            _log.warning("upstream %s asks too much at once: a request is dropped", self._name)
            return
        request = None if message["method"] == "ping" else self._pending.only()
        scope = self._answering[repr(message["id"])] = anyio.CancelScope()
        if request is not None:  # at once: it may end before the task begins
            request.scopes.add(scope)
        run_in_background(self._tasks, self._answer, message, request, scope)

    async def _answer(
        self, message: JsonObject, request: PendingRequest | None, scope: anyio.CancelScope
    ) -> None:
        try:
            await super()._answer(message, request, scope)
        finally:
            self._answering.pop(repr(message["id"]), None)
