"""How late the event loop of this process is: what one piece of work makes everything else wait.

While requests come, a timer is set 100 times a second, and tells how much later it came: so long everything
waited, be it for one long step of the loop or for many short ones. A step ends before the timer's and before
that in which a request begins: none was longer than the longest time between two of these, nor took more of
the processor than the process did in it, which leaves out what other programs of the machine take. Where
nobody asks for anything no timer is set.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import sub
from typing import Final

__all__ = ["BEAT_SECONDS", "LatenessWatch"]

BEAT_SECONDS: Final = 0.01
_BEATS = 200
"""So many beats after the last request, two seconds, the watch goes on."""


@dataclass(slots=True, eq=False)
class LatenessWatch:
    """Measures while it is stirred, until it is closed."""

    _observe: Callable[[float, float], None]
    """Told at each beat how late it came, and how long the longest step before it was at most, in seconds."""
    _beats_left: int = field(default=0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _longest: float = field(default=0.0, init=False)
    _began: tuple[float, float] = field(default=(0.0, 0.0), init=False)
    """When the step under way began at the earliest, by the clock and by the processor."""

    def stir(self) -> None:
        """Say that a request begins, and a step of the event loop with it; costs nearly nothing."""
        self._beats_left = _BEATS
        if self._timer is None:
            self._began = _now()
            self._set(asyncio.get_running_loop())
        else:
            self._end_step()

    def close(self) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + BEAT_SECONDS
        # A task would be woken behind all that is ready by then, and take several steps for one.
        self._timer = loop.call_at(due, self._beat, loop, due)

    def _beat(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self._end_step()
        self._observe(max(0.0, loop.time() - due), self._longest)
        self._longest = 0.0
        self._beats_left -= 1
        self._timer = None
        if self._beats_left > 0:
            self._set(loop)

    def _end_step(self) -> None:
        began, self._began = self._began, _now()
        self._longest = max(self._longest, min(map(sub, self._began, began)))


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()
