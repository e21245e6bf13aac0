"""Structured concurrency in few words: fan out over items, finish what was begun, be done by a deadline."""

import asyncio
import logging
import time
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from astra_mcp.errors import BudgetSpentError

__all__ = [
    "BackOff",
    "LocksByName",
    "Pace",
    "Timer",
    "completed",
    "completed_at_once",
    "drop_in_slices",
    "in_turns",
    "map_concurrently",
    "run_in_background",
    "shielded",
    "within",
]

Item = TypeVar("Item")
Result = TypeVar("Result")
_Params = ParamSpec("_Params")

_log = logging.getLogger(__name__)


async def map_concurrently(
    function: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, limit: int
) -> list[Result]:
    """Await ``function`` for every item, at most ``limit`` at once; results in the items' order.

    The first exception cancels the rest and propagates as it is raised, not as a group. A budget that is
    spent cancels nothing: no further item is begun, and what is under way, which is paid for, comes to its
    end before the error propagates.
    """
    rows = list(items)
    if len(rows) == 1 and limit >= 1:
        return [await function(rows[0])]  # as most turns of an agent have it: one call
    results: dict[int, Result] = {}
    failure: list[Exception] = []
    spent: list[BudgetSpentError] = []
    limiter = anyio.CapacityLimiter(limit)
    turns = _Turns()

    async def run(index: int, item: Item) -> None:
        async with limiter:
            await turns.take()
            if spent:
                return
            try:
                results[index] = await function(item)
            except BudgetSpentError as error:
                spent.append(error)
            except Exception as error:  # noqa: BLE001 - re-raised below, outside of the group
                failure.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        async for index, item in in_turns(enumerate(rows)):
            group.start_soon(run, index, item)
    if failure or spent:
        raise (failure or spent)[0]
    return [results[i] for i in range(len(rows))]


_TURN_SECONDS = 0.005
_DROPPED_AT_ONCE = 50
_WORK_SECONDS, _REST_SECONDS = 0.001, 0.002


class _Turns:
    """Of tasks that begin their work: together they take 5 ms of a round of the event loop."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def take(self) -> None:
        """Wait for a round in which there is time left."""
        while time.perf_counter() - (began := self._began) > _TURN_SECONDS:
            await anyio.lowlevel.checkpoint()
            if self._began == began:  # the first of a new round
                self._began = time.perf_counter()


async def in_turns(items: Iterable[Item]) -> AsyncGenerator[Item]:
    """Go through items each of which is some work, and let others have their turn whenever 5 ms have gone."""
    began = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - began > _TURN_SECONDS:
            await anyio.lowlevel.checkpoint()
            began = time.perf_counter()


class Pace:
    """Lets a thread that computes for long rest for two thirds of the time.

    While it computes, each system call of the event loop waits for the interpreter's lock behind it; with 64
    episodes at work these are hundreds in a step.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def keep(self) -> None:
        """Rest where this thread has worked for a millisecond."""
        if time.perf_counter() - self._began > _WORK_SECONDS:
            time.sleep(_REST_SECONDS)
            self._began = time.perf_counter()


def drop_in_slices(*held: list[Any]) -> None:
    """Empty lists whose many objects nobody else holds, and let other threads have their turn between slices.

    To be called in a thread: what goes with the last reference goes at once, and holds everything up.
    """
    pace = Pace()
    for objects in held:
        while objects:
            del objects[-_DROPPED_AT_ONCE:]
            pace.keep()


def run_in_background(
    tasks: TaskGroup,
    work: Callable[_Params, Awaitable[None]],
    *args: _Params.args,
    **kwargs: _Params.kwargs,
) -> None:
    """Start a task for which nobody waits: its exceptions are logged, and end nothing else.

    Args:
        tasks: Own the task.
        work: Bounds its own time, or ends when the group is cancelled.
        args: Of the work.
        kwargs: Of the work.
    """

    async def run() -> None:
        try:
            await work(*args, **kwargs)
        except Exception:  # noqa: BLE001 - the task group would end with it, and what owns the group
            _log.exception("%s failed", getattr(work, "__qualname__", work))

    tasks.start_soon(run)


@contextmanager
def shielded() -> Generator[None]:
    """Hold a cancellation back until the block is left; the block must have deadlines of its own."""
    with anyio.CancelScope(shield=True):
        yield


async def completed(work: Awaitable[Result]) -> Result:
    """Await to the end, although the caller is cancelled meanwhile; the work bounds its own time."""
    with shielded():
        return await work


async def completed_at_once(work: Coroutine[Any, Any, Result]) -> Result:
    """Await as :func:`completed` does, at no cost where the work is done without waiting.

    Args:
        work: Opens no cancel scope of its own before it waits: its first step is taken outside of the shield.
    """
    try:
        waiting = work.send(None)
    except StopIteration as end:
        return end.value
    with shielded():
        return await _rest_of(work, waiting)


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


class LocksByName:
    """A lock for each name, for as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._locks: dict[str, tuple[anyio.Lock, int]] = {}
        """With how many hold it or wait for it."""

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncGenerator[None]:
        """Do what the block does while nobody else does it under this name."""
        lock, count = self._locks.get(name, (anyio.Lock(), 0))
        self._locks[name] = lock, count + 1
        try:
            async with lock:
                yield
        finally:
            lock, count = self._locks.pop(name)
            if count > 1:
                self._locks[name] = lock, count - 1


class BackOff:
    """Pauses between attempts, each a multiple of the one before, up to the longest."""

    __slots__ = ("_factor", "_first", "_longest", "_next")

    def __init__(self, first: float, longest: float, *, factor: float = 2) -> None:
        """Begin with the first.

        Args:
            first: In seconds.
            longest: Likewise.
            factor: From one to the next.
        """
        self._first = self._next = first
        self._longest = longest
        self._factor = factor

    def next(self) -> float:
        """How long to wait now."""
        pause, self._next = self._next, min(self._factor * self._next, self._longest)
        return pause

    def reset(self) -> None:
        """An attempt went well: begin with the first again."""
        self._next = self._first


class Timer:
    """Rings at a time that is set anew far more often than it is reached.

    The event loop's timer is left where it stands when the time is moved or cleared, and looks at it when it
    comes: a timer for each time would be an entry in the loop's heap for each.
    """

    __slots__ = ("_at", "_due", "_ring", "_timer")

    def __init__(self, ring: Callable[[], object]) -> None:
        """Ring nothing yet.

        Args:
            ring: Called by the event loop when the time has come; the alarm is cleared then.
        """
        self._ring = ring
        self._at: float | None = None
        self._due = 0.0
        """When the timer comes; loops round what their timers say of it."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """True where it will ring."""
        return self._at is not None

    def set(self, at: float) -> None:
        """Ring at a time of the event loop's clock, and not before."""
        self._at = at
        if self._timer is not None and self._due > at:
            self._stop()
        if self._timer is None:
            self._due = at
            self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def clear(self) -> None:
        """Do not ring."""
        self._at = None

    def close(self) -> None:
        """Do not ring, and take the timer away; it can be set again."""
        self._at = None
        self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._at is None:
            return
        if self._at > self._due:
            self.set(self._at)
            return
        self._at = None
        self._ring()
