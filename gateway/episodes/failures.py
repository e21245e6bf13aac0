"""Failures on purpose: which calls of an episode fail, how, and what the agent reads then.

A tool fails whatever it is, gold or distractor: the law is one for the whole episode, or for all its
emulated servers, and no text tells which tool failed. Whether a call fails follows from the episode's seed,
the call itself and how often it was made before, not from what else runs. Knows calls and chances; knows
neither servers nor records.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, TypeVar

import anyio

from astra_mcp.call_record import FailureKind
from astra_mcp.mcp.request_context import Cancellation
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonValue, canonical_json
from gateway.api.settings import DEFAULT_RATE, FailureScope
from gateway.api.wire import (
    NO_FAILURES,
    USUAL_KINDS,
    FailingCalls,
    FailureLaw,
    FailureRequest,
)

__all__ = [
    "FailureDefaults",
    "FailurePlan",
    "InjectedFailure",
]


class Look(NamedTuple):
    """How failures of one kind look to an agent."""

    texts: Sequence[str]
    seconds: Sequence[int]
    """What stands for ``{seconds}``: the client's deadline, or the wait that the service asks for."""
    delay: tuple[float, float]
    """Least and most seconds that one takes, where it takes its time."""


_TIMEOUT = (
    "ReadTimeout: The read operation timed out",
    "HTTPConnectionPool(host='127.0.0.1', port=8080): Read timed out. (read timeout={seconds})",
    "SocketTimeoutError: Timeout on reading data from socket",
    "Timed out while waiting for response to ClientRequest. Waited {seconds}.0 seconds.",
    "MCP error -32001: Request timed out",
    "APITimeoutError: Request timed out.",
    "Error: The request timed out after {seconds} seconds",
    "504 Server Error: Gateway Time-out",
)
_UNREACHABLE = (
    "ConnectError: All connection attempts failed",
    "ConnectError: [Errno 111] Connection refused",
    "ConnectError: [Errno -2] Name or service not known",
    "OSError: [Errno 113] No route to host",
    "ClientConnectorError: Cannot connect to host 127.0.0.1:8080 ssl:default",
    "RemoteProtocolError: Server disconnected without sending a response.",
    "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
    "fetch failed: connect ECONNREFUSED 127.0.0.1:8080",
    "MCP error -32000: Connection closed",
    "APIConnectionError: Connection error.",
)
_RATE_LIMITED = (
    "429 Client Error: Too Many Requests",
    "429 Too Many Requests: rate limit exceeded. Retry after {seconds} seconds.",
    "HTTP 429 Too Many Requests (Retry-After: {seconds})",
    '{"error": {"code": 429, "message": "Rate limit exceeded", "retry_after": {seconds}}}',
    "RateLimitError: Error code: 429 - {'message': 'Rate limit reached. Please try again in {seconds}s.'}",
    '{"message": "API rate limit exceeded", "status": 429}',
)
_SERVER_ERROR = (
    "HTTPStatusError: Server error '500 Internal Server Error'",
    "500 Server Error: Internal Server Error",
    "502 Server Error: Bad Gateway",
    "503 Service Unavailable: the server is temporarily unable to handle the request",
    "HTTP 503 Service Unavailable (Retry-After: {seconds})",
    '{"error": {"code": 500, "message": "Internal server error"}}',
    "InternalServerError: Error code: 500 - {'error': {'message': 'Internal server error'}}",
    "MCP error -32603: Internal error",
)
LOOKS: Mapping[FailureKind, Look] = {
    FailureKind.TIMEOUT: Look(_TIMEOUT, (5, 10, 15, 20, 30, 60), (5.0, 15.0)),
    FailureKind.UNREACHABLE: Look(_UNREACHABLE, (0,), (0.5, 3.0)),
    FailureKind.RATE_LIMITED: Look(_RATE_LIMITED, (1, 2, 5, 10, 15, 20, 30, 60), (0.05, 0.3)),
    FailureKind.SERVER_ERROR: Look(_SERVER_ERROR, (5, 10, 30, 60), (0.1, 2.0)),
}
"""In the order in which kinds are drawn: a further one, or a further text, goes to the end, so that records
and seeds of before draw what they drew.

The texts are as httpx, requests, aiohttp, the SDKs of MCP and of model providers, and plain JSON bodies
word them. None names a server or a tool, so that one text fits all of them and tells nothing of the tool
that failed.
"""
_DIGEST_BYTES = 16
_CHANCE_BITS = 53
"""As many as a float holds."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDefaults:
    """What holds where a request does not say how its episode fails."""

    rate: float = DEFAULT_RATE
    scope: FailureScope = FailureScope.EMULATED

    def law(self, asked: FailureRequest | None, *, made_up: bool) -> FailureLaw:
        """Decide on the law of an episode, whose servers may make answers up; what a request says wins."""
        if asked is None:
            applies = made_up or self.scope is FailureScope.ALL
            return NO_FAILURES.model_copy(update={"rate": self.rate}) if applies else NO_FAILURES
        weights = USUAL_KINDS if asked.kinds is None else asked.kinds
        total = sum(weights.values())
        kinds: dict[str, float] = {kind: weights.get(kind, 0.0) / total for kind in LOOKS}
        return FailureLaw(rate=asked.rate, scope=asked.scope, kinds=kinds, delay=asked.delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFailure:
    """How one call fails."""

    kind: FailureKind
    text: str
    """What the agent reads."""
    delay_seconds: float
    """How long it takes; 0 where it is answered at once."""


class FailurePlan:
    """Which calls of one episode fail.

    Each call has one number, uniform in [0, 1): a hash of the episode's seed, the server, the tool's own
    name, the arguments and how often this very call was made before. Below the rate it fails; the place
    below the rate decides on the kind, the place within the kind on the text, and so on.

    Source: ASTRA sec. 2.1.4: "emulated calls to fail with a probability of 20%".
    """

    def __init__(
        self,
        law: FailureLaw,
        seed: int,
        *,
        emulated: Collection[str] = (),
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Begin with the first call of an episode.

        Args:
            law: Decides.
            seed: Of the episode.
            emulated: Names of the servers whose answers are made up, which a scope of the law may ask for.
            sleep: Lets the time of a failure pass.
        """
        self._law = law
        self._spares_others = law.scope is FailingCalls.EMULATED_CALLS
        self._emulated = frozenset(emulated)
        self._root = derive_seed(seed, "failures").to_bytes(8, "big")
        self._sleep = sleep
        self._made: dict[bytes, int] = {}
        """How often each call was made, by its digest."""
        self._delays: set[anyio.CancelScope] = set()
        self._is_over = False

    def draw(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue]
    ) -> InjectedFailure | None:
        """Count a call of a tool by its own name, and tell how it fails; None where it goes to its server."""
        if self._spares_others and server not in self._emulated:
            return None
        call = sha256(canonical_json([server, tool, dict(arguments)])).digest()[:_DIGEST_BYTES]
        made = self._made.get(call, 0)
        self._made[call] = made + 1
        digest = sha256(self._root + call + made.to_bytes(8, "big")).digest()
        chance = (int.from_bytes(digest[:8], "big") >> (64 - _CHANCE_BITS)) / 2**_CHANCE_BITS
        return self.failure_at(chance)

    def failure_at(self, chance: float) -> InjectedFailure | None:
        """Tell how a call of this number in [0, 1) fails; None where it does not."""
        if chance >= self._law.rate:
            return None
        kinds = [(kind, width) for kind in LOOKS if (width := self._law.kinds.get(kind, 0.0)) > 0]
        if not kinds:  # it names none but those of another version
            return None
        place, low = chance / self._law.rate, 0.0
        for kind, width in kinds[:-1]:
            if place < low + width:
                return self._failure(kind, (place - low) / width)
            low += width
        kind, width = kinds[-1]  # to the end, which a sum of floats may miss
        return self._failure(kind, (place - low) / width)

    def _failure(self, kind: FailureKind, place: float) -> InjectedFailure:
        look = LOOKS[kind]
        text, place = _pick(look.texts, place)
        seconds, place = _pick(look.seconds, place)
        least, most = look.delay
        return InjectedFailure(
            kind=kind,
            text=text.replace("{seconds}", str(seconds)),
            delay_seconds=least + place * (most - least) if self._law.delay else 0.0,
        )

    async def wait(self, seconds: float, cancellation: Cancellation | None) -> None:
        """Let at most so many seconds of a failure pass, although the caller goes.

        A cancelled request ends it, and so does :meth:`hurry`.
        """
        if self._is_over or seconds <= 0:
            return
        with anyio.CancelScope(shield=True) as scope:
            self._delays.add(scope)
            try:
                if cancellation is not None:
                    cancellation.attach(scope)
                await self._sleep(seconds)
            finally:
                self._delays.remove(scope)

    def hurry(self) -> None:
        """End all delays, and begin no further one: the episode is being closed."""
        self._is_over = True
        for scope in self._delays:
            scope.cancel()


def _pick(items: Sequence[Item], place: float) -> tuple[Item, float]:
    """Take the item at a place in [0, 1), and tell the place within the item's share."""
    x = min(place, 1.0) * len(items)  # the last kind's share may end below 1, by a sum of floats
    index = min(int(x), len(items) - 1)
    return items[index], x - index
