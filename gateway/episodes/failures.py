"""Failures on purpose: which calls of an episode fail, how, and what the agent reads then.

A tool fails whatever it is, gold or distractor: the law is one for the whole episode, and no text tells
which tool failed. Whether a call fails follows from the episode's seed, the call itself and how often it was
made before, not from what else runs. Knows calls and chances; knows neither servers nor records.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

import anyio

from astra_mcp.call_record import FailureKind
from astra_mcp.mcp.request_context import Cancellation
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonValue, ServerKind, canonical_json
from gateway.api.settings import DEFAULT_RATE, FailureScope
from gateway.api.wire import NO_FAILURES, USUAL_KINDS, FailureLaw, FailureRequest

__all__ = [
    "DELAYS",
    "FailureDefaults",
    "FailurePlan",
    "InjectedFailure",
]

DELAYS: Mapping[FailureKind, tuple[float, float]] = {
    FailureKind.TIMEOUT: (5.0, 15.0),
    FailureKind.UNREACHABLE: (0.5, 3.0),
    FailureKind.RATE_LIMITED: (0.05, 0.3),
    FailureKind.SERVER_ERROR: (0.1, 2.0),
}
"""Least and most seconds that a failure takes, where it takes its time."""
SECONDS: Mapping[FailureKind, Sequence[int]] = {
    FailureKind.TIMEOUT: (5, 10, 15, 20, 30, 60),
    FailureKind.UNREACHABLE: (0,),
    FailureKind.RATE_LIMITED: (1, 2, 5, 10, 15, 20, 30, 60),
    FailureKind.SERVER_ERROR: (5, 10, 30, 60),
}
"""What stands for ``{seconds}``: the client's deadline, or the wait that the service asks for."""
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
TEXTS: Mapping[FailureKind, Sequence[str]] = {
    FailureKind.TIMEOUT: _TIMEOUT,
    FailureKind.UNREACHABLE: _UNREACHABLE,
    FailureKind.RATE_LIMITED: _RATE_LIMITED,
    FailureKind.SERVER_ERROR: _SERVER_ERROR,
}
_DIGEST_BYTES = 16
_CHANCE_BITS = 53
"""As many as a float holds."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDefaults:
    """What holds where a request does not say how its episode fails."""

    rate: float = DEFAULT_RATE
    scope: FailureScope = FailureScope.EMULATED

    def law(self, asked: FailureRequest | None, servers: Iterable[ServerKind]) -> FailureLaw:
        """Decide on the law of an episode; what a request says wins.

        Args:
            asked: By the request.
            servers: Kinds of the servers of the episode's source.
        """
        if asked is None:
            applies = self.scope is FailureScope.ALL or ServerKind.EMULATOR in servers
            return NO_FAILURES.model_copy(update={"rate": self.rate}) if applies else NO_FAILURES
        weights = USUAL_KINDS if asked.kinds is None else asked.kinds
        total = sum(weights.values())
        kinds = {kind: weights.get(kind, 0.0) / total for kind in FailureKind}
        return FailureLaw(rate=asked.rate, kinds=kinds, delay=asked.delay)


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
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Begin with the first call of an episode.

        Args:
            law: Of the episode.
            seed: Of the episode.
            sleep: Lets seconds pass.
        """
        self._law = law
        self._root = derive_seed(seed, "failures").to_bytes(8, "big")
        self._sleep = sleep
        self._made: dict[bytes, int] = {}
        """How often each call was made, by its digest."""
        self._delays: set[anyio.CancelScope] = set()
        self._is_over = False

    def draw(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue]
    ) -> InjectedFailure | None:
        """Count a call, and tell how it fails; None where it goes to its server.

        Args:
            server: By its name in the catalog.
            tool: By its own name there.
            arguments: As the agent gave them.
        """
        call = sha256(canonical_json([server, tool, dict(arguments)])).digest()[:_DIGEST_BYTES]
        made = self._made.get(call, 0)
        self._made[call] = made + 1
        digest = sha256(self._root + call + made.to_bytes(8, "big")).digest()
        chance = (int.from_bytes(digest[:8], "big") >> (64 - _CHANCE_BITS)) / 2**_CHANCE_BITS
        return self.failure_at(chance)

    def failure_at(self, chance: float) -> InjectedFailure | None:
        """Tell how a call of this number fails; None where it does not.

        Args:
            chance: In [0, 1).
        """
        if chance >= self._law.rate:
            return None
        place, low = chance / self._law.rate, 0.0
        kinds = [(kind, width) for kind in FailureKind if (width := self._law.kinds[kind]) > 0]
        for kind, width in kinds[:-1]:
            if place < low + width:
                return self._failure(kind, (place - low) / width)
            low += width
        kind, width = kinds[-1]  # to the end, which a sum of floats may miss
        return self._failure(kind, (place - low) / width)

    def _failure(self, kind: FailureKind, place: float) -> InjectedFailure:
        text, place = _pick(TEXTS[kind], place)
        seconds, place = _pick(SECONDS[kind], place)
        least, most = DELAYS[kind]
        return InjectedFailure(
            kind=kind,
            text=text.replace("{seconds}", str(seconds)),
            delay_seconds=least + place * (most - least) if self._law.delay else 0.0,
        )

    async def wait(self, seconds: float, cancellation: Cancellation | None) -> None:
        """Let the time of a failure pass, whatever becomes of the caller; :meth:`hurry` ends it.

        Args:
            seconds: At most.
            cancellation: Ends it where the client has cancelled its request.
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
