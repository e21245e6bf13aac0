"""How late the event loop of this process is: what one piece of work makes everything else wait.

While requests come, a task wishes to be woken 50 times a second and measures how much later it is. A step of
the loop that takes longer than that is seen in its length, less a fiftieth of a second at most. Where nobody
asks for anything the task sleeps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

__all__ = ["BEAT_SECONDS", "LatenessWatch"]

BEAT_SECONDS: Final = 0.02
_BEATS = 100
"""So many beats after the last request, two seconds, the watch goes on."""


@dataclass(slots=True, eq=False)
class LatenessWatch:
    """Measures while it is stirred."""

    _observe: Callable[[float], None]
    """Told at each beat how late it came, in seconds."""
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
                due = anyio.current_time() + BEAT_SECONDS
                await anyio.sleep_until(due)
                self._observe(max(0.0, anyio.current_time() - due))
