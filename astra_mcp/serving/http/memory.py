"""What a process that serves does about its memory and its threads, so that no step of its loop takes long.

Everything stops while Python looks for objects that refer to each other and to which nothing else refers,
1 to 1.4 µs for each object that there is. So new ones are looked at soon, and where many outlive a look they
are set aside; what becomes garbage among them waits until nobody wants anything. The C library
keeps what a burst of large requests once needed. Both follow from requests: where nobody wants anything,
nothing is done. Knows the interpreter and glibc alone; other C libraries give back by themselves.
"""

import asyncio
import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from astra_mcp.headroom import is_bounded

__all__ = ["Housekeeping", "be_sparing", "give_back", "keeping_house"]

_NEW_OBJECTS = 2_000
"""After so many the youngest objects are looked at. With 20,000 garbage piles up, and memory that is level
otherwise rises by 6 % in thousands of episodes."""
_MIDDLE, _LATER = 0, 0
"""With these all that is not set aside is looked at after 6,000 new objects."""
_MANY_OBJECTS = 12_000
"""What outlives a look is set aside where it is more: a look at half as many more takes 15 to 30 ms. With
6,000 a gateway at work sets the sessions of the moment aside again and again, whose garbage is not found."""
_LOOKS = 45
"""After so many, of 270,000 new objects at least, it is seen how much more memory is in use."""
_WORTH_QUIET, _WORTH_WORK = 500_000, 8_000_000
"""So many more blocks of memory, of some 60 bytes, are worth a look at all in a quiet moment; amid work."""
_OLDEST = 2
QUIET_SECONDS = 1.0
"""A gateway of which nobody has wanted anything for so long is looked through now rather than later."""
GIVE_BACK_SECONDS = 20.0
_SWITCH_SECONDS = 0.0001
"""A thread that computes keeps others waiting so long (Python: 0.005) whenever they have let go of the
interpreter's lock, as each system call does: of these a step of the event loop makes dozens."""
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


def _set_aside() -> None:
    """Set aside all that there is; the collector begins to count from nothing."""
    gc.freeze()
    gc.collect()  # it waits for a quarter more than the last look at all found


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
        self._looks = 0
        """Since it was last seen how much memory is in use."""
        self._known = sys.getallocatedblocks()
        """Blocks of memory in use after the last look at all; to count what is set aside takes 90 ms."""
        self._looking: asyncio.TimerHandle | None = None
        self._giving: asyncio.TimerHandle | None = None

    def hear_end(self) -> None:
        """A request is answered: see to what it may have left behind, before long."""
        if self._giving is None:
            loop = asyncio.get_running_loop()
            self._giving = loop.call_later(GIVE_BACK_SECONDS, self._give_back)
        if self._looks >= _LOOKS and self._looking is None:
            self._looks = 0
            more = sys.getallocatedblocks() - self._known
            if more >= _WORTH_WORK:
                self._look_at_all()
            elif more >= _WORTH_QUIET:
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
            self._look_at_all()
        elif self._looks < _LOOKS:
            self._await_quiet()  # else it is seen at the end of what is under way

    def _look_at_all(self) -> None:
        gc.unfreeze()
        gc.collect()
        _set_aside()
        self._known = sys.getallocatedblocks()
        self._looks = 0

    def hear_collection(self, phase: str, info: dict[str, int]) -> None:
        """Set aside what would make looks long; the garbage collector tells of each look."""
        if info["generation"] < _OLDEST or phase == "start":
            return
        self._looks += 1
        # Counted within one call of the interpreter: a list of all objects that lived on while another thread
        # runs would break what that thread builds, such as a tuple of a generator (SystemError).
        [outlived] = map(len, map(gc.get_objects, (_OLDEST,)))
        if outlived > _MANY_OBJECTS:
            gc.freeze()

    def close(self) -> None:
        """Do nothing more."""
        for timer in (self._looking, self._giving):
            if timer is not None:
                timer.cancel()


@contextmanager
def keeping_house(activity: Callable[[], int | None]) -> Generator[Housekeeping]:
    """Keep house as suits a process that serves, while the context is open.

    What the program is made of is set aside.

    Args:
        activity: Answers how many requests there were so far; None while one is under way.
    """
    be_sparing()
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    _set_aside()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_NEW_OBJECTS, _MIDDLE, _LATER)
    house = Housekeeping(activity)
    gc.callbacks.append(house.hear_collection)
    house.hear_end()  # of the start, which leaves much behind
    try:
        yield house
    finally:
        house.close()
        gc.callbacks.remove(house.hear_collection)
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
        gc.unfreeze()
