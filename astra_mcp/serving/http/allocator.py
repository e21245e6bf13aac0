"""Gives freed memory back to the system: glibc keeps what a burst of large requests once needed.

Knows the C library alone. Where it is not glibc, nothing is done: others give back of their own accord.
"""

import ctypes

import anyio
from anyio import to_thread

__all__ = ["give_back", "give_back_forever", "share_arenas"]

PAUSE_SECONDS = 20.0
_M_ARENA_MAX = -8
_MAX_ARENAS = 2
"""Each thread has an own one otherwise, and what it frees there no other thread uses."""

_libc = ctypes.CDLL(None)
_trim = getattr(_libc, "malloc_trim", None)
_set_option = getattr(_libc, "mallopt", None)


def share_arenas() -> None:
    """Let threads share their memory; to be called before they begin."""
    if _trim is not None and _set_option is not None:
        _set_option(_M_ARENA_MAX, _MAX_ARENAS)


def give_back() -> None:
    """Give back what is free now."""
    if _trim is not None:
        _trim(0)


async def give_back_forever() -> None:
    """Give back every now and then, in another thread."""
    while True:
        await anyio.sleep(PAUSE_SECONDS)
        await to_thread.run_sync(give_back)
