"""How late the event loop of this process is: what one piece of work makes everything else wait.

While requests come, a task wishes to be woken 100 times a second. It measures how much later it is, and what
processor time the process took meanwhile: on a machine that others use, the first alone is theirs as well.
Where nobody asks for anything the task sleeps.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

__all__ = ["BEAT_SECONDS", "LatenessWatch"]

BEAT_SECONDS: Final = 0.01
_BEATS = 200
"""So many beats after the last request, two seconds, the watch goes on."""


@dataclass(slots=True, eq=False)
class LatenessWatch:
    """Measures while it is stirred."""

    _observe: Callable[[float, float], None]
    """Told at each beat how late it came and how long its longest step was at most, in seconds.

    The step is one of the event loop since the beat before. It took neither longer than the beat was late and
    a beat, nor more of the processor than the process did in all its threads; the less of both is told.
    """
    _is_stirred: bool = field(default=False, init=False)
    _wake: anyio.Event | None = field(default=None, init=False)
    """Set where the watch sleeps."""

    def stir(self) -> None:
        """Say that somebody asks for something; costs nearly nothing."""
        self._is_stirred = True
        if self._wake is not None:
            self._wake.set()

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            if not self._is_stirred:
                self._wake = anyio.Event()
                await self._wake.wait()
                self._wake = None
            self._is_stirred = False
            for _ in range(_BEATS):
                due, used = anyio.current_time() + BEAT_SECONDS, time.process_time()
                await anyio.sleep_until(due)
                late = max(0.0, anyio.current_time() - due)
                self._observe(late, min(late + BEAT_SECONDS, time.process_time() - used))
