"""Whose turn it is at an endpoint: of the calls that wait, the one of the lowest rank."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from heapq import heapify, heappop, heappush
from itertools import count

import anyio

__all__ = ["Turns", "ranked"]

_rank: ContextVar[int] = ContextVar("rank", default=0)


@contextmanager
def ranked(rank: int) -> Generator[None]:
    """Give calls of models in the block, and in the tasks that it starts, their turn before higher ranks."""
    token = _rank.set(rank)
    try:
        yield
    finally:
        _rank.reset(token)


class Turns:
    """So many calls at once; the others wait by rank, and within one rank in the order in which they came."""

    def __init__(self, places: int) -> None:
        """Begin with all places free."""
        self._free = places
        self._numbers = count()
        self._waiting: list[tuple[int, int, anyio.Event]] = []

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Hold a place while in the block."""
        if self._free:
            self._free -= 1
        else:
            await self._wait()
        try:
            yield
        finally:
            self._leave()

    async def _wait(self) -> None:
        given = anyio.Event()
        entry = (_rank.get(), next(self._numbers), given)
        heappush(self._waiting, entry)
        try:
            await given.wait()
        except BaseException:
            if given.is_set():
                self._leave()
            else:
                self._waiting.remove(entry)
                heapify(self._waiting)
            raise

    def _leave(self) -> None:
        if self._waiting:
            heappop(self._waiting)[2].set()
        else:
            self._free += 1
