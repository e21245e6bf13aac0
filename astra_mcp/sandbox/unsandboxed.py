"""Trusted tool code in plain processes, for platforms without the locked zygote.

One child process per session runs the same loop without any lockdown. Nothing here protects the host:
it is used only where the caller says that the code is trusted.
"""

import os
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
from anyio.abc import Process

from astra_mcp.sandbox.channel import channel_pair
from astra_mcp.sandbox.handshake import (
    ModuleSource,
    begin_session,
    load_module,
    nanoseconds,
    wait_until_up,
)
from astra_mcp.sandbox.protocol import ModuleId, SandboxLimits, SandboxReport
from astra_mcp.sandbox.runtime import Runtime, settings_for
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["PlainProcesses", "open_plain_processes"]

_GONE_SECONDS = 30.0


@asynccontextmanager
async def open_plain_processes(
    limits: SandboxLimits, runtime: Runtime
) -> AsyncGenerator["PlainProcesses"]:
    """Own the processes of trusted tool code; leaving kills them all."""
    processes = PlainProcesses(limits, runtime)
    try:
        yield processes
    finally:
        await processes.aclose()


class PlainProcesses:
    """A :class:`~astra_mcp.sandbox.protocol.Sandbox` that isolates nothing."""

    def __init__(self, limits: SandboxLimits, runtime: Runtime) -> None:
        self._limits = limits
        self._runtime = runtime
        self._modules: dict[ModuleId, ModuleSource] = {}
        self._sessions: set[ProcessSession] = set()

    @property
    def report(self) -> SandboxReport:
        """Says that nothing isolates the sessions."""
        return SandboxReport(
            backend="unsandboxed",
            machine=platform.machine(),
            seccomp=False,
            no_new_privs=False,
            rlimits=False,
            landlock_abi=0,
            uid=os.getuid(),
        )

    async def load(
        self, code: str, *, load_seed: int = 0, clock: datetime, layout: int = 0
    ) -> ModuleId:
        """Execute a module once, in a process that is thrown away."""
        source = ModuleSource.of(code, load_seed=load_seed, clock=clock, layout=layout)
        if source.id not in self._modules:
            await (await self._start(source, seed=0, clock=source.clock)).aclose()
            self._modules[source.id] = source
        return source.id

    async def open_session(
        self, module: ModuleId, *, seed: int, clock: datetime | None = None
    ) -> ProcessSession:
        """Start a process, execute the module there, and set seed and clock."""
        source = self._modules[module]
        time = source.clock if clock is None else nanoseconds(clock)
        return await self._start(source, seed=seed, clock=time)

    async def aclose(self) -> None:
        """Kill every process."""
        for session in tuple(self._sessions):
            await session.aclose()

    async def _start(self, source: ModuleSource, *, seed: int, clock: int) -> ProcessSession:
        channel, theirs = channel_pair()
        with theirs:
            settings = settings_for(self._limits, self._runtime)
            child = await self._runtime.start("plain", theirs.fileno(), settings)
        session = ProcessSession(
            channel, _Child(child), self._limits, on_closed=self._sessions.discard
        )
        self._sessions.add(session)
        try:
            await wait_until_up(channel)
            await load_module(channel, source, self._limits, pid=child.pid)
            await begin_session(channel, seed=seed, clock=clock)
        except BaseException:
            await session.aclose()
            raise
        return session


class _Child:
    """A child process of the host."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    async def wait_gone(self) -> None:
        with anyio.fail_after(_GONE_SECONDS):
            await self._process.wait()
