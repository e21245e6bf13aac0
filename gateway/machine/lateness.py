"""How late the event loop of this process is: what one piece of work makes everything else wait.

While requests come, a timer is set 100 times a second. It tells how much later it came, and what processor
time the process took meanwhile: on a machine that others use, the first alone is theirs as well. Where nobody
asks for anything no timer is set.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["BEAT_SECONDS", "LatenessWatch"]

BEAT_SECONDS: Final = 0.01
_BEATS = 200
"""So many beats after the last request, two seconds, the watch goes on."""


@dataclass(slots=True, eq=False)
class LatenessWatch:
    """Measures while it is stirred, until it is closed."""

    _observe: Callable[[float, float], None]
    """Told at each beat how late it came and how long its longest step was at most, in seconds.

    The step is one of the event loop since the beat before. It took neither longer than the beat was late and
    a beat, nor more of the processor than the process did in all its threads; the less of both is told.
    """
    _beats_left: int = field(default=0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _used: float = field(default=0.0, init=False)
    """Of the processor, when the timer was set."""

    def stir(self) -> None:
        """Say that somebody asks for something; costs nearly nothing."""
        self._beats_left = _BEATS
        if self._timer is None:
            self._set(asyncio.get_running_loop())

    def close(self) -> None:
        """Measure no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self._used = time.process_time()
        due = loop.time() + BEAT_SECONDS
        # A task would be woken behind all that is ready by then, and take several steps for one.
        self._timer = loop.call_at(due, self._beat, loop, due)

    def _beat(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        late = max(0.0, loop.time() - due)
        self._observe(late, min(late + BEAT_SECONDS, time.process_time() - self._used))
        self._beats_left -= 1
        self._timer = None
        if self._beats_left > 0:
            self._set(loop)
