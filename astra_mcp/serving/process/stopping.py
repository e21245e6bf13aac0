"""What asks a serving process to stop: the first signal, and a second one that insists."""

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskStatus

__all__ = ["STOP_SIGNALS", "Stop", "hear_signals"]

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """What the user and the system asked a process for."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        """Set by the first signal."""
        self.insisted = anyio.Event()
        """Set by the second one."""
        self.by: signal.Signals | None = None
        """The first signal."""
        self.is_final = True
        """Nobody takes this process's place: who connects is told so, instead of waiting."""

    def hear(self, number: signal.Signals) -> None:
        """Take a signal."""
        if self.asked.is_set():
            self.insisted.set()
        else:
            self.by = number
            self.asked.set()


@asynccontextmanager
async def hear_signals(stop: Stop) -> AsyncGenerator[None]:
    """Hear what asks this process to stop, while the context is open."""

    async def watch(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*STOP_SIGNALS) as received:
            task_status.started()
            async for number in received:
                stop.hear(number)

    async with anyio.create_task_group() as group:
        await group.start(watch)
        yield
        group.cancel_scope.cancel()
