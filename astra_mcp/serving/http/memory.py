"""What a process that serves does about its memory: it looks for garbage, and gives back what is free.

Everything stops while Python looks for objects that refer to each other and to which nothing else refers.
With thousands of sessions a look at all takes a second, so it waits until nobody wants anything. The C
library keeps what a burst of large requests once needed. Both follow from requests: where nobody wants
anything, nothing is done. Knows the garbage collector and glibc alone; others give back by themselves.
"""

import asyncio
import ctypes
import gc
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from astra_mcp.headroom import is_bounded

__all__ = ["Housekeeping", "be_sparing", "give_back", "keeping_house"]

_NEW_OBJECTS = 5_000
"""After so many the youngest objects are looked at. With four times as many garbage piles up, and memory that
is level otherwise rises by 6 % in thousands of episodes; with these by 1 to 2 %."""
_MIDDLE = 4
_OFTEN, _SELDOM = 2, 80
"""How often the middle generation is looked at before all is: malformed requests leave exceptions that refer
to themselves. Where a look at all is long, it is taken amid work after 1,600,000 new objects alone."""
_DUE = 20
"""After 400,000 new objects it is worth a quiet moment."""
_LONG_SECONDS = 0.25
"""Of the processor, for a look at some 200,000 objects: a thousand sessions have as many."""
_OLDEST = 2
QUIET_SECONDS = 1.0
"""A gateway of which nobody has wanted anything for so long is looked through now rather than later."""
GIVE_BACK_SECONDS = 20.0
_M_ARENA_MAX = -8
_MAX_ARENAS = 2
"""Each thread has an own one otherwise, and what it frees there no other thread uses."""

_SMALL_STACK = 2 << 20
"""Bytes of address space for a thread where there is a limit of it; a thread takes 8 MiB otherwise."""

_libc = ctypes.CDLL(None)
_trim = getattr(_libc, "malloc_trim", None)
_set_option = getattr(_libc, "mallopt", None)


def give_back() -> None:
    """Give back what is free now."""
    if _trim is not None:
        _trim(0)


def be_sparing() -> None:
    """Take little address space for threads; what those that run already have taken stays theirs."""
    if _trim is not None and _set_option is not None:
        _set_option(_M_ARENA_MAX, 1 if is_bounded() else _MAX_ARENAS)
    if is_bounded():
        threading.stack_size(_SMALL_STACK)


class Housekeeping:
    """Does what is due after requests. Made by :func:`keeping_house`."""

    def __init__(self, activity: Callable[[], int | None]) -> None:
        self._activity = activity
        self._seen: int | None = None
        self._began = 0.0
        self._looking: asyncio.TimerHandle | None = None
        self._giving: asyncio.TimerHandle | None = None

    def hear_end(self) -> None:
        """A request is answered: see to what it may have left behind, before long."""
        if self._giving is None:
            loop = asyncio.get_running_loop()
            self._giving = loop.call_later(GIVE_BACK_SECONDS, self._give_back)
        if self._looking is None and gc.get_count()[_OLDEST] >= _DUE:
            self._await_quiet()

    def _give_back(self) -> None:
        self._giving = None
        asyncio.get_running_loop().run_in_executor(None, give_back)

    def _await_quiet(self) -> None:
        self._seen = self._activity()
        self._looking = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        now = self._activity()
        if now is not None and now == self._seen:
            gc.collect()
        elif now is not None:
            self._await_quiet()  # else the end of what is under way is heard

    def hear_collection(self, phase: str, info: dict[str, int]) -> None:
        """Look at all less often where that takes long; the garbage collector tells of each look."""
        if info["generation"] < _OLDEST:
            return
        if phase == "start":
            self._began = time.thread_time()
        else:
            is_long = time.thread_time() - self._began > _LONG_SECONDS
            gc.set_threshold(_NEW_OBJECTS, _MIDDLE, _SELDOM if is_long else _OFTEN)

    def close(self) -> None:
        """Do nothing more."""
        for timer in (self._looking, self._giving):
            if timer is not None:
                timer.cancel()


@contextmanager
def keeping_house(activity: Callable[[], int | None]) -> Generator[Housekeeping]:
    """Keep house as suits a process that serves, while the context is open.

    What the program is made of is not looked at again.

    Args:
        activity: Answers how many requests there were so far; None while one is under way.
    """
    be_sparing()
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _MIDDLE, _OFTEN)
    house = Housekeeping(activity)
    gc.callbacks.append(house.hear_collection)
    house.hear_end()  # of the start, which leaves much behind
    try:
        yield house
    finally:
        house.close()
        gc.callbacks.remove(house.hear_collection)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
