"""The servers of one episode: whose turn it is, until when, and how what goes wrong there becomes data.

An agent that sends several calls at once numbers them from 0 without gaps; whatever order the network
delivers them in, they are taken in by number. A call without a number is taken in at its arrival. What
reaches a server beside calls is passed on, and not recorded. Knows server sessions and deadlines; knows
neither records nor MCP's endpoints.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import anyio

from astra_mcp.concurrency import Timer, shielded
from astra_mcp.errors import (
    AstraError,
    CallFaultError,
    NoProcessesError,
    NotAvailableError,
    SandboxError,
    StartRefusedError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import Exchange, Hear
from astra_mcp.tracing import tracer
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    Failure,
    JsonObject,
    JsonValue,
    Origin,
    ToolResult,
    UpstreamReply,
)
from gateway.api.seams import RelaySession, Upstream, UpstreamSession
from gateway.edge.tracing import upstream_span

_SEQ_WAIT_SECONDS = 30.0
"""How long a call waits for the calls before it."""
_log = logging.getLogger("astra_mcp.gateway")


@dataclass(slots=True)
class Running:
    """The call that holds a turn."""

    scope: anyio.CancelScope | None = None

    def cancel(self) -> None:
        """Cancel it, where there is one."""
        if self.scope is not None:
            self.scope.cancel()


@dataclass(slots=True, kw_only=True)
class Turn:
    """The calls of an episode to one server: its session, and one call at a time."""

    upstream: Upstream
    session: UpstreamSession
    emulator: EmulatorKind | None = None
    """Who makes up its answers; None for a server that answers itself."""
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    running: Running = field(default_factory=Running)
    deadline: Timer = field(init=False)
    """Of the call that holds the lock; it cancels its scope."""

    def __post_init__(self) -> None:
        self.deadline = Timer(
            self.running.cancel
        )  # a method of its own would be a cycle of references


async def ask_server(
    turn: Turn,
    tool: str,
    arguments: Mapping[str, JsonValue],
    exchange: Exchange,
    seconds: float,
) -> UpstreamReply | Failure:
    """Call a server, to the end or the deadline even where the caller is cancelled.

    The one place where a server's exceptions become data. Where the exchange says that its client has
    cancelled the request, so is the call, and its server is told; that is recorded as its result. The call
    holds the turn, names the tool as the server does, and may take so many seconds of wall time.

    Raises:
        NoProcessesError: The call took no effect, and can be made again.
    """
    name = turn.upstream.name
    try:
        with anyio.CancelScope(shield=True) as turn.running.scope:
            turn.deadline.set(asyncio.get_running_loop().time() + seconds)
            if exchange.cancellation is not None:
                exchange.cancellation.attach(turn.running.scope)
            if tracer() is None:
                return await turn.session.call(tool, arguments, exchange)
            with upstream_span(name, tool, exchange) as traced:
                return await turn.session.call(tool, arguments, traced)
    except StartRefusedError as error:
        raise NoProcessesError(
            "no process can be started for this call: its user or container has as many as it may "
            "(ulimit -u, pids.max), or memory is short. Try again"
        ) from error
    except (SandboxError, UpstreamError) as error:
        return failure_of(error)
    except Exception as error:  # noqa: BLE001 - a bug fails one episode, not the gateway
        _log.exception("a call of a tool of %s broke the gateway", name)
        return Failure(boundary=Origin.GATEWAY, message=type(error).__name__)
    finally:
        turn.deadline.clear()
        turn.running.scope = None
    if exchange.cancellation is not None and exchange.cancellation.is_set:
        return _CANCELLED
    message = f"no answer from {name} within {seconds:g} s"
    return Failure(boundary=Origin.UPSTREAM, message=message)


_CANCELLED = UpstreamReply(
    result=ToolResult.from_text("The client cancelled this call.", is_error=True),
    origin=Origin.TOOL,
    outcome=CallOutcome.APPLIED,
    cause="cancelled by the client",
)


def failure_of(error: SandboxError | UpstreamError) -> Failure:
    """Render an exception of a server's session; its message is never empty."""
    boundary = Origin.SANDBOX if isinstance(error, SandboxError) else Origin.UPSTREAM
    return Failure(boundary=boundary, message=str(error) or type(error).__name__)


