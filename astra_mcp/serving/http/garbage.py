"""How a process that serves looks for garbage: seldom, and never long at what has proved to live.

Everything stops while Python looks for objects that refer to each other and to which nothing else refers. In
a gateway with thousands of sessions that would take a second, again and again, to find next to nothing:
nearly all objects are freed without it. Knows the garbage collector alone.
"""

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio

__all__ = ["MANY", "SetAside", "collecting_seldom", "look_when_quiet"]

_NEW_OBJECTS = 5_000
"""After so many the youngest objects are looked at. With four times as many garbage piles up, and memory that
is level otherwise rises by 6 % in thousands of episodes; with these by 1 to 2 %."""
_OLDER = (4, 2)
"""How often before the next two generations are looked at. Malformed requests leave exceptions that refer to
themselves: with the default (10, 10) those of 2,000,000 objects would wait for it, in hundreds of MiB."""
_OLDEST = 2
_PATIENCE = 2
"""So many times more than when a look at all was due are set aside, until it is taken amid work."""
MANY = 200_000
"""Objects of which a look takes about 0.3 s; a thousand sessions have as many."""
QUIET_SECONDS = 1.0
"""A gateway of which nobody has wanted anything for so long is looked through now rather than later."""


class SetAside:
    """What is not looked at each time."""

    def __init__(self, many: int) -> None:
        self._many = many
        self._num_proved = gc.get_freeze_count()
        self._looks_at_all = False

    @property
    def is_due(self) -> bool:
        """True where so much is set aside that some of it may be garbage by now."""
        return gc.get_freeze_count() > 2 * self._most_proved

    @property
    def _most_proved(self) -> int:
        return max(self._num_proved, 2 * self._many)

    def look(self) -> None:
        """Look at all now, and set aside what proves to live."""
        self._take_back()
        gc.collect()

    def _take_back(self) -> None:
        gc.unfreeze()
        self._looks_at_all = True

    def hear(self, phase: str, info: dict[str, int]) -> None:
        """Set aside what outlived a look; the garbage collector tells of each, before and after it."""
        if phase == "start" or info["generation"] < _OLDEST:
            return
        if self._looks_at_all:
            gc.freeze()
            self._num_proved = gc.get_freeze_count()
            self._looks_at_all = False
        elif len(gc.get_objects(_OLDEST)) > self._many:
            gc.freeze()
            if gc.get_freeze_count() > 2 * _PATIENCE * self._most_proved:
                self._take_back()


@contextmanager
def collecting_seldom(*, many: int = MANY) -> Generator[SetAside]:
    """Look for garbage as suits a process that serves, while the context is open.

    What the program is made of is set aside. Where more than ``many`` objects outlive a look at all others,
    they are set aside as well. Once twice as many are set aside as had proved to live when all were looked at
    last, and at least four times ``many``, a look at all is due: some of them may be garbage by then. It is
    for :func:`look_when_quiet`; with twice as many again it is taken at once.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *_OLDER)
    set_aside = SetAside(many)
    gc.callbacks.append(set_aside.hear)
    try:
        yield set_aside
    finally:
        gc.callbacks.remove(set_aside.hear)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


async def look_when_quiet(
    set_aside: SetAside, activity: Callable[[], int | None], *, seconds: float = QUIET_SECONDS
) -> None:
    """Look at all when that is due and nobody waits for an answer; runs until it is cancelled.

    Args:
        set_aside: From :func:`collecting_seldom`.
        activity: Answers how many requests there were so far; None while one is under way.
        seconds: So long none must have come.
    """
    while True:
        before = activity()
        await anyio.sleep(seconds)
        if before is not None and activity() == before and set_aside.is_due:
            set_aside.look()
