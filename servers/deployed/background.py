"""Runs what nobody waits for, so that its fault is logged and ends nothing else."""

import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec

from anyio.abc import TaskGroup

__all__ = ["start"]

Params = ParamSpec("Params")

_log = logging.getLogger(__name__)


def start(
    tasks: TaskGroup,
    work: Callable[Params, Awaitable[None]],
    *args: Params.args,
    **kwargs: Params.kwargs,
) -> None:
    """Start a task whose exceptions, which nobody expects, are logged.

    Args:
        tasks: Own the task.
        work: Bounds its own time, or ends when the group is cancelled.
        args: Of the work.
        kwargs: Of the work.
    """

    async def run() -> None:
        try:
            await work(*args, **kwargs)
        except Exception:  # noqa: BLE001 - a task group would end with it, and the gateway with the group
            _log.exception("%s failed", getattr(work, "__qualname__", work))

    tasks.start_soon(run)
