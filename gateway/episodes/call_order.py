"""The order of an episode's calls where the caller states it by ``seq``.

An agent that sends several calls at once numbers them from 0 without gaps; whatever order the network
delivers them in, they are taken in by number. A call without a number is taken in at its arrival.
"""

import anyio

from astra_mcp.errors import CallFaultError

__all__ = ["SEQ_WAIT_SECONDS", "CallOrder"]

SEQ_WAIT_SECONDS = 30.0
"""How long a call waits for the calls before it."""


class CallOrder:
    """Hands out turns in the order of the numbers."""

    def __init__(self, wait_seconds: float = SEQ_WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
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
        with anyio.move_on_after(self._wait_seconds) as scope:
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
            msg = f"seq {seq} was already used; the next one is {self._next}"
            raise CallFaultError(msg)

    def reopen(self, seq: int) -> None:
        """Mark a number whose call an earlier life began and did not finish; later ones wait for it."""
        self._next = max(self._next, seq + 1)
        self._unfinished.add(seq)

    def take(self, seq: int) -> None:
        """Mark a number as taken and let the next one go; no await may lie before the call starts."""
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
