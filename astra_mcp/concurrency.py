"""Structured concurrency in few words: fan out over items, finish what was begun, be done by a deadline."""

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio

__all__ = ["completed", "map_concurrently", "shielded", "within"]

Item = TypeVar("Item")
Result = TypeVar("Result")


async def map_concurrently(
    function: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, limit: int
) -> list[Result]:
    """Await ``function`` for every item, at most ``limit`` at once; results in the items' order.

    The first exception cancels the rest and propagates as it is raised, not as a group.
    """
    rows = list(items)
    results: dict[int, Result] = {}
    failure: list[Exception] = []
    limiter = anyio.CapacityLimiter(limit)

    async def run(index: int, item: Item) -> None:
        async with limiter:
            try:
                results[index] = await function(item)
            except Exception as error:  # noqa: BLE001 - re-raised below, outside of the group
                failure.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for index, item in enumerate(rows):
            group.start_soon(run, index, item)
    if failure:
        raise failure[0]
    return [results[i] for i in range(len(rows))]


@contextmanager
def shielded() -> Generator[None]:
    """Hold a cancellation back until the block is left; the block must have deadlines of its own."""
    with anyio.CancelScope(shield=True):
        yield


async def completed(work: Awaitable[Result]) -> Result:
    """Await to the end, although the caller is cancelled meanwhile; the work bounds its own time."""
    with shielded():
        return await work


async def within(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """Await with a deadline that costs nothing where the work is done without waiting.

    Args:
        seconds: From the first time that the work waits.
        work: Opens no cancel scope of its own: its first step is taken outside of the deadline's.

    Raises:
        TimeoutError: The time is over.
    """
    try:
        waiting = work.send(None)
    except StopIteration as end:
        return end.value
    with anyio.fail_after(seconds):
        return await _rest_of(work, waiting)


@types.coroutine
def _rest_of(work: Coroutine[Any, Any, Result], waiting: Any) -> Generator[Any, Any, Result]:
    """Go on with work whose first step was taken, and which waits for ``waiting``."""
    while True:
        try:
            value = yield waiting
        except BaseException as error:  # noqa: BLE001 - the work's to handle, a cancellation too
            step, argument = work.throw, error
        else:
            step, argument = work.send, value
        try:
            waiting = step(argument)
        except StopIteration as end:
            return end.value
