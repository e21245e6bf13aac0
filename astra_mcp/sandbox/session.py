"""One episode's process as the host holds it: calls with a hard deadline, and a certain end.

The same for every backend; what differs is the :class:`SessionProcess` that is killed.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol, cast

import anyio
import orjson

from astra_mcp.concurrency import Timer, shielded
from astra_mcp.errors import SandboxDiedError, SandboxLostError
from astra_mcp.sandbox.channel import (
    Channel,
    ChannelClosedError,
    InterruptedWaitError,
    OversizedMessageError,
)
from astra_mcp.sandbox.deadline import ExtensibleDeadline, StarvedError
from astra_mcp.sandbox.protocol import Raised, Returned, SandboxLimits
from astra_mcp.sandbox.replies import MalformedReplyError, head_limit, parse_call
from astra_mcp.types import JsonValue

__all__ = ["ProcessSession", "SessionProcess"]

_CALL_BYTES = 8
_DRAWN_BYTES = 512 * _CALL_BYTES
_CLOSED = "the session is closed"
_ENDED = (
    "the tool ended its own process: it exited, crashed, or used up its memory or processor time"
)
_MALFORMED = "the tool tampered with its process and was stopped"
_LOST = "the sandbox ended while it ran the tool"
_LOST_IDLE = "the process ended while no tool ran in it"
_ABANDONED = "the call was abandoned and the tool was stopped"


class SessionProcess(Protocol):
    """The process behind a session, as the kernel or the parent vouches for it."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    def kill(self) -> None:
        """Kill at once; a process that is gone is left alone."""
        ...

    async def wait_gone(self) -> None:
        """Wait until it has exited after a kill, and release what names it."""
        ...


class ProcessSession:
    """A :class:`~astra_mcp.sandbox.protocol.SandboxSession` over a channel and a process."""

    def __init__(
        self,
        channel: Channel,
        process: SessionProcess,
        limits: SandboxLimits,
        *,
        on_closed: Callable[["ProcessSession"], None],
        is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        """Hold a process.

        Args:
            channel: Reaches the process.
            process: What is killed.
            limits: Bounds of each call.
            on_closed: Told when the process is gone.
            is_lost: Tells whether whatever keeps the process alive has ended, which ends it too.
        """
        self._channel = channel
        channel.read_ahead()
        self._process = process
        self._limits = limits
        self._head_limit = head_limit(limits.output_bytes)
        self._on_closed = on_closed
        self._turn = anyio.Lock(fast_acquire=True)
        self._deadline = Timer(channel.interrupt)
        self._is_lost = is_lost
        self._death: SandboxDiedError | SandboxLostError | None = None
        self._released = False
        self.num_calls = 0
        """That it was asked so far."""

    @property
    def pid(self) -> int:
        """Id of the process, for whoever looks at the machine."""
        return self._process.pid

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way."""
        return self._turn.locked()

    async def call(self, function: str, arguments: Mapping[str, JsonValue]) -> Returned | Raised:
        """Call a function; see :meth:`astra_mcp.sandbox.protocol.SandboxSession.call`."""
        async with self._turn:
            if self._death is not None:
                raise self._death
            outcome: Returned | Raised | str = _ABANDONED
            # Not to be guessed: a reply that was written before its call was asked fits none.
            call = next(_names)
            self.num_calls += 1
            patience = ExtensibleDeadline(
                self._limits.hard_seconds, self._channel, self._process.pid
            )
            try:
                self._channel.post(_call_of(function) % (call.encode(), _encode(arguments)))
                outcome = await self._attempt(call, patience)
            except ChannelClosedError:
                self.lose(_LOST_IDLE)
            finally:
                if isinstance(outcome, str):
                    self._end(SandboxDiedError(outcome))
            if self._death is not None:
                raise self._death
            return cast("Returned | Raised", outcome)

    async def _attempt(self, call: str, patience: ExtensibleDeadline) -> Returned | Raised | str:
        """Wait for a posted call; answers the reason why the process must die where it failed."""
        try:
            while self._death is None:
                self._deadline.set(patience.deadline)
                try:
                    return await self._take_answer(call)
                except InterruptedWaitError:
                    over = patience.extend() if self._death is None else None
                if over is not None:
                    raise over
        except TimeoutError:
            return f"the tool ran longer than {self._limits.hard_seconds:g} s and was stopped"
        except StarvedError as error:
            self.lose(str(error))
        except ChannelClosedError:
            if self._is_lost():
                self.lose(_LOST)
            return _ENDED
        except (OversizedMessageError, MalformedReplyError):
            return _MALFORMED  # an honest loop sends an error instead of too much
        finally:
            self._deadline.clear()
        return _ABANDONED

    async def _take_answer(self, call: str) -> Returned | Raised:
        """Wait for the answer to a posted call; can be interrupted and gone on with."""
        limits = self._limits
        if not self._channel.is_flushed:
            await self._channel.flush()
        message = await self._channel.receive(
            head_limit=self._head_limit, body_limit=limits.result_bytes
        )
        return parse_call(message, call=call, output_bytes=limits.output_bytes)

    def kill(self, reason: str) -> None:
        """Kill the process for what its tool code did; the first reason is what callers are told."""
        self._end(SandboxDiedError(reason))

    def lose(self, reason: str) -> None:
        """Kill the process for no fault of its tool code; the first reason is what callers are told."""
        self._end(SandboxLostError(reason))

    def _end(self, death: SandboxDiedError | SandboxLostError) -> None:
        if self._death is None:
            self._death = death
            self._process.kill()
        self._channel.interrupt()

    async def aclose(self) -> None:
        """Kill the process and wait until it is gone; closing twice is allowed."""
        self.kill(_CLOSED)
        with shielded():
            async with self._turn:
                if self._released:
                    return
                self._released = True
                self._deadline.close()
                self._channel.close()
                await self._process.wait_gone()
                self._on_closed(self)


def _random_names() -> Iterator[str]:
    """Name calls by numbers that nothing which came before tells, drawn from the kernel by the page."""
    while True:
        page = secrets.token_bytes(_DRAWN_BYTES)
        for begin in range(0, _DRAWN_BYTES, _CALL_BYTES):
            yield page[begin : begin + _CALL_BYTES].hex()


_names = _random_names()


@lru_cache
def _call_of(function: str) -> bytes:
    """The body of a call, with places for its name and its arguments."""
    name = json.dumps(function).replace("%", "%%").encode()
    return b'["%b",' + name + b",%b]"


def _encode(arguments: Mapping[str, JsonValue]) -> bytes:
    try:
        return orjson.dumps(arguments)
    except TypeError:
        # Escaped ASCII carries even lone surrogates and long integers to the tool.
        return json.dumps(dict(arguments)).encode()
