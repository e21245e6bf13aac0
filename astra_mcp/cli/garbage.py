"""How a process that serves looks for garbage: seldom, and never long at what has proved to live.

Everything stops while Python looks for objects that refer to each other and to which nothing else refers. In
a gateway with thousands of sessions that would take a second, again and again, to find next to nothing:
nearly all objects are freed without it. Knows the garbage collector alone.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["MANY", "collecting_seldom"]

_NEW_OBJECTS = 5_000
"""After so many the youngest objects are looked at. With four times as many garbage piles up, and memory that
is level otherwise rises by 6 % in thousands of episodes; with these by 1 to 2 %."""
_OLDER = (4, 2)
"""How often before the next two generations are looked at. Malformed requests leave exceptions that refer to
themselves: with the default (10, 10) those of 2,000,000 objects would wait for it, in hundreds of MiB."""
_OLDEST = 2
MANY = 200_000
"""Objects of which a look takes about 0.3 s; a thousand sessions have as many."""


@contextmanager
def collecting_seldom(*, many: int = MANY) -> Generator[None]:
    """Look for garbage as suits a process that serves, while the context is open.

    What the program is made of is set aside. Where more than ``many`` objects outlive a look at all others,
    they are set aside as well. Once twice as many are set aside as had proved to live when all were looked at
    last, and at least four times ``many``, all are looked at again: some of them may be garbage by then.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *_OLDER)
    set_aside = _SetAside(many)
    gc.callbacks.append(set_aside)
    try:
        yield
    finally:
        gc.callbacks.remove(set_aside)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


class _SetAside:
    """Called by the garbage collector before and after each look."""

    def __init__(self, many: int) -> None:
        self._many = many
        self._num_proved = gc.get_freeze_count()
        self._looks_at_all = False

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start" or info["generation"] < _OLDEST:
            return
        if self._looks_at_all:
            gc.freeze()
            self._num_proved = gc.get_freeze_count()
            self._looks_at_all = False
        elif len(gc.get_objects(_OLDEST)) > self._many:
            gc.freeze()
            if gc.get_freeze_count() > 2 * max(self._num_proved, 2 * self._many):
                gc.unfreeze()
                self._looks_at_all = True
