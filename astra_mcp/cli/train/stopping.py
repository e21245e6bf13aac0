"""How a run of training is stopped by signals: its step is finished and saved."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from threading import Event

import anyio

from astra_mcp.report.console import ExitCode, say

__all__ = ["hearing_signals"]


@asynccontextmanager
async def hearing_signals(stop: Event) -> AsyncGenerator[None]:
    """Ask for the end at the first signal; the second one leaves at once, as a kill does."""

    async def hear() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                if stop.is_set():
                    say.print("left at once: the newest checkpoint is as it was")
                    os._exit(ExitCode.STOPPED)
                stop.set()
                say.print("the step under way is finished and saved; once more leaves at once")

    async with anyio.create_task_group() as group:
        group.start_soon(hear)
        yield
        group.cancel_scope.cancel()
