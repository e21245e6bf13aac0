"""The life of a serving process: what it is started with, what it says once it serves, what ends it."""

import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import TaskStatus

from astra_mcp.types import FrozenModel, ServerKind
from gateway.api.seams import Catalog, Upstream

__all__ = [
    "DRAINED",
    "STOP_ALL",
    "STOP_SIGNALS",
    "Stop",
    "WorkerOptions",
    "WorkerPlan",
    "WorkerReady",
    "hear_signals",
    "ready_of",
]

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_ALL = b"stop\n"
"""Told to a worker when nobody will take its place; a signal alone means that somebody will."""
DRAINED = b"drained\n"
"""A worker's answer to that: it has finished its calls, and ends with the next signal."""


class WorkerOptions(FrozenModel):
    """The options of ``serve`` that decide what a gateway process does; no secret is among them."""

    given: dict[str, str | int | float | None]
    """In the place of settings."""
    environments: tuple[Path, ...]
    trusted: bool
    verbose: bool


class WorkerPlan(FrozenModel):
    """What a worker is told; one line of JSON."""

    index: int
    listener: int
    """File descriptor of its listening socket."""
    claim: int
    """File descriptor that keeps the home claimed while it lives."""
    inner_urls: tuple[str, ...]
    """Base URL of every worker."""
    options: WorkerOptions


class WorkerReady(FrozenModel):
    """What a worker answers; one line of JSON."""

    environments: int
    tools: int
    servers: int
    apart: int = 0
    """Environments of folders of many, which the endpoint of all servers does not show."""
    deployed: tuple[str, ...]
    """Names of the real servers that are no environments."""
    emulated: int
    """Servers of which the registry has documents only."""
    login_path: str | None = None
    """Of a link into the pages, which the first worker makes; None where there are none."""


def ready_of(catalog: Catalog, login_path: str | None = None) -> WorkerReady:
    """Count what a gateway process publishes; the link into its pages is told as it is."""
    environments = catalog.summaries()
    servers = catalog.upstreams()
    return WorkerReady(
        environments=len(environments),
        tools=sum(e.num_tools for e in environments),
        servers=len(servers),
        apart=_count_apart(catalog, servers),
        deployed=tuple(s.name for s in servers if s.kind is ServerKind.DEPLOYED),
        emulated=sum(s.kind is ServerKind.EMULATOR for s in servers),
        login_path=login_path,
    )


def _count_apart(catalog: Catalog, servers: Sequence[Upstream]) -> int:
    together = {server.name for server in catalog.together()}
    environments = (s.name for s in servers if s.kind is ServerKind.ENVIRONMENT)
    return sum(name not in together for name in environments)


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