async def close_sessions(turns: Iterable[Turn], episode: str) -> None:
    """Close the sessions of an episode, also where the caller is cancelled; a log names so much of its id."""
    with shielded():
        for turn in turns:
            turn.deadline.close()
            try:
                await turn.session.aclose()
            except AstraError:
                _log.exception("episode %s: a session did not close", episode)


class CallOrder:
    """Hands out turns in the order of the numbers; a call without one has its turn at once."""

    def __init__(self) -> None:
        self._next = 0
        self._unfinished: set[int] = set()
        self._moved: anyio.Event | None = None
        """What waiting calls wait for; None where none waits."""
        self._is_closed = False

    async def wait_for(self, seq: int) -> None:
        """Hold a call back until every earlier number was taken; returns at once after ``close``.

        Raises:
            CallFaultError: An earlier number does not come.
        """
        if self._may_go(seq):
            return
        with anyio.move_on_after(_SEQ_WAIT_SECONDS) as scope:
            while not self._may_go(seq):
                self._moved = self._moved or anyio.Event()
                await self._moved.wait()
        if scope.cancelled_caught:
            missing = self._missing_before(seq)
            msg = f"seq {seq} came, but not seq {missing}: send the missing call first"
            raise CallFaultError(msg)

    def check(self, seq: int) -> None:
        """Refuse a number that was taken before.

        Raises:
            CallFaultError: It was.
        """
        if seq < self._next:
            raise CallFaultError(f"seq {seq} was already used; the next one is {self._next}")

    def reopen(self, seq: int | None) -> None:
        """Mark a number whose call was begun and did not finish; later ones wait for it."""
        if seq is None:
            return
        self._next = max(self._next, seq + 1)
        self._unfinished.add(seq)

    def take(self, seq: int | None) -> None:
        """Mark a number as taken and let the next one go; no await may lie before the call starts."""
        if seq is None:
            return
        self._next = max(self._next, seq + 1)
        self._unfinished.discard(seq)
        self._wake()

    def close(self) -> None:
        """Let every waiting call go; the episode has ended and will refuse them."""
        self._is_closed = True
        self._wake()

    def _may_go(self, seq: int) -> bool:
        return self._is_closed or self._missing_before(seq) is None

    def _missing_before(self, seq: int) -> int | None:
        earlier = [n for n in self._unfinished if n < seq]
        if earlier:
            return min(earlier)
        return self._next if seq > self._next else None

    def _wake(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None


@dataclass(slots=True)
class Relaying:
    """Passes requests on, and notifications back."""

    turns: Mapping[str, Turn]
    """The servers of the episode, by name."""
    seconds: float
    """Wall time of a request."""
    num_running: int = field(default=0, init=False)

    @property
    def is_busy(self) -> bool:
        """True while a request runs."""
        return self.num_running > 0

    async def request(
        self, server: str, method: str, params: JsonObject, exchange: Exchange
    ) -> JsonObject:
        """Pass a request other than a call on to a server, without ``_meta``, which comes from the exchange.

        Raises:
            UnknownNameError: The episode has no such server.
            NotAvailableError: The server has tools and nothing else.
            RelayedError: The server answered with a JSON-RPC error.
            UpstreamError: It could not answer, or not in time.
        """
        session = self._session(server)
        self.num_running += 1
        try:
            with anyio.move_on_after(self.seconds):
                return await session.request(method, params, exchange)
        finally:
            self.num_running -= 1
        raise UpstreamError(f"no answer within {self.seconds:g} s")

    def watch(self, server: str, hear: Hear) -> None:
        """Hear the notifications of a server that belong to no request.

        Raises:
            UnknownNameError: The episode has no such server.
            NotAvailableError: The server has tools and nothing else.
        """
        self._session(server).watch(hear)

    def _session(self, server: str) -> RelaySession:
        turn = self.turns.get(server)
        if turn is None:
            raise UnknownNameError(f"this episode has no server named {server!r}")
        if not turn.upstream.relays or not isinstance(turn.session, RelaySession):
            raise NotAvailableError(f"{server} has tools and nothing else")
        return turn.session
