"""Gives a process its time, whatever else the machine does meanwhile.

A deadline is wall time, which a busy machine gives to others: at its end, a process that was kept from
running gets the rest in processor time, and one that waits is not waited for. Knows processes by their id
and channels; does not know what is said.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio

from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.channel import Channel

__all__ = ["ExtensibleDeadline", "StarvedError", "exchange_within"]

Answer = TypeVar("Answer")

_PATIENCE = 10
"""How many times its seconds, in wall time, a process gets that the machine keeps from running."""

_PAUSE = 0.01
_RUNNABLE = frozenset("RD")
"""States of a process that would run if it could: ready, or waiting for its memory."""
_PROCESS_CLOCK = 2
"""Low bits that make a process's number the id of its clock (CPUCLOCK_SCHED)."""


class StarvedError(SandboxError):
    """The machine did not run the process; its code is not to blame."""


async def exchange_within(
    seconds: float, channel: Channel, pid: int, exchange: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Talk to a process over its channel until its time is over.

    Args:
        seconds: Wall time; where the process was kept from running, processor time.
        channel: What the exchange uses.
        pid: The process at its other end.
        exchange: Asks and waits for the answer.

    Raises:
        TimeoutError: The process has had its time, or has waited for that long.
        StarvedError: It did not get its time in ``_PATIENCE`` times the seconds.
        SandboxError: Whatever the exchange raises.
    """
    answers: list[Answer] = []
    failure: Exception = TimeoutError()

    async def watch() -> None:
        nonlocal failure
        patience = ExtensibleDeadline(seconds, channel, pid)
        over = None
        while over is None:
            await anyio.sleep_until(patience.deadline)
            over = patience.extend()
        failure = over
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            answers.append(await exchange())
        except SandboxError as error:
            failure = error  # raised below: the group would wrap it
        tasks.cancel_scope.cancel()
    if answers:
        return answers[0]
    raise failure


class ExtensibleDeadline:
    """How long a process may still take."""

    def __init__(self, seconds: float, channel: Channel, pid: int) -> None:
        """Begin now.

        Args:
            seconds: Wall time; where the process is kept from running, processor time.
            channel: Over which it will answer.
            pid: The process.
        """
        now = asyncio.get_running_loop().time()
        self._seconds = seconds
        self._channel = channel
        self._pid = pid
        self._before = _processor_seconds(pid)
        self._last = now + _PATIENCE * seconds
        self.deadline = now + seconds
        """When to ask whether its time is over, by the clock of the event loop."""

    def extend(self) -> Exception | None:
        """At the deadline: set another where the process may still go on; else say what is over."""
        now = anyio.current_time()
        if now >= self._last:
            return StarvedError("the machine was too busy to run the tool")
        if self._channel.has_unread:  # it has answered; it is this side that is late
            owed = _PAUSE
        elif _is_runnable(self._pid):
            owed = self._seconds - (_processor_seconds(self._pid) - self._before)
        else:
            owed = 0.0
        if owed <= 0:
            return TimeoutError()
        self.deadline = min(now + max(owed, _PAUSE), self._last)
        return None


def _is_runnable(pid: int) -> bool:
    """False for a process that waits, and where this machine does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in _RUNNABLE


def _processor_seconds(pid: int) -> float:
    """What a process has used in its life; 0 for one that is gone."""
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    except (OSError, AttributeError):  # gone, or a platform without such clocks
        return 0.0
